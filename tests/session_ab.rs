//! Sessions with A pinned: keys go in, the state of the screen is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::sync::Arc;

use memsift::engine::{Event, Job};
use memsift::explain::compare::Move;
use memsift::scored::RankerState;
use memsift::settings::Settings;
use memsift::trace::Trace;
use memsift::ui::model::Mode;
use memsift::ui::pin::{Pinned, Standing};
use memsift::ui::{Effect, Input};
use screen::{QUESTION, Session};

fn a(session: &Session) -> &Pinned {
    session.model.pinned.as_ref().expect("something is pinned")
}

fn standing(session: &Session) -> Standing {
    a(session).standing(&session.model)
}

fn b(session: &Session) -> &Trace {
    session.model.trace.as_ref().expect("a trace")
}

/// A's trace is what the pipeline makes of its settings and the same scores.
fn holds_what_a_new_trace_would(session: &Session) {
    let known = a(session).trace().expect("A has a trace");
    let fresh = Trace::new(Arc::clone(&known.scored), a(session).settings.clone());
    assert_eq!(known.cut.rows.len(), fresh.cut.rows.len());
    for passage in 0..fresh.fates.len() as u32 {
        assert_eq!((known.place(passage), known.fate(passage)), (fresh.place(passage), fresh.fate(passage)));
    }
    assert_eq!(known.gold(), fresh.gold());
}

#[test]
fn settings_are_pinned_compared_and_swapped() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("x");
    assert!(session.model.message.clone().unwrap().text.contains("nothing is pinned"));
    let before = session.model.settings.clone();
    session.keys("c[[[[[[[[[[[[[[[[[[[[");
    let turned = session.model.settings.clone();
    assert_eq!((&a(&session).settings, turned.budget), (&before, before.budget - 1000));
    session.keys("7");
    let screen = session.text();
    for words in ["7 Compare: A (pinned) with B (now)", "budget 2000 → 1000", "0 enter, ", "kept → over budget"] {
        assert!(screen.contains(words), "'{words}' is not in\n{screen}");
    }
    session.keys("x");
    assert_eq!((&session.model.settings, &a(&session).settings), (&before, &turned));
    assert!(session.text().contains("over budget → kept"), "{}", session.text());
    session.keys("<Esc>u");
    assert_eq!(session.model.settings, turned, "a swap can be undone like any change of a knob");
    session.keys("c");
    assert!(session.model.pinned.is_none(), "pinned again where A stands, the pin is cleared");
}

#[test]
fn every_pane_shows_a_beside_b() {
    let mut session = Session::asked(200, 60, "terminal", false);
    let plain = session.text();
    assert!(!plain.contains("τ(A,B)") && !plain.contains('Δ'), "{plain}");
    session.keys("c))))))");
    let found = a(&session).comparison().expect("the two can be compared").clone();
    let (enter, leave) = (found.price.enter.len(), found.price.leave.len());
    assert!(enter > 0 && leave > 0);
    let text = session.text();
    let kendall = format!("τ(A,B) {:.2}", found.agreement.unwrap().kendall);
    for words in [
        format!("{kendall}  {enter} enter, {leave} leave"),
        format!("A→B {enter} in, {leave} out"),
        "w ce 0.70".to_owned(),
        "w ce 1.00".to_owned(),
        "A gold 1/2 kept recall 0.50".to_owned(),
        "B gold 1/2 kept recall 0.50".to_owned(),
    ] {
        assert!(text.contains(&words), "'{words}' is not in\n{text}");
    }
    // Every row on the screen says how far it moved, and whether it enters or leaves.
    session.model.selected = Some(b(&session).cut.rows[55].passage);
    session.model.chosen = true;
    session.keys("jj");
    let text = session.text();
    let mut seen = [0, 0];
    for row in b(&session).cut.rows.iter() {
        let id = memsift::explain::fate::id_of(b(&session), row.passage);
        let Some(line) = text.lines().find(|line| line.contains(&format!(" {id} "))) else { continue };
        let glyph =
            match (a(&session).trace().unwrap().fate(row.passage).is_kept(), b(&session).fate(row.passage).is_kept()) {
                (false, true) => "▴",
                (true, false) => "▾",
                _ => " ",
            };
        let moved = Move::of(a(&session).trace().unwrap(), b(&session), row.passage).words();
        let wanted = format!("{glyph}{moved:>5} ");
        if line.contains(&format!("{:>3} {wanted}", b(&session).place(row.passage))) {
            seen[usize::from(glyph != " ")] += 1;
        }
    }
    assert!(seen[0] > 10 && seen[1] > 0, "{seen:?}\n{text}");
    // The passage under the cursor leaves with the next knob: Why says so.
    let leaving = found.price.leave[0];
    session.model.selected = Some(leaving);
    session.model.chosen = true;
    session.keys("6");
    assert!(session.text().contains("kept in A, dropped: beyond top n in B"), "{}", session.text());
}

#[test]
fn the_trace_of_a_is_made_once_and_not_with_every_knob() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("c");
    let first = a(&session).trace().unwrap().fates.as_ptr();
    session.keys("[[))-jjk");
    session.draw();
    assert_eq!(a(&session).trace().unwrap().fates.as_ptr(), first, "A did not change");
    holds_what_a_new_trace_would(&session);
    assert_eq!(a(&session).comparison().unwrap().knobs.len(), 3);
    // A mark is another gold: both are counted anew.
    let before = a(&session).trace().unwrap().gold().total;
    session.keys("4gm");
    assert_eq!(a(&session).trace().unwrap().gold().total, before + 1);
    assert_eq!(b(&session).gold().total, before + 1);
    holds_what_a_new_trace_would(&session);
}

#[test]
fn a_pin_of_another_search_is_kept_from_when_it_was_pinned() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.pinned_answers = false;
    session.keys("c:set matching word<Enter>");
    assert_eq!(standing(&session), Standing::Known, "it was pinned with its trace");
    assert!(b(&session).cut.rows.len() < a(&session).trace().unwrap().cut.rows.len());
    holds_what_a_new_trace_would(&session);
    assert!(session.left.iter().all(|effect| !matches!(effect, Effect::Send(Job::Pinned(_)))));
    session.keys("7");
    assert!(session.text().contains("matching substring → word"), "{}", session.text());
    // Other gold reaches the scores that were kept, too.
    session.keys("<Esc>4gm");
    assert_eq!(a(&session).trace().unwrap().gold().total, b(&session).gold().total);
    // Swapped, B is searched again, and what was B is kept as A.
    session.keys("x");
    assert_eq!((standing(&session), b(&session).settings.matching.name()), (Standing::Known, "substring"));
    holds_what_a_new_trace_would(&session);
}

#[test]
fn a_pin_of_another_search_is_computed_for_another_question() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.pinned_answers = false;
    session.keys("c:set matching word<Enter>iWho taught Idris to bake?<Enter>");
    assert_eq!(standing(&session), Standing::Computing);
    assert!(session.text().contains("A is being computed for this question"), "{}", session.text());
    let job = session.left.iter().find_map(|effect| match effect {
        Effect::Send(Job::Pinned(ask)) => Some(ask.clone()),
        _ => None,
    });
    let ask = job.expect("the engine is asked");
    assert_eq!((ask.text.as_str(), &ask.settings), ("Who taught Idris to bake?", &a(&session).settings));
    session.keys("jk[");
    let asked = session.left.iter().filter(|effect| matches!(effect, Effect::Send(Job::Pinned(_)))).count();
    assert_eq!(asked, 1, "asked once");
    // An answer for something older is of no use.
    let old = screen::scored(&ask, RankerState::Done);
    session.give(Input::Engine(Event::Pinned { generation: ask.generation - 1, scored: Some(Arc::clone(&old)) }));
    assert_eq!(standing(&session), Standing::Computing);
    session.give(Input::Engine(Event::Pinned { generation: ask.generation, scored: Some(old) }));
    assert_eq!(standing(&session), Standing::Known);
    holds_what_a_new_trace_would(&session);
}

#[test]
fn computing_a_can_be_stopped_and_goes_on() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.pinned_answers = false;
    session.keys("c:set matching word<Enter>iWho taught Idris to bake?<Enter><Esc>");
    assert_eq!(standing(&session), Standing::Stopped);
    assert!(session.left.iter().any(|effect| matches!(effect, Effect::Send(Job::Stop))));
    let generation = session.model.generation;
    session.give(Input::Engine(Event::Pinned { generation, scored: None }));
    session.keys("j");
    assert_eq!(standing(&session), Standing::Stopped);
    assert!(session.text().contains("R goes on"), "{}", session.text());
    session.pinned_answers = true;
    session.keys("R");
    session.give(Input::Engine(Event::Finished { generation }));
    assert_eq!(standing(&session), Standing::Known);
}

#[test]
fn a_pin_without_a_trace_waits_for_a_question() {
    let mut session = Session::open(200, 60, "terminal", false);
    session.keys("<Esc>c");
    assert_eq!(standing(&session), Standing::NoQuestion);
    assert!(session.text().contains("A waits for a question"), "{}", session.text());
    session.keys("7");
    assert!(session.text().contains("there is no trace yet"), "{}", session.text());
    session.keys(&format!("<Esc>i{QUESTION}<Enter>"));
    assert_eq!(standing(&session), Standing::Known);
    assert!(a(&session).comparison().unwrap().changes.is_empty());
}

#[test]
fn edited_terms_stay_with_their_question() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("1 c");
    assert!(!a(&session).settings.terms.is_empty());
    session.keys("iWho taught Idris to bake?<Enter>");
    assert!(a(&session).settings.terms.is_empty());
    assert!(session.model.message.clone().unwrap().text.contains("A goes on without them"));
    assert_eq!(standing(&session), Standing::Known);
}

#[test]
fn other_passages_are_not_compared_row_by_row() {
    let mut session = Session::asked(200, 60, "terminal", false);
    session.keys("c:set unit session<Enter>");
    assert!(a(&session).trace().is_some() && a(&session).comparable().is_none());
    let text = session.text();
    assert!(!text.contains('Δ') && text.contains("A gold "), "{text}");
    session.keys("7");
    assert!(session.text().contains("other passages than B"), "{}", session.text());
}

#[test]
fn another_conversation_takes_the_trace_and_leaves_the_pin() {
    let mut session = Session::asked(200, 60, "terminal", false);
    session.keys("c[[");
    let settings = a(&session).settings.clone();
    let mut other = (*session.conversation).clone();
    other.id = "other".to_owned();
    session.give(Input::Engine(Event::Loaded(Arc::new(other))));
    session.give(Input::Engine(Event::Marks(Vec::new())));
    assert_eq!((standing(&session), &a(&session).settings), (Standing::NoQuestion, &settings));
    session.keys(&format!("<Esc>i{QUESTION}<Enter>"));
    assert_eq!(standing(&session), Standing::Known);
    holds_what_a_new_trace_would(&session);
    assert_eq!(session.model.settings.budget, Settings::default().budget - 100);
}

fn message(session: &Session) -> String {
    session.model.message.as_ref().map(|message| message.text.clone()).unwrap_or_default()
}

/// Names of the pins that were to be written.
fn saved(session: &Session) -> Vec<&str> {
    fn name(effect: &Effect) -> Option<&str> {
        if let Effect::SavePin(name) = effect { Some(name) } else { None }
    }
    session.left.iter().filter_map(name).collect()
}

#[test]
fn pins_with_names_are_kept_listed_loaded_and_deleted() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(":pins<Enter>");
    assert!(message(&session).contains("no pin is kept"), "{}", message(&session));
    session.keys(":pin<Enter>");
    assert!(message(&session).contains("pin needs a name"), "{}", message(&session));
    session.keys(&format!(":pin {}<Enter>", "x".repeat(41)));
    assert!(message(&session).contains("too long"), "{}", message(&session));
    session.keys(":set alpha 0.1<Enter>:set budget 850<Enter>:pin small one<Enter>");
    assert!(message(&session).contains("kept as 'small one'"), "{}", message(&session));
    assert!(session.model.pinned.is_none(), "a name alone is not A");
    let small = session.model.settings.clone();
    session.keys(":set fusion z<Enter>:pin zed<Enter>0");
    assert_eq!(saved(&session), ["small one", "zed"]);
    session.keys(":pins<Enter>");
    let text = session.text();
    for words in ["Pins 2/2", "fusion z, α 0.1, budget 850", "Tab into the knobs (B)"] {
        assert!(text.contains(words), "'{words}' is not in\n{text}");
    }
    // Enter: A.
    session.keys("<Enter>");
    assert_eq!((&a(&session).settings, a(&session).name.as_deref()), (&small, Some("small one")));
    assert_eq!(session.model.settings, Settings::default());
    session.keys("7");
    assert!(session.text().contains("7 Compare: A (small one) with B (now)"), "{}", session.text());
    // Tab: the knobs.
    session.keys("<Esc>:pins<Enter>zed<Tab>");
    assert_eq!(session.model.settings.fusion.name(), "z");
    assert_eq!(a(&session).name.as_deref(), Some("small one"));
    session.keys("u");
    assert_eq!(session.model.settings, Settings::default());
    // Del, twice.
    session.keys(":pins<Enter><Del>");
    assert!(session.text().contains("Del again deletes 'small one'"), "{}", session.text());
    session.keys("<Down><Del>");
    assert_eq!(session.model.pins.all().len(), 2, "another row: it asks again");
    session.keys("<Del>");
    let names: Vec<String> = session.model.pins.all().into_iter().map(|pin| pin.name).collect();
    assert_eq!((names.as_slice(), saved(&session).last()), (&["small one".to_owned()][..], Some(&"zed")));
    session.keys("<Esc>:unpin<Enter>");
    assert!(session.model.pinned.is_none());
    session.keys(":unpin<Enter>");
    assert!(message(&session).contains("nothing is pinned"), "{}", message(&session));
}

#[test]
fn a_pin_takes_the_edited_terms_of_the_question_on_the_screen() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(":pin plain<Enter>1 ");
    let terms = session.model.settings.terms.clone();
    assert!(!terms.is_empty());
    session.keys(":pin edited<Enter>");
    assert!(message(&session).contains("edited terms stay"), "{}", message(&session));
    session.keys(":pins<Enter>plain<Enter>");
    assert_eq!((&a(&session).settings.terms, standing(&session)), (&terms, Standing::Known));
    session.keys("[:pins<Enter>plain<Tab>");
    assert_eq!(session.model.settings.terms, terms);
}

#[test]
fn all_questions_are_swept_and_a_cell_is_taken() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.sweep_answers = 3;
    session.keys("sa");
    let total = memsift::ui::sweep::questions_with_gold(&session.model).len();
    assert!(total > 3);
    let text = session.text();
    for words in
        [format!("all {total} questions with gold"), format!("3 of {total} questions asked"), "Esc stops".to_owned()]
    {
        assert!(text.contains(&words), "'{words}' is not in\n{text}");
    }
    session.keys("<Esc>");
    assert!(session.left.iter().any(|effect| matches!(effect, Effect::Send(Job::StopSweep))));
    assert!(session.text().contains(&format!("stopped at 3 of {total} questions")), "{}", session.text());
    session.sweep_answers = usize::MAX;
    session.keys("R");
    let text = session.text();
    assert!(text.contains(&format!("all {total} questions asked")), "{text}");
    let found = session.model.sweep_all.as_ref().unwrap().found.clone();
    let (row, column) = found.cheapest().unwrap();
    let cell = found.cells[row][column];
    let named = format!("{} of {} gold passages kept", cell.kept, found.gold);
    assert!(text.contains("* cheapest of the best: α") && text.contains(&named), "{text}");
    // What it says is what the pipeline keeps over all of them there.
    let asked =
        |session: &Session| session.left.iter().filter(|effect| matches!(effect, Effect::Send(Job::Sweep(_)))).count();
    assert_eq!(asked(&session), 2);
    session.keys("<Enter>");
    let settings = session.model.settings.clone();
    assert_eq!((settings.alpha, f64::from(settings.budget)), (found.rows.values[row], found.columns.values[column]));
    let mut kept = 0;
    for (text, gold) in memsift::ui::sweep::questions_with_gold(&session.model) {
        let mut ask = session.ask.clone().unwrap();
        (ask.text, ask.gold) = (text, gold);
        kept += Trace::new(screen::scored(&ask, RankerState::Done), settings.clone()).gold().kept as usize;
    }
    assert_eq!(kept, cell.kept);
    // Nothing but the two knobs of the map changed: it stands. With another knob it is asked again.
    session.keys("sa");
    assert_eq!(asked(&session), 2);
    session.keys("<Tab>");
    assert_eq!((asked(&session), session.text().contains("w \\ budget")), (3, true));
    session.keys("<Esc>:set fusion z<Enter>sa<Tab>");
    assert!(session.text().contains("λ \\ budget"), "{}", session.text());
    // A mark of one's own counts.
    session.keys("<Esc>iLarkspur<Enter>");
    session.keys("ggmsa");
    assert!(session.text().contains(&format!("all {} questions with gold", total + 1)), "{}", session.text());
}

#[test]
fn without_gold_there_is_no_sweep() {
    let mut bare = (*screen::conversation()).clone();
    bare.questions.clear();
    let mut session = Session::on(Arc::new(bare), 80, 24, "terminal", false);
    session.keys("Larkspur<Enter>csa");
    assert!(session.text().contains("no question of this conversation has gold"), "{}", session.text());
    session.keys("jlRa<Tab><Enter>");
    assert!(session.left.iter().all(|effect| !matches!(effect, Effect::Send(Job::Sweep(_)))));
}

#[test]
fn another_conversation_stops_the_sweep() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.sweep_answers = 1;
    session.keys("saq");
    assert!(session.text().contains("sweep 1/"), "{}", session.text());
    let other = Arc::new((*session.conversation).clone());
    session.give(Input::Engine(Event::Loaded(other)));
    assert!(session.model.sweep_all.is_none());
    assert!(matches!(session.left.last(), Some(Effect::Send(Job::StopSweep))));
    session.give(Input::Engine(Event::Marks(Vec::new())));
    // What was on its way changes nothing any more.
    let Some(Effect::Send(Job::Sweep(ask))) =
        session.left.iter().find(|effect| matches!(effect, Effect::Send(Job::Sweep(_))))
    else {
        panic!("no sweep was asked for");
    };
    let found = memsift::eval::sweep::Sweep::empty(ask.rows.clone(), ask.columns.clone());
    session.give(Input::Engine(Event::Swept { number: ask.number, done: 2, total: 9, left: None, found }));
    assert!(session.model.sweep_all.is_none());
}

#[test]
fn two_thousand_candidates_are_compared_at_once() {
    let sample = screen::conversation();
    let mut long = (*sample).clone();
    long.turns = (0..2000)
        .map(|at| {
            let found = &sample.turns[at % sample.turns.len()];
            let text = format!("{} The boat, number {at}.", found.text);
            memsift::history::Turn { id: format!("t{at}"), session: 0, number: at as u32 + 1, text, ..found.clone() }
        })
        .collect();
    long.sessions.truncate(1);
    long.sessions[0].turns = 0..2000;
    long.questions.clear();
    let mut session = Session::on(Arc::new(long), 250, 80, "terminal", false);
    session.keys("the boat<Enter>");
    assert_eq!(b(&session).cut.rows.len(), 2000);
    let key_and_frame = |session: &mut Session| {
        let before = std::time::Instant::now();
        session.keys("(");
        session.draw();
        before.elapsed()
    };
    let without = key_and_frame(&mut session);
    session.keys("c(((");
    let with = key_and_frame(&mut session);
    println!("a key and a frame over 2,000 candidates, not optimised: {without:?}, with A pinned {with:?}");
    holds_what_a_new_trace_would(&session);
    session.keys("3zrr");
    let text = session.text();
    let found = a(&session).comparison().unwrap();
    assert!(text.contains(&format!("{} enter, {} leave", found.price.enter.len(), found.price.leave.len())), "{text}");
    session.keys("z7G");
    session.draw();
}

#[test]
fn the_questions_on_which_two_settings_differ_most_are_walked() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(":worst<Enter>");
    assert!(session.model.message.clone().unwrap().text.contains("pin A first with c"));
    session.keys("c:worst<Enter>");
    assert!(session.model.message.clone().unwrap().text.contains("A and B are the same"));
    session.keys(":set budget 150<Enter>:worst<Enter>");
    let contrast = session.model.contrast.clone().unwrap();
    let worst: Vec<(String, f64)> =
        contrast.worst().iter().map(|(text, row)| ((*text).to_owned(), row.change())).collect();
    assert!(worst.len() > 1, "a tenth of the budget loses gold of several questions");
    assert!(worst.windows(2).all(|pair| pair[0].1.abs() >= pair[1].1.abs()));
    assert!(worst.iter().all(|(_, change)| *change < 0.0), "less budget gains nothing: {worst:?}");
    // The list has them in that order, and what it says of the first is what its trace says.
    let screen = session.text();
    assert!(screen.contains("Where A and B differ most"), "{screen}");
    let (a, b, gain, lose) = contrast.totals();
    assert_eq!((gain, lose), (0, worst.len()));
    let said = session.model.message.clone().unwrap().text;
    assert!(
        said.starts_with(&format!("A keeps {} of {} gold, B {} of {}", a.kept, a.total, b.kept, b.total)),
        "{said}"
    );
    session.keys("<Enter>");
    assert_eq!(session.model.asked.as_ref(), Some(&worst[0].0));
    let (now, pinned) = (b_of(&session), session.model.pinned.as_ref().unwrap().trace().unwrap().gold());
    let row = contrast.worst()[0].1;
    assert_eq!((row.a, row.b), (pinned, now));
    // Again it stands, without asking anything; another knob asks anew.
    let compared = |session: &Session| {
        session.left.iter().filter(|effect| matches!(effect, Effect::Send(Job::Contrast(_)))).count()
    };
    assert_eq!(compared(&session), 1);
    session.keys(":worst<Enter>");
    assert_eq!(compared(&session), 1);
    session.keys("<Esc>:set budget 250<Enter>:worst<Enter>");
    assert_eq!(compared(&session), 2);
    // Stopped in the middle it opens no list and can begin again.
    session.keys("<Esc>:set budget 350<Enter>");
    session.sweep_answers = 1;
    session.keys(":worst<Enter><Esc>");
    assert!(session.model.message.clone().unwrap().text.contains("comparing stopped at 1 of"));
    assert_eq!(session.model.mode, Mode::Normal);
    session.sweep_answers = usize::MAX;
    session.keys(":worst<Enter>");
    assert!(matches!(session.model.mode, Mode::Picker(_)));
}

fn b_of(session: &Session) -> memsift::trace::GoldCounts {
    b(session).gold()
}

#[test]
fn the_oracle_tells_the_plan_of_the_question_and_of_all() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(":oracle<Enter>");
    let screen = session.text();
    for words in [
        "all gold must be found; a search returns all its hits",
        "1  ",
        " hits  ★ ",
        "questions with gold, ",
        "1 search, of the solved",
    ] {
        assert!(screen.contains(words), "'{words}' is not in\n{screen}");
    }
    let totals = session.model.oracle.as_ref().unwrap().totals().unwrap();
    assert!(totals.solved() + totals.unsolved == totals.questions && totals.questions > 5);
    // Any gold takes one search wherever there is a way; fewer hits solve less.
    session.keys("a");
    let any = session.model.oracle.as_ref().unwrap().totals().unwrap();
    assert!(any.solved() >= totals.solved() && any.steps.keys().all(|steps| *steps == 1), "{any:?}");
    session.keys("ahhhh");
    let few = session.model.oracle.as_ref().unwrap();
    assert_eq!((few.rules().any, few.rules().hits), (false, Some(10)));
    assert!(few.totals().unwrap().solved() < totals.solved());
    assert!(session.text().contains("its first 10 hits"));
    // Closed and opened again it asks for nothing; another knob of the terms does.
    let planned =
        |session: &Session| session.left.iter().filter(|effect| matches!(effect, Effect::Send(Job::Oracle(_)))).count();
    let asked = planned(&session);
    session.keys("<Esc>:oracle<Enter><Esc>");
    assert_eq!(planned(&session), asked);
    session.keys(":set matching word<Enter>:oracle<Enter>");
    assert_eq!(planned(&session), asked + 1);
    session.keys("q");
    assert_eq!(session.model.mode, Mode::Normal);
}
