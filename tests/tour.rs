//! The tour and the presenter at the keyboard: what Space and Esc do, what is hidden, and that a gold passage really falls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/screen.rs"]
mod screen;

use memsift::truncate::FateKind;
use memsift::ui::Pane;
use memsift::ui::tour::Tour;
use screen::Session;

/// The session's answer with one of two gold passages kept.
fn asked(columns: u16, rows: u16) -> Session {
    Session::asked(columns, rows, "terminal", false)
}

#[test]
fn the_tour_loses_a_gold_passage_says_so_and_puts_the_knob_back() {
    let mut session = asked(120, 40);
    session.keys(":tour<Enter>");
    assert!(session.text().contains("Tour 1 of 3") && session.text().contains("Space goes on"));
    let before = session.model.settings.clone();
    let kept = session.model.trace.as_ref().unwrap().gold().kept;
    assert_eq!(kept, 1);
    session.keys(" ");
    let trace = session.model.trace.as_ref().unwrap();
    assert_eq!(trace.gold().kept, 0);
    assert!(session.model.settings.alpha > before.alpha);
    // The smallest step that does it: one less keeps the passage.
    let mut less = session.model.settings.clone();
    less.alpha -= 0.01;
    assert_eq!(memsift::trace::Trace::new(std::sync::Arc::clone(&trace.scored), less).gold().kept, 1);
    let selected = session.model.selected.unwrap();
    assert!(trace.scored.is_gold(selected) && trace.fate(selected).kind() == FateKind::BelowAlpha);
    assert!(session.text().contains("fell: it was found") && session.text().contains("Tour 2 of 3"));
    session.keys(" ");
    assert_eq!(session.model.focus, Pane::Why);
    assert!(session.text().contains("Tour 3 of 3") && session.text().contains("below alpha"));
    session.keys(" ");
    assert!(session.model.tour.is_none() && !session.text().contains("Tour"));
    assert_eq!(session.model.settings, before);
    assert_eq!(session.model.trace.as_ref().unwrap().gold().kept, 1);
}

#[test]
fn esc_ends_it_and_other_keys_work_as_ever() {
    let mut session = asked(80, 24);
    session.keys(":tour<Enter> ]");
    let budget = session.model.settings.budget;
    assert_eq!(budget, 2050);
    session.keys("<Esc>");
    assert!(session.model.tour.is_none());
    // What the user did meanwhile stays, α of the tour too, and one undo each takes it back.
    assert_eq!(session.model.settings.budget, budget);
    session.keys("uu");
    assert_eq!(session.model.settings, memsift::settings::Settings::default());
}

#[test]
fn where_no_gold_is_kept_another_question_is_asked() {
    let mut session = asked(120, 40);
    // Nothing is kept at all.
    session.keys(":set top-n 1<Enter>");
    assert_eq!(session.model.trace.as_ref().unwrap().gold().kept, 0);
    session.keys(":tour<Enter> ");
    assert!(session.text().contains("No passage with the answer is kept here"));
    let other = "What did the widow who sells engine parts ask for?";
    session.model.tour = Some(Tour::new(Some(other.to_owned())));
    session.keys(":set top-n 60<Enter>");
    session.model.settings.budget = 1;
    session.keys(":set budget 2<Enter>");
    session.keys(" ");
    assert_eq!(session.model.asked.as_deref(), Some(other));
}

#[test]
fn without_an_answer_the_tour_waits() {
    let mut session = Session::open(120, 40, "terminal", false);
    session.keys("<Esc>:tour<Enter>");
    assert!(session.text().contains("goes through the whole pipeline"));
    session.keys("  ");
    assert!(session.model.tour.is_some());
}

#[test]
fn an_answer_is_revealed_stage_by_stage() {
    let mut session = asked(120, 40);
    session.keys(":present<Enter>");
    let shown = |session: &Session| {
        let text = session.text();
        [text.contains("PROPN"), text.contains("hop 1 "), text.contains(" kept · "), text.contains("gold 1/2")]
    };
    assert_eq!(shown(&session), [false; 4]);
    assert!(session.text().contains("Space reveals the words"));
    session.keys(" ");
    assert_eq!((shown(&session)[0], shown(&session)[1], session.model.focus), (true, false, Pane::Terms));
    session.keys("  ");
    assert_eq!(shown(&session), [true, true, false, false]);
    session.keys(" ");
    assert_eq!(shown(&session), [true; 4]);
    session.keys(" ");
    assert!(!session.text().contains("Space reveals"));
    // A knob leaves everything shown; another question hides it.
    session.keys("[");
    assert_eq!(shown(&session), [true; 4]);
    session.keys(":ask What did the widow ask for?<Enter>");
    assert!(session.text().contains("Space reveals the words"));
    session.keys(":present off<Enter>");
    assert!(!session.text().contains("Space reveals"));
}

#[test]
fn no_path_is_shown_to_an_audience() {
    let mut session = asked(120, 40);
    session.keys(":present<Enter>");
    session.model.say("trace written to /home/someone/private/trace.json; 3/4 kept");
    assert!(session.text().contains("trace written to trace.json; 3/4 kept"));
    assert!(!session.text().contains("someone"));
}

#[test]
fn tour_and_presenter_survive_every_size() {
    for (columns, rows) in [(1, 1), (20, 5), (40, 10), (80, 24), (120, 40), (200, 60)] {
        let mut session = asked(columns, rows);
        session.keys(":tour<Enter>:present<Enter>");
        for _ in 0..10 {
            session.keys(" ");
            let _ = session.draw();
        }
    }
}
