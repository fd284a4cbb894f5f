//! Sessions at the keyboard: keys go in, the state of the screen is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/screen.rs"]
mod screen;

use memsift::engine::{Event, Job};
use memsift::settings::Settings;
use memsift::truncate::FateKind;
use memsift::ui::model::{Mode, text_of};
use memsift::ui::{Effect, Input, Pane};
use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use screen::{QUESTION, Session};

fn kept(session: &Session) -> usize {
    session.model.trace.as_ref().unwrap().count(FateKind::Kept)
}

#[test]
fn a_question_is_typed_and_answered() {
    let session = Session::asked(120, 40, "terminal", false);
    assert_eq!(session.model.asked.as_deref(), Some(QUESTION));
    assert!(!session.model.running);
    let gold = session.model.trace.as_ref().unwrap().gold();
    assert_eq!((gold.total, gold.candidates), (2, 2));
    // The first row to look at is a gold passage that was lost.
    let selected = session.model.selected.unwrap();
    assert!(session.model.trace.as_ref().unwrap().scored.is_gold(selected));
}

#[test]
fn an_empty_question_is_refused_in_one_sentence() {
    let mut session = Session::open(120, 40, "terminal", false);
    session.keys("   <Enter>");
    assert!(session.ask.is_none());
    assert!(session.model.message.as_ref().unwrap().text.contains("type at least one word"));
}

#[test]
fn knobs_cut_again_without_asking_again() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let generation = session.model.generation;
    let before = kept(&session);
    session.keys("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    assert_eq!(session.model.settings.budget, 2000 - 35 * 50);
    assert!(kept(&session) < before);
    assert_eq!(session.model.generation, generation, "a knob behind the rankers asks nothing");
    assert!(session.text().contains("budget 250"));
    session.keys("uuu<C-r>");
    assert_eq!(session.model.settings.budget, 350);
    session.keys("0");
    assert_eq!(session.model.settings, Settings::default());
    assert_eq!(kept(&session), before);
}

#[test]
fn alpha_moves_in_thousandths_below_a_tenth_and_in_hundredths_above() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("+");
    assert_eq!(session.model.settings.alpha, 0.031);
    session.keys(":set alpha 0.1<Enter>-");
    assert_eq!(session.model.settings.alpha, 0.099);
    session.keys("++");
    assert_eq!(session.model.settings.alpha, 0.11);
}

#[test]
fn what_crossed_the_cut_is_marked_until_the_next_step() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(":set budget 300<Enter>");
    assert!(session.model.crossed.values().any(|came_in| !came_in));
    session.keys(":set budget 3000<Enter>");
    assert!(session.model.crossed.values().all(|came_in| *came_in));
    assert!(!session.model.crossed.is_empty());
}

#[test]
fn knob_keys_are_letters_while_typing() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("ia-[0q+]<Esc>");
    assert_eq!(session.model.settings, Settings::default());
    assert!(session.left.iter().all(|effect| !matches!(effect, Effect::Quit)));
    assert_eq!(text_of(&session.model.question), QUESTION, "Esc leaves the question as it was asked");
}

#[test]
fn typing_replaces_the_question_and_up_brings_it_back() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("iIdris bread<Enter>");
    assert_eq!(session.model.asked.as_deref(), Some("Idris bread"));
    session.keys("i<Up><Up><Enter>");
    assert_eq!(session.model.asked.as_deref(), Some(QUESTION));
}

#[test]
fn a_term_is_silenced_and_weighed_and_the_search_runs_again() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let found = session.model.trace.as_ref().unwrap().cut.rows.len();
    let generation = session.model.generation;
    session.keys("1g ");
    assert!(session.model.generation > generation);
    assert!(session.model.trace.as_ref().unwrap().cut.rows.len() < found);
    session.keys("je7.5<Enter>");
    assert!(session.model.settings.terms.weights.values().any(|weight| *weight == 7.5));
    session.keys("eheavy<Enter>");
    assert!(session.model.message.as_ref().unwrap().is_error);
}

#[test]
fn gold_is_marked_by_hand_and_kept() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("gm");
    let gold = session.model.trace.as_ref().unwrap().gold();
    assert_eq!(gold.total, 3);
    let marks = session.left.iter().find_map(|effect| match effect {
        Effect::Send(Job::Mark { question, turns, .. }) => Some((question.clone(), turns.len())),
        _ => None,
    });
    assert_eq!(marks, Some((QUESTION.to_owned(), 3)));
    session.keys("m");
    assert_eq!(session.model.trace.as_ref().unwrap().gold().total, 2);
}

#[test]
fn filters_show_what_fits_and_escape_drops_them() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let all = session.model.rows.fused.len();
    session.keys("/boat<Enter>");
    let few = session.model.rows.fused.len();
    assert!(few > 0 && few < all);
    session.keys("<Esc>");
    assert_eq!(session.model.rows.fused.len(), all);
    let mut seen = 0;
    let kinds: Vec<FateKind> =
        FateKind::ALL.into_iter().filter(|kind| session.model.trace.as_ref().unwrap().count(*kind) > 0).collect();
    for kind in &kinds {
        session.keys("f");
        assert_eq!(session.model.rows.filter.fate, Some(*kind));
        seen += session.model.rows.fused.len();
    }
    assert_eq!(seen, session.conversation.turns.len(), "every passage has one fate, and every fate can be listed");
    session.keys("f");
    assert_eq!(session.model.rows.filter.fate, None);
}

#[test]
fn gold_is_walked_through() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("*");
    let first = session.model.selected;
    session.keys("*");
    assert_ne!(session.model.selected, first);
    session.keys("*");
    assert_eq!(session.model.selected, first);
}

#[test]
fn escape_goes_back_and_never_leaves() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("z<Esc>?<Esc>:<Esc>/x<Esc>C<Esc>T<Tab><Esc>L<Esc>O<Esc><Esc><Esc><Esc>");
    assert_eq!(session.model.mode, Mode::Normal);
    assert!(session.left.iter().all(|effect| !matches!(effect, Effect::Quit)));
    session.keys("q");
    assert!(session.left.iter().any(|effect| matches!(effect, Effect::Quit)));
}

#[test]
fn what_the_models_saw_is_asked_for_once_and_follows_the_selection() {
    let mut session = Session::asked(80, 24, "terminal", false);
    let asked = |session: &Session| {
        let jobs = session.left.iter().filter_map(|effect| match effect {
            Effect::Send(Job::Inspect { passage, .. }) => Some(*passage),
            _ => None,
        });
        jobs.collect::<Vec<u32>>()
    };
    assert!(asked(&session).is_empty(), "nothing on the screen needs it");
    session.keys("T");
    let first = session.model.selected.unwrap();
    assert_eq!(asked(&session), [first]);
    assert!(session.text().contains(" reading"), "{}", session.text());
    session.keys("nn<Esc>T");
    assert_eq!(asked(&session), [first], "one at a time");
    let inspection = std::sync::Arc::new(screen::inspection(QUESTION, "Nell: We lifted the false floor."));
    let generation = session.model.generation;
    let event = Event::Inspected { generation, passage: first, inspection: std::sync::Arc::clone(&inspection) };
    session.give(Input::Engine(event.clone()));
    let last = session.model.selected.unwrap();
    assert_eq!(asked(&session), [first, last], "the answer was for a passage that was left; the next one is asked for");
    session.give(Input::Engine(Event::Inspected { generation, passage: last, inspection }));
    assert!(session.text().contains("sum of 16 best"), "{}", session.text());
    session.keys("<Tab>");
    assert!(session.text().contains("sigmoid of the logit"), "{}", session.text());
    session.keys("<Esc>iIdris bread<Enter>");
    session.give(Input::Engine(event));
    session.keys("T");
    assert!(session.text().contains(" reading"), "what was seen under another question is not shown");
}

#[test]
fn nothing_is_asked_of_the_models_while_they_score() {
    let mut session = Session::open(120, 40, "terminal", false);
    session.state = memsift::scored::RankerState::Running;
    session.keys(&format!("{QUESTION}<Enter>T"));
    assert!(session.text().contains(" after scoring"), "{}", session.text());
    let is_inspect = |effect: &Effect| matches!(effect, Effect::Send(Job::Inspect { .. }));
    assert!(!session.left.iter().any(is_inspect));
    session.give(Input::Engine(Event::Finished { generation: session.model.generation }));
    assert!(session.left.iter().any(is_inspect));
}

#[test]
fn control_c_leaves_from_anywhere() {
    for before in ["", "i", "?", ":", "/", "L", "C", "T"] {
        let mut session = Session::asked(120, 40, "terminal", false);
        session.keys(before);
        session.keys("<C-c>");
        assert!(session.left.iter().any(|effect| matches!(effect, Effect::Quit)), "after '{before}'");
    }
}

#[test]
fn escape_stops_scoring_and_resume_goes_on() {
    let mut session = Session::open(120, 40, "terminal", false);
    session.state = memsift::scored::RankerState::Running;
    session.keys(&format!("{QUESTION}<Enter>"));
    assert!(session.model.running);
    session.keys("<Esc>");
    assert!(session.left.iter().any(|effect| matches!(effect, Effect::Send(Job::Stop))));
    session.keys("R");
    assert!(session.left.iter().any(|effect| matches!(effect, Effect::Send(Job::Resume))));
}

#[test]
fn answers_to_an_older_question_are_dropped() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let old = session.model.generation;
    session.keys("iIdris bread<Enter>");
    let scored = screen::scored(
        &memsift::engine::Ask { generation: old, ..session.ask.clone().unwrap() },
        session.state.clone(),
    );
    let rows = session.model.rows.fused.clone();
    session.give(Input::Engine(Event::Scored { generation: old, scored }));
    assert_eq!(session.model.rows.fused, rows);
}

#[test]
fn panes_are_reached_by_number_and_by_tab() {
    let mut session = Session::asked(80, 24, "terminal", false);
    for pane in Pane::ALL {
        session.keys(&pane.number().to_string());
        assert_eq!(session.model.focus, pane);
    }
    session.keys("<Tab>");
    assert_eq!(session.model.focus, Pane::Terms);
    session.keys("<S-Tab>");
    assert_eq!(session.model.focus, Pane::Why);
}

#[test]
fn commands_complete_and_refuse_in_one_sentence() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(":se<Tab>alp<Tab>0.5<Enter>");
    assert_eq!(session.model.settings.alpha, 0.5);
    session.keys(":theme no<Tab><Enter>");
    assert_eq!(session.model.theme.name, "nord");
    for wrong in ["set alpha 7", "set alfa 1", "bogus", "theme pink", "open", "term", "export", "reset x"] {
        session.keys(&format!(":{wrong}<Enter>"));
        let message = session.model.message.clone().unwrap();
        assert!(message.is_error && !message.text.contains('\n'), "{wrong}: {message:?}");
    }
}

#[test]
fn the_mouse_focuses_selects_drags_and_scrolls() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let mouse = |kind, column, row| Input::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    let areas = memsift::ui::layout::areas(&session.model);
    let terms = areas.pane(Pane::Terms).unwrap();
    session.give(mouse(MouseEventKind::Down(MouseButton::Left), terms.x + 3, terms.y + 2));
    assert_eq!(session.model.focus, Pane::Terms);
    let fused = areas.pane(Pane::Fused).unwrap();
    session.give(mouse(MouseEventKind::Down(MouseButton::Left), fused.x + 5, fused.y + 3));
    assert_eq!(session.model.focus, Pane::Fused);
    let before = session.model.selected;
    session.give(mouse(MouseEventKind::ScrollDown, fused.x + 5, fused.y + 5));
    assert_ne!(session.model.selected, before);
    let slider = memsift::ui::layout::sliders(areas.knobs, 2000)[0];
    session.give(mouse(MouseEventKind::Down(MouseButton::Left), slider.track.right() - 1, slider.track.y));
    session.give(mouse(MouseEventKind::Up(MouseButton::Left), 0, 0));
    assert_eq!(session.model.settings.alpha, 1.0);
}

#[test]
fn pasted_text_is_text() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.give(Input::Paste("q0\u{1b}[2J\nsecond line".to_owned()));
    assert!(matches!(session.model.mode, Mode::Question));
    let typed = text_of(&session.model.question);
    assert!(!typed.contains('\u{1b}') && !typed.contains('\n'), "{typed:?}");
    assert!(session.left.iter().all(|effect| !matches!(effect, Effect::Quit)));
}

#[test]
fn a_what_if_is_chosen_and_turns_the_fate_and_undo_takes_it_back() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys("6");
    let selected = session.model.selected.unwrap();
    assert!(!session.model.trace.as_ref().unwrap().fate(selected).is_kept());
    let before = session.model.settings.clone();
    let known = session.model.whatifs.as_ref().expect("what-ifs of the selected passage");
    let turn = known.whatifs.knobs.iter().find_map(|whatif| whatif.nearest.clone().map(|turn| (whatif.knob, turn)));
    let (knob, turn) = turn.expect("a knob that rescues it");
    session.keys("<Enter><Enter>");
    let trace = session.model.trace.as_ref().unwrap();
    assert!(trace.fate(selected).is_kept(), "{knob} {}", turn.value);
    assert_eq!(trace.place(selected), turn.place);
    session.keys("u");
    assert_eq!(session.model.settings, before);
}

#[test]
fn a_cell_of_the_sweep_is_taken_and_keeps_what_it_promised() {
    let mut session = Session::asked(120, 40, "terminal", false);
    let before = session.model.settings.clone();
    session.keys("s");
    let screen = session.text();
    assert!(screen.contains("Sweep: gold kept in %") && screen.contains("α \\ budget"), "{screen}");
    let found = session.model.sweep.clone().expect("the question has gold");
    let (row, column) = found.cheapest().unwrap();
    session.keys("<Tab>");
    assert!(session.text().contains("w \\ budget"), "{}", session.text());
    session.keys("<Tab><Enter>");
    let settings = &session.model.settings;
    assert_eq!((settings.alpha, f64::from(settings.budget)), (found.rows.values[row], found.columns.values[column]));
    let trace = session.model.trace.as_ref().unwrap();
    assert_eq!(trace.gold().kept as usize, found.cells[row][column].kept);
    session.keys("u");
    assert_eq!(session.model.settings, before);
    session.keys("shhhhkkkkkkkkkkkk");
    assert!(session.text().contains(" α 0, budget "), "{}", session.text());
    let mut without = Session::open(120, 40, "terminal", false);
    without.keys("Larkspur<Enter>s");
    assert!(without.text().contains("no gold is known for this question"), "{}", without.text());
}

#[test]
fn themes_are_tried_on_while_they_are_chosen() {
    let mut session = Session::asked(80, 24, "terminal", false);
    let themes = memsift::ui::Themes::with(vec![memsift::ui::theme::Own {
        name: "mine".to_owned(),
        file: "mine.toml".to_owned(),
        text: "inherits = 'nord'\nstyle = 1\n".to_owned(),
    }]);
    session.model.themes = themes;
    session.keys(":theme<Enter>");
    assert!(session.text().contains("Themes 17/17: Enter keeps, Esc undoes"), "{}", session.text());
    session.keys("<Down>");
    assert_eq!(session.model.theme.name, "mono");
    session.keys("grvlig");
    assert_eq!(session.model.theme.name, "gruvbox-light");
    session.keys("<Esc>");
    assert_eq!(session.model.theme.name, "terminal");
    session.keys(":theme<Enter>latte<Enter>");
    assert_eq!(session.model.theme.name, "catppuccin-latte");
    assert!(session.model.message.as_ref().unwrap().text.contains("theme = \"catppuccin-latte\""));
    // What fits nothing shows the theme from before, and so does what takes the list away.
    session.keys(":theme<Enter>nord");
    assert_eq!(session.model.theme.name, "nord");
    session.keys("xyz");
    assert_eq!(session.model.theme.name, "catppuccin-latte");
    session.keys("<Esc>:theme<Enter>mine");
    let message = session.model.message.clone().unwrap();
    assert!(
        message.is_error && message.text.starts_with("'mine.toml', line 2: there is no key 'style'"),
        "{message:?}"
    );
    session.keys("<Enter>");
    assert_eq!(session.model.theme.name, "mine");
    session.keys(":theme mi<Tab><Enter>");
    assert_eq!(
        (session.model.theme.name.as_str(), session.model.mode == memsift::ui::model::Mode::Normal),
        ("mine", true)
    );
}

#[test]
fn lists_find_letters_with_gaps_and_the_best_first() {
    let mut session = Session::asked(100, 30, "terminal", false);
    session.keys("L");
    let all = session.text();
    session.keys("bot");
    let memsift::ui::model::Mode::Picker(picker) = &session.model.mode else { panic!("no list") };
    assert!(!picker.shown.is_empty() && picker.shown.len() < picker.items.len(), "{all}");
    assert_eq!((picker.at, picker.marks.len()), (0, picker.shown.len()));
    let item = &picker.items[picker.shown[0]];
    let line = [item.name.as_str(), &" ".repeat(memsift::ui::picker::GAP), &item.detail].concat();
    let line: Vec<char> = line.chars().collect();
    let marked: String = picker.marks[0].iter().map(|at| line[*at]).collect();
    assert_eq!(marked.to_lowercase(), "bot", "{line:?}");
}
