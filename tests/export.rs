//! A trace for other programs: every passage in the CSV, an order that evaluation tools accept, a report without markup
//! of strangers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/screen.rs"]
mod screen;

use std::path::Path;
use std::sync::Arc;

use memsift::engine::Ask;
use memsift::explain::export::{Format, export};
use memsift::history::Conversation;
use memsift::scored::RankerState;
use memsift::settings::Settings;
use memsift::trace::Trace;
use memsift::trace::file::TraceHeader;

fn trace_of(conversation: Arc<Conversation>, settings: Settings) -> Trace {
    let gold = conversation.questions[0].gold.clone();
    let text = screen::QUESTION.to_owned();
    let ask = Ask { generation: 1, conversation, text, gold, settings: settings.clone() };
    Trace::new(screen::scored(&ask, RankerState::Done), settings)
}

fn made() -> Trace {
    trace_of(screen::conversation(), Settings::default())
}

fn written(trace: &Trace, format: Format) -> String {
    String::from_utf8(export(trace, TraceHeader::default(), format).unwrap()).unwrap()
}

/// Fields of CSV rows, quotes taken off.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let row = rows.last_mut().unwrap();
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => row.last_mut().unwrap().push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            c => row.last_mut().unwrap().push(c),
        }
    }
    rows.pop();
    rows
}

#[test]
fn the_table_has_every_passage_with_its_fate() {
    let trace = made();
    let rows = rows(&written(&trace, Format::Csv));
    assert_eq!(rows.len(), trace.fates.len() + 1);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "every row has every column");
    let column = |name: &str| rows[0].iter().position(|known| known == name).unwrap();
    let (fate, text, gold) = (column("fate"), column("text"), column("gold"));
    for (at, row) in rows.iter().skip(1).enumerate() {
        assert_eq!(row[fate], trace.fates[at].kind().name());
        assert_eq!(row[text], trace.scored.passages.passages[at].text);
    }
    assert_eq!(rows.iter().skip(1).filter(|row| row[gold] == "1").count(), trace.scored.gold.len());
}

#[test]
fn a_run_falls_from_rank_to_rank() {
    for trace in [made(), trace_of(screen::conversation(), Settings { w: 0.0, ..Settings::default() })] {
        let run = written(&trace, Format::Trec);
        let lines: Vec<Vec<&str>> = run.lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines.len(), trace.cut.rows.len());
        for (at, line) in lines.iter().enumerate() {
            assert_eq!((line.len(), line[1], line[3], line[5]), (6, "Q0", (at + 1).to_string().as_str(), "memsift"));
        }
        let scores: Vec<f64> = lines.iter().map(|line| line[4].parse().unwrap()).collect();
        assert!(scores.windows(2).all(|pair| pair[0] > pair[1]));
    }
}

#[test]
fn a_report_names_gold_and_rescue_and_takes_no_markup_from_texts() {
    let mut conversation = (*screen::conversation()).clone();
    for turn in &mut conversation.turns {
        turn.text.push_str(" <script>x</script> | **bold** [a](b)\nnext");
    }
    let trace = trace_of(Arc::new(conversation), Settings { budget: 900, ..Settings::default() });
    let report = written(&trace, Format::Markdown);
    assert!(report.starts_with("# What made Nell nearly give up on the boat"), "{report}");
    assert!(report.contains("Knobs not at their defaults: `budget` 900."), "{report}");
    assert!(report.contains("\n## Gold\n\n2 known, 2 matched, 2 among the candidates, "), "{report}");
    assert!(report.contains("  - kept for "), "a lost gold passage has its what-ifs");
    assert!(!report.contains("<script>") && !report.contains("[a](b)") && !report.contains("**bold**"), "{report}");
    let table: Vec<&str> =
        report.split("## Order").nth(1).unwrap().lines().filter(|line| line.starts_with('|')).collect();
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(table.iter().all(|line| bars(line) == 9), "{table:?}");
}

#[test]
fn the_end_of_a_name_chooses_the_format() {
    let of = |name: &str| Format::of(Path::new(name));
    let names = ["a.json", "a.msgpack", "a.MD", "a.csv", "a.txt", "a.run"];
    assert_eq!(names.map(of), Format::ALL.map(|(_, format)| format));
    assert_eq!([of("a"), of("a.trace")], [Format::Json, Format::Json]);
}
