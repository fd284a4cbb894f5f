//! Recall over two knobs: each cell is what the screen would keep, and the cheapest one is really cheap.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::sync::Arc;

use memsift::engine::Ask;
use memsift::eval::sweep::{AS_GOOD, Axis, sweep};
use memsift::scored::{RankerState, Scored};
use memsift::settings::Settings;
use memsift::trace::Trace;

fn scored() -> Vec<Arc<Scored>> {
    let conversation = screen::conversation();
    let known = conversation.questions.iter().filter(|known| !known.gold.is_empty());
    let ask = |known: &memsift::history::Question| Ask {
        generation: 1,
        conversation: Arc::clone(&conversation),
        text: known.text.clone(),
        gold: known.gold.clone(),
        settings: Settings::default(),
    };
    known.map(|known| screen::scored(&ask(known), RankerState::Done)).collect()
}

#[test]
fn every_cell_is_what_the_cut_keeps_there() {
    let scored = scored();
    let (rows, columns) = (Axis::read("alpha=0:0.9:0.3").unwrap(), Axis::read("budget=200:2000:600").unwrap());
    assert_eq!((rows.values.as_slice(), columns.values.len()), (&[0.0, 0.3, 0.6, 0.9][..], 4));
    let found = sweep(&scored, &Settings::default(), rows.clone(), columns.clone()).unwrap();
    let mut seen = Vec::new();
    for (alpha, cells) in rows.values.iter().zip(&found.cells) {
        for (budget, cell) in columns.values.iter().zip(cells) {
            let settings = Settings { alpha: *alpha, budget: *budget as u32, ..Settings::default() };
            let traces: Vec<Trace> = scored.iter().map(|one| Trace::new(Arc::clone(one), settings.clone())).collect();
            let kept: usize = traces.iter().map(|trace| trace.gold().kept as usize).sum();
            let words: f64 = traces.iter().map(|trace| f64::from(trace.cut.used)).sum::<f64>() / traces.len() as f64;
            assert_eq!((cell.kept, cell.words), (kept, words), "alpha {alpha}, budget {budget}");
            assert!((cell.recall - kept as f64 / found.gold as f64).abs() < 1e-12);
            seen.push((cell.recall, cell.words));
        }
    }
    let (row, column) = found.cheapest().unwrap();
    let cheapest = found.cells[row][column];
    let best = seen.iter().map(|(recall, _)| *recall).fold(0.0, f64::max);
    assert!(cheapest.recall >= best - AS_GOOD);
    assert!(seen.iter().all(|(recall, words)| *recall < best - AS_GOOD || *words >= cheapest.words));
    assert!(seen.iter().any(|(recall, _)| *recall < best - AS_GOOD), "the grid is not all alike");
}

#[test]
fn an_axis_that_cannot_be_swept_is_said_in_one_sentence() {
    for (text, words) in [
        ("budget", "write it as knob=from:to:step"),
        ("budget=1:2", "write it as knob=from:to:step"),
        ("budget=500:100:50", "write it as knob=from:to:step"),
        ("budget=100:200:0", "write it as knob=from:to:step"),
        ("budget=NaN:200:1", "write it as knob=from:to:step"),
        ("bugdet=100:200:50", "there is no knob 'bugdet'"),
        ("hops=1:3:1", "acts before the rankers"),
        ("alpha=0:5:1", "alpha"),
        ("budget=100:100000:1", "at most 200 are swept"),
    ] {
        let error = Axis::read(text).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{text}: {error}");
    }
}
