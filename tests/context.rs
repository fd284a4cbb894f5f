//! The context as it is shown, counted, copied and written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::path::PathBuf;
use std::sync::Arc;

use memsift::engine::count::count;
use memsift::engine::{Event, Job};
use memsift::explain::export::{Format, export};
use memsift::rank::{ColBert, CrossEncoder, SequenceClassifier, TextEncoder};
use memsift::scored::RankerState;
use memsift::trace::file::TraceHeader;
use memsift::ui::{Effect, Input};
use screen::Session;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rankers").join(name)
}

#[test]
fn tokens_of_long_texts_are_counted_to_their_end() {
    let ce = SequenceClassifier::load(&folder("bert-ce")).unwrap();
    let colbert = ColBert::load(&folder("bert-colbert")).unwrap();
    let specials = ce.input("", "").unwrap().0.len();
    let words = "the boat is in the harbour. ";
    let one = ce.count_tokens(words).unwrap();
    assert_eq!(one, ce.input("", words).unwrap().0.len() - specials);
    assert!(one >= 7, "{one}");
    let long = words.repeat(300);
    assert!(one * 300 > ce.max_tokens() && one * 300 > colbert.max_tokens());
    assert_eq!(ce.count_tokens(&long).unwrap(), one * 300);
    assert_eq!(colbert.count_tokens(&long).unwrap(), colbert.count_tokens(words).unwrap() * 300);
    assert_eq!((ce.count_tokens("").unwrap(), colbert.count_tokens("").unwrap()), (0, 0));

    let found = count(Ok(&ce), Ok(&colbert), words).unwrap();
    assert_eq!((found.slot, found.model.as_str(), found.tokens), ("ce", "bert-ce", one));
    let found = count(Err("none"), Ok(&colbert), words).unwrap();
    assert_eq!((found.slot, found.model.as_str()), ("colbert", "bert-colbert"));
    assert_eq!(count(Err("no ce here"), Err("none"), words).unwrap_err(), "tokens are not counted: no ce here");
    let sentence = count(Ok(&ce), Err("none"), &"a".repeat(3_000_000)).unwrap_err();
    assert_eq!(sentence, "tokens are not counted: the text has 3 MB, and at most 2 are counted");
}

#[test]
fn the_overlay_says_how_many_tokens_and_whose() {
    let mut session = Session::asked(100, 30, "terminal", false);
    session.keys("C");
    let text = session.text();
    assert!(text.contains("of 2,000 words") && text.contains("tokens of ce (formula)"), "{text}");
    let context = session.model.trace.as_ref().unwrap().context();
    let counted = session.model.counted.clone().unwrap();
    assert_eq!((counted.text.as_str(), counted.count.unwrap().unwrap().slot), (context.as_str(), "ce"));
    // Nothing changed, so nobody is asked again.
    session.left.clear();
    session.keys("jjk<Esc>C");
    assert!(session.left.is_empty(), "{:?}", session.left);

    let count = Err("tokens are not counted: no \u{1b}[31mcross-encoder".to_owned());
    session.give(Input::Engine(Event::Counted { text: "another context".to_owned(), count: count.clone() }));
    assert!(session.text().contains("tokens of ce"), "an answer to an older context is dropped");
    session.give(Input::Engine(Event::Counted { text: context, count }));
    assert!(session.text().contains("tokens are not counted: no "), "{}", session.text());
}

#[test]
fn while_scores_come_in_nobody_counts() {
    let mut session = Session::open(100, 30, "terminal", false);
    session.state = RankerState::Running;
    session.keys(&format!("{}<Enter>C", screen::QUESTION));
    assert!(session.text().contains("tokens are counted when all scores are in"), "{}", session.text());
    assert!(!session.left.iter().any(|effect| matches!(effect, Effect::Send(Job::Count(_)))));
    assert_eq!(session.model.counted, None);
}

#[test]
fn what_terminals_do_not_take_is_not_copied() {
    let mut session = Session::asked(100, 30, "terminal", false);
    session.keys("C");
    session.left.clear();
    session.keys("y");
    let context = session.model.trace.as_ref().unwrap().context();
    assert!(matches!(session.left.as_slice(), [Effect::Copy(text)] if *text == context), "{:?}", session.left);
    assert_eq!(session.model.message.as_ref().unwrap().text, "context copied");

    let mut conversation = (*screen::conversation()).clone();
    for turn in &mut conversation.turns {
        turn.text = format!("{} {}", turn.text, "ö".repeat(1000));
    }
    let mut session = Session::on(Arc::new(conversation), 100, 30, "terminal", false);
    session.keys(&format!("{}<Enter>C", screen::QUESTION));
    session.left.clear();
    session.keys("y");
    assert!(session.left.is_empty(), "nothing is sent that the terminal would drop");
    let message = session.model.message.clone().unwrap();
    assert!(message.is_error && message.text.contains("at most 75 kB; :export context.txt writes it"), "{message:?}");
    let trace = session.model.trace.as_ref().unwrap();
    let written = export(trace, TraceHeader::default(), Format::of("context.txt".as_ref())).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), format!("{}\n", trace.context()));
}
