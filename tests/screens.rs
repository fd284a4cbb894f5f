//! Screens as text and as styles, at the sizes that matter, and that no size and no text breaks them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/screen.rs"]
mod screen;

use std::sync::Arc;

use memsift::history::{Conversation, Session as HistorySession, Turn};
use memsift::moment::Moment;
use memsift::scored::RankerState;
use memsift::ui::{Input, Pane};
use screen::{Session, styles};

fn snapshot(name: &str, text: String) {
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn the_answer_at_five_sizes_and_in_three_looks() {
    for (columns, rows) in [(40, 10), (80, 24), (100, 30), (120, 40), (200, 60)] {
        let session = Session::asked(columns, rows, "terminal", false);
        snapshot(&format!("answer-{columns}x{rows}"), session.text());
        // Without colour every word and sign stays where it is.
        assert_eq!(Session::asked(columns, rows, "mono", false).text(), session.text());
        if rows != 40 {
            let ascii = Session::asked(columns, rows, "mono", true);
            snapshot(&format!("answer-ascii-{columns}x{rows}"), ascii.text());
        }
    }
}

#[test]
fn the_tour_and_the_presenter() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let mut session = Session::asked(columns, rows, "terminal", false);
        session.keys(":tour<Enter>");
        snapshot(&format!("tour-1-{columns}x{rows}"), session.text());
        session.keys(" ");
        snapshot(&format!("tour-2-{columns}x{rows}"), session.text());
        session.keys(" ");
        snapshot(&format!("tour-3-{columns}x{rows}"), session.text());
        session.keys(" :present<Enter>   ");
        snapshot(&format!("present-{columns}x{rows}"), session.text());
    }
}

#[test]
fn a_beside_b_at_three_sizes() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let mut session = Session::asked(columns, rows, "terminal", false);
        session.keys("c))))))[[[[[[[[[[[[[[");
        snapshot(&format!("ab-{columns}x{rows}"), session.text());
    }
}

#[test]
fn pins_and_the_sweep_over_all_questions() {
    let mut session = Session::asked(120, 40, "terminal", false);
    session.keys(
        ":set alpha 0.1<Enter>:set budget 850<Enter>:pin small<Enter>:set fusion z<Enter>:pin z<Enter>0:pins<Enter>",
    );
    snapshot("overlay-pins", session.text());
    session.keys("<Esc>sa");
    snapshot("overlay-sweep-all", session.text());
}

#[test]
fn sessions_by_bm25_and_by_their_best_turn_at_three_sizes() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let mut session = Session::asked(columns, rows, "terminal", false);
        session.keys(":preset lexical-dense<Enter>");
        snapshot(&format!("sessions-{columns}x{rows}"), session.text());
    }
}

#[test]
fn the_oracle_alone() {
    let mut session = Session::asked(80, 24, "terminal", false);
    session.keys(":oracle<Enter>");
    snapshot("overlay-oracle", session.text());
}

#[test]
fn styles_carry_the_same_meaning_in_colour_and_in_mono() {
    for theme in ["terminal", "mono"] {
        let session = Session::asked(80, 24, theme, false);
        snapshot(&format!("styles-{theme}"), styles(&session.draw()));
    }
}

#[test]
fn ascii_draws_nothing_else_around_the_text() {
    let session = Session::asked(120, 40, "mono", true);
    let text = session.text();
    let strange: Vec<char> = text.chars().filter(|c| !c.is_ascii()).filter(|c| !"…·α’‘“”—–é".contains(*c)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    snapshot("answer-ascii", text);
}

#[test]
fn every_pane_alone() {
    let mut session = Session::asked(80, 24, "terminal", false);
    for pane in Pane::ALL {
        session.keys(&pane.number().to_string());
        snapshot(&format!("pane-{}", pane.name().to_lowercase()), session.text());
    }
}

#[test]
fn overlays_and_prompts() {
    let mut session = Session::asked(100, 30, "terminal", false);
    for (name, keys) in [
        ("help", "?budget"),
        ("questions", "<Esc>Lboat"),
        ("context", "<Esc>C"),
        ("what-if", "<Esc>6<Enter>"),
        ("compare", "<Esc>4c))))))7"),
        ("sweep", "<Esc>xcs"),
        ("command", "<Esc>:set alpha 2<Enter>"),
        ("filter", "/harbour"),
    ] {
        session.keys(keys);
        snapshot(&format!("overlay-{name}"), session.text());
    }
}

#[test]
fn the_list_of_themes_leaves_the_screen_to_the_theme() {
    let mut session = Session::asked(80, 24, "terminal", false);
    session.keys(":theme<Enter>rspn");
    snapshot("overlay-themes", session.text());
    snapshot("styles-themes", styles(&session.draw()));
}

#[test]
fn a_provisional_order_is_marked() {
    let mut session = Session::open(120, 40, "terminal", false);
    session.state = RankerState::Running;
    session.keys(&format!("{}<Enter>", screen::QUESTION));
    let text = session.text();
    assert!(text.contains("~ 39"), "{text}");
    assert!(text.contains("ce 95/191"), "{text}");
    assert!(text.contains("Esc stops"), "{text}");
}

#[test]
fn an_absent_model_is_named_and_its_knobs_are_grey() {
    let mut session = Session::open(120, 40, "terminal", false);
    session.state = RankerState::Absent("no cross-encoder: 'x' is not installed".to_owned());
    session.give(Input::Engine(memsift::engine::Event::Model(memsift::engine::ModelStatus {
        role: "ce",
        name: "x".to_owned(),
        state: memsift::engine::ModelState::Absent("no cross-encoder: 'x' is not installed".to_owned()),
    })));
    assert!(session.text().contains("no ce"), "{}", session.text());
}

#[test]
fn what_the_models_saw() {
    for (columns, rows, theme, ascii) in [
        (80, 24, "terminal", false),
        (120, 40, "terminal", false),
        (200, 60, "terminal", false),
        (80, 24, "mono", true),
    ] {
        let mut session = Session::inspected(columns, rows, theme, ascii);
        let name = if ascii { "ascii".to_owned() } else { format!("{columns}x{rows}") };
        session.keys("Tjjj");
        let text = session.text();
        let strange: Vec<char> = text.chars().filter(|c| !c.is_ascii() && !"…·α’‘“”—–é".contains(*c)).collect();
        assert!(!ascii || strange.is_empty(), "{strange:?}");
        snapshot(&format!("matrix-{name}"), text);
        session.keys("<Tab>");
        snapshot(&format!("pair-{name}"), session.text());
    }
}

#[test]
fn the_passage_pane_names_the_tokens_that_matched() {
    let mut session = Session::inspected(80, 24, "terminal", false);
    session.keys("5");
    assert!(session.text().contains(" colbert matched nell .93  "), "{}", session.text());
}

#[test]
fn a_model_that_saw_nothing_says_why() {
    let mut session = Session::open(80, 24, "terminal", false);
    let absent = |_: &str, _: &str| memsift::engine::Inspection {
        matrix: Err("'m' gives one vector a text and none a token: there is no matrix".to_owned()),
        pair: Err("no cross-encoder: 'x' is not installed; run 'memsift models pull'".to_owned()),
    };
    session.inspect = Some(absent);
    session.keys(&format!("{}<Enter>T", screen::QUESTION));
    assert!(session.text().contains("one vector a text and none a token"), "{}", session.text());
    session.keys("<Tab>");
    assert!(session.text().contains("run 'memsift models pull'"), "{}", session.text());
}

/// Every small size, every pane, every overlay: nothing panics, and nothing is drawn outside.
#[test]
fn no_size_breaks_it() {
    let mut session = Session::inspected(80, 24, "terminal", false);
    session.sweep_answers = 1;
    for columns in [1, 2, 5, 20, 39, 40, 41, 60, 99, 100, 101, 159, 160, 250] {
        for rows in [1, 2, 5, 9, 10, 11, 15, 16, 24, 29, 30, 31, 80] {
            session.give(Input::Size(columns, rows));
            for keys in [
                "1", "2", "3", "4", "5", "6", "z", "z", "?", "<Esc>", "C", "<Esc>", "L", "<Esc>", "i", "<Esc>", "G",
                "g", "T", "G", "l", "n", "<Tab>", "G", "p", "<Esc>", "c", "]", "7", "j", "x", "<Esc>", "s", "j", "l",
                "<Tab>", "a", "j", "<Enter>", "x", "3", "z", "z", "u", "u",
            ] {
                session.keys(keys);
                session.draw();
            }
        }
    }
}

fn hostile() -> Arc<Conversation> {
    let texts = [
        "\u{1b}[2J\u{1b}]0;owned\u{7}plain\0end".to_owned(),
        "right \u{202e}to left\u{202c} and\u{200b} hidden".to_owned(),
        "word ".repeat(200_000),
        "x".repeat(1_000_000),
        "日本語のテキスト".repeat(50),
        "e\u{301}".repeat(300),
        "👩‍👩‍👧‍👦 family 🇪🇺 flag".repeat(20),
        "tabs\tand\r\nlines\n\n\n".repeat(40),
        String::new(),
    ];
    let turns: Vec<Turn> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| Turn {
            id: format!("t\u{1b}{at}"),
            session: 0,
            number: at as u32 + 1,
            speaker: 0,
            text: memsift::store::clean::clean(text).into_owned(),
            caption: None,
            time: Moment::Unread("some\u{7}day".to_owned()),
        })
        .map(|turn| Turn { id: memsift::store::clean::clean(&turn.id).into_owned(), ..turn })
        .collect();
    let sessions =
        vec![HistorySession { id: "s1".to_owned(), number: 1, time: Moment::Unknown, turns: 0..turns.len() }];
    Arc::new(Conversation {
        id: "hostile".to_owned(),
        title: None,
        speakers: vec![Arc::from("Eve")],
        sessions,
        turns,
        questions: Vec::new(),
    })
}

#[test]
fn hostile_text_is_drawn_as_text() {
    let mut session = Session::on(hostile(), 120, 40, "terminal", false);
    session.inspect = Some(screen::inspection);
    session.keys("word plain family tabs Eve<Enter>");
    assert!(session.model.trace.is_some());
    for pane in Pane::ALL {
        session.keys(&pane.number().to_string());
        for _ in 0..10 {
            session.keys("j");
            let buffer = session.draw();
            for cell in buffer.content() {
                let symbol = cell.symbol();
                assert!(!symbol.chars().any(memsift::store::clean::is_hostile), "{symbol:?} reaches the terminal");
            }
        }
    }
    session.keys("4gT");
    for _ in 0..9 {
        for keys in ["g", "G", "lll", "<Tab>", "G", "<Tab>n"] {
            session.keys(keys);
            // A wide character that is cut in half or pushes its row aside moves the frame.
            for line in session.text().lines().filter(|line| line.starts_with(" ┃")) {
                assert!(line.ends_with('┃') && memsift::ui::text::width(line) == 119, "{line}");
            }
            let cells = session.draw();
            let hostile = |cell: &ratatui::buffer::Cell| cell.symbol().chars().any(memsift::store::clean::is_hostile);
            assert!(!cells.content().iter().any(hostile));
        }
    }
}
