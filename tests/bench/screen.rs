//! What a user waits for: a key press to the next frame with 2,000 candidates, and a question over a history whose
//! passage vectors are known, until the ColBERT order is there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/screen.rs"]
mod screen;

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use memsift::engine::{Listener, Models, Pipeline, RankerChoice};
use memsift::history::{Conversation, Session as HistorySession, Turn};
use memsift::moment::Moment;
use memsift::rank::Cache;
use memsift::scored::Scored;
use memsift::settings::Settings;
use screen::Session;

/// So many turns, all of which hold the word `boat`; the sample's turns over and over.
fn long(turns: usize) -> Arc<Conversation> {
    let sample = screen::conversation();
    let turns: Vec<Turn> = (0..turns)
        .map(|at| {
            let found = &sample.turns[at % sample.turns.len()];
            let text = format!("{} The boat, number {at}.", found.text);
            Turn { id: format!("t{at}"), session: 0, number: at as u32 + 1, text, ..found.clone() }
        })
        .collect();
    let sessions =
        vec![HistorySession { id: "s1".to_owned(), number: 1, time: Moment::Unknown, turns: 0..turns.len() }];
    Arc::new(Conversation { id: "long".to_owned(), sessions, turns, questions: Vec::new(), ..(*sample).clone() })
}

/// Stops a question as soon as ColBERT has scored it.
struct UntilColbert {
    heard: Cell<u32>,
}

impl Listener for UntilColbert {
    fn scored(&mut self, _: Arc<Scored>) {
        self.heard.set(self.heard.get() + 1);
    }
    fn progress(&mut self, _: &'static str, _: usize, _: usize) {}
    fn stopped(&self) -> bool {
        self.heard.get() >= 2
    }
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("screen");
    for (columns, rows) in [(120, 40), (250, 80)] {
        let mut session = Session::on(long(2000), columns, rows, "terminal", false);
        session.keys("the boat<Enter>");
        assert_eq!(session.model.trace.as_ref().unwrap().cut.rows.len(), 2000);
        group.bench_function(format!("frame {columns}x{rows}, 2,000 candidates"), |b| {
            b.iter(|| black_box(session.draw()))
        });
        group.bench_function(format!("budget key and frame {columns}x{rows}, 2,000 candidates"), |b| {
            b.iter(|| {
                session.keys("[");
                black_box(session.draw());
                session.keys("]");
                black_box(session.draw())
            });
        });
    }
    group.finish();
}

fn question(c: &mut Criterion) {
    let conversation = long(600);
    let models = Models::load(&RankerChoice::small(&common::models_dir()).unwrap());
    assert!(models.colbert.is_ok());
    let mut pipeline = Pipeline::new(models, Cache::in_memory());
    let settings = Settings::default();
    let mut ask = |text: &str| {
        let mut listener = UntilColbert { heard: Cell::new(0) };
        pipeline.ask(&conversation, text, &[], &settings, &mut listener)
    };
    assert_eq!(ask("warm the boat").colbert.scored(), 600);
    let mut number = 0;
    c.bench_function("question over 600 turns until the ColBERT order", |b| {
        b.iter(|| {
            // A question that was never asked before: only the passages are known.
            number += 1;
            black_box(ask(&format!("What did Nell say about boat number {number} in the harbour?")))
        });
    });
}

criterion_group!(benches, frames, question);
criterion_main!(benches);
