//! What the pipeline makes of every sample question with gold, as text for reviewers: terms, hops, candidates, the order
//! with the fate of each candidate, and the cut. Models take no part: capitals stand in for the tagger and a formula for
//! the rankers, so the same text comes out everywhere. It says nothing of how good any order is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::fmt::Write;
use std::sync::Arc;

use memsift::engine::Ask;
use memsift::explain::fate::{cut_line, id_of, number};
use memsift::history::Conversation;
use memsift::nlp::{Analysis, Entity};
use memsift::parse::Origin;
use memsift::retrieve::Reader;
use memsift::scored::RankerState;
use memsift::settings::Settings;
use memsift::store::Store;
use memsift::store::import::import_texts;
use memsift::trace::Trace;
use memsift::truncate::FateKind;

/// Longest line of ids.
const WIDE: usize = 118;

/// Takes every capitalised word inside a sentence for a person.
struct Capitals;

impl Reader for Capitals {
    fn read(&self, text: &str) -> Option<Arc<Analysis>> {
        let mut entities = Vec::new();
        let mut begins = true;
        let mut at = 0;
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let start = at + word.find(bare).unwrap_or(0);
            if !begins && bare.len() > 1 && bare.starts_with(char::is_uppercase) {
                let end = start + bare.len();
                entities.push(Entity { start, end, tokens: 0..0, label: "PERSON", text: bare.to_owned() });
            }
            begins = word.trim_end().ends_with(['.', '!', '?', ':']);
            at += word.len();
        }
        Some(Arc::new(Analysis { tokens: Vec::new(), entities }))
    }
}

/// Everything about one question that has no fraction in it but weights.
fn golden(trace: &Trace, id: &str) -> String {
    let scored = &trace.scored;
    let mut text = format!("{id}  {}\n", scored.query.text);
    let gold: Vec<String> = scored
        .gold
        .iter()
        .map(|passage| match trace.place(*passage) {
            0 => format!("{} {}", id_of(trace, *passage), trace.fate(*passage).kind().name()),
            place => format!("{} {place} {}", id_of(trace, *passage), trace.fate(*passage).kind().name()),
        })
        .collect();
    let _ = writeln!(text, "  gold     {}", gold.join(", "));
    let ignored: Vec<&str> = scored.query.ignored.iter().map(|ignored| ignored.word.as_str()).collect();
    let _ = writeln!(text, "  ignored  {}", ignored.join(" "));
    for hop in &scored.retrieval.hops {
        let terms: Vec<String> = hop
            .terms
            .iter()
            .map(|tally| {
                let term = &tally.term;
                let from = match &term.origin {
                    Origin::Passage { passage, .. } => format!(" from {}", id_of(trace, *passage)),
                    _ => String::new(),
                };
                format!("{} {} {} in {}{from}", term.text, term.class.name(), number(term.weight), tally.passages)
            })
            .collect();
        let end = hop.end.map(|end| format!("; {}", end.words())).unwrap_or_default();
        let _ = writeln!(text, "  hop {}    +{} passages{end}", hop.number, hop.found.len());
        wrapped(&mut text, "           ", &terms, ", ");
    }
    let everything = if scored.retrieval.everything.is_some() { ", none matched" } else { "" };
    let _ = writeln!(
        text,
        "  matched  {} of {}, {} candidates{everything}",
        scored.retrieval.matched(),
        scored.passages.len(),
        scored.retrieval.candidates.len()
    );
    let fates: Vec<String> = FateKind::ALL
        .into_iter()
        .filter(|kind| trace.count(*kind) > 0)
        .map(|kind| format!("{} {}", trace.count(kind), kind.name()))
        .collect();
    let _ = writeln!(text, "  fates    {}", fates.join(", "));
    let _ = writeln!(text, "  {}", cut_line(trace));
    // Neighbours in the order with the same fate stand together; the number is the place of the first one.
    let rows = &trace.cut.rows;
    let kind = |at: usize| trace.fate(rows[at].passage).kind();
    let mut at = 0;
    while at < rows.len() {
        let end = (at..rows.len()).find(|end| kind(*end) != kind(at)).unwrap_or(rows.len());
        let ids: Vec<String> = rows[at..end].iter().map(|row| id_of(trace, row.passage).to_owned()).collect();
        let _ = writeln!(text, "  {:>4}  {}", at + 1, kind(at).name());
        wrapped(&mut text, "        ", &ids, " ");
        at = end;
    }
    text
}

fn wrapped(text: &mut String, indent: &str, parts: &[String], between: &str) {
    let mut line = String::new();
    for part in parts {
        if !line.is_empty() && indent.len() + line.len() + between.len() + part.len() > WIDE {
            let _ = writeln!(text, "{indent}{}", line.trim_end());
            line.clear();
        }
        line.push_str(part);
        line.push_str(between);
    }
    let _ = writeln!(text, "{indent}{}", line.strip_suffix(between).unwrap_or_default());
}

fn talk(name: &str, turns: &str, questions: &str) -> Arc<Conversation> {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("sample.db");
    let (first, second) = (format!("{name}.jsonl"), format!("{name}.questions.jsonl"));
    import_texts(&[(first.as_str(), turns), (second.as_str(), questions)], &db, &mut |_| {}).unwrap();
    Arc::new(Store::open(&db).unwrap().load(name).unwrap())
}

fn check(name: &str, turns: &str, questions: &str) {
    let conversation = talk(name, turns, questions);
    let mut text = "terms: plain words, capitals for names. tagger: capitals. ce and colbert: a formula.\n".to_owned();
    let mut hops = 0;
    for question in conversation.questions.iter().filter(|question| !question.gold.is_empty()) {
        let settings = Settings::default();
        let ask = Ask {
            generation: 1,
            conversation: Arc::clone(&conversation),
            text: question.text.trim().to_owned(),
            gold: question.gold.clone(),
            settings: settings.clone(),
        };
        let trace = Trace::new(screen::scored_with(&ask, RankerState::Done, &Capitals), settings);
        hops += usize::from(trace.scored.retrieval.hops.len() > 1);
        text.push('\n');
        text.push_str(&golden(&trace, &question.id));
    }
    assert!(hops > 5, "{hops} questions take a second hop: the stand-in for the tagger finds nothing");
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(format!("golden-{name}"), text);
    });
}

#[test]
fn nell_and_idris() {
    check(
        "nell-and-idris",
        include_str!("../sample-data/nell-and-idris.jsonl"),
        include_str!("../sample-data/nell-and-idris.questions.jsonl"),
    );
}

#[test]
fn hester_and_rafe() {
    check(
        "hester-and-rafe",
        include_str!("../sample-data/hester-and-rafe.jsonl"),
        include_str!("../sample-data/hester-and-rafe.questions.jsonl"),
    );
}
