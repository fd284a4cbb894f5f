//! `memsift explain` and `memsift diff`: lost gold by stage, marks made by hand, and an exit code that guards a setting.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/program.rs"]
mod program;

use std::path::Path;

use memsift::store::import::import_texts;
use memsift::store::marks::Marks;
use program::{memsift, sample};
use serde_json::Value;

#[test]
fn every_lost_gold_passage_is_listed_and_the_stages_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let (code, json, _) = memsift(dir.path(), &["explain", "--gold", "--db", &db, "--budget", "300", "--json"]);
    assert_eq!(code, Some(0));
    let rows: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() > 5);
    let (mut gold, mut kept, mut lost) = (0, 0, 0);
    for row in &rows {
        gold += row["gold"].as_u64().unwrap();
        kept += row["kept"].as_u64().unwrap();
        for one in row["lost"].as_array().unwrap() {
            lost += 1;
            assert_ne!(one["fate"]["fate"], "kept");
            assert!(one["why"].as_str().unwrap().len() > 10);
        }
    }
    assert_eq!(gold, kept + lost);
    assert!(lost > 0 && kept > 0, "{kept} kept, {lost} lost");
    let (_, lines, _) = memsift(dir.path(), &["explain", "--db", &db, "--budget", "300"]);
    assert_eq!(lines.matches("\n    lost ").count() as u64, lost);
    let last = lines.lines().last().unwrap();
    assert!(last.starts_with(&format!("{} questions, {gold} gold passages: {kept} kept, ", rows.len())), "{last}");
}

#[test]
fn marks_made_by_hand_are_gold_here_too() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let question = "What did Nell buy?";
    let (code, _, complaint) = memsift(dir.path(), &["explain", question, "--db", &db]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("mark gold on the screen"), "{complaint}");
    let (_, paths, _) = memsift(dir.path(), &["paths"]);
    let file = paths.lines().find_map(|line| line.strip_prefix("marks")).unwrap().trim().to_owned();
    let mut marks = Marks::load(Path::new(&file)).unwrap();
    marks.set("nell-and-idris", question, &["s01.t03".to_owned(), "gone".to_owned()]);
    marks.save().unwrap();
    let (code, lines, _) = memsift(dir.path(), &["explain", question, "--db", &db]);
    assert_eq!(code, Some(0));
    assert!(lines.contains(" of 1 kept  marked  What did Nell buy?"), "{lines}");
    let (_, asked, _) = memsift(dir.path(), &["ask", question, "--db", &db]);
    assert!(asked.contains("\ngold      1 known"), "{asked}");
}

#[test]
fn two_traces_are_compared_and_gold_that_changed_is_exit_code_one() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let question = "What made Nell nearly give up on the boat, and what changed her mind?";
    let trace = |name: &str, question: &str, budget: &str| {
        let flags = ["--json", "--truncation", "fixed", "--budget", budget];
        let (code, json, _) = memsift(dir.path(), &[&["ask", question, "--db", &db][..], &flags].concat());
        assert_eq!(code, Some(0));
        let path = dir.path().join(name);
        std::fs::write(&path, json).unwrap();
        path.display().to_string()
    };
    let wide = trace("wide.json", question, "20000");
    let also = trace("also.json", question, "20000");
    let narrow = trace("narrow.json", question, "40");
    let other = trace("other.json", "Who is Fitz?", "2000");
    let (code, lines, _) = memsift(dir.path(), &["diff", &wide, &also]);
    assert_eq!(code, Some(0));
    assert!(lines.ends_with("changed   0 gold passages, 0 others\n"), "{lines}");
    let (code, lines, complaint) = memsift(dir.path(), &["diff", &wide, &narrow]);
    assert_eq!(code, Some(1), "{lines}");
    assert!(lines.contains("knob      budget: 20000 -> 40\n"), "{lines}");
    assert!(lines.contains(" kept -> over budget\n"), "{lines}");
    assert!(complaint.contains("gold passages changed their fate"), "{complaint}");
    let (code, _, complaint) = memsift(dir.path(), &["diff", &wide, &other]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("compare two of the same"), "{complaint}");
}

#[test]
fn an_unmatched_gold_passage_says_what_it_just_missed() {
    let dir = tempfile::tempdir().unwrap();
    let turns = [
        ("t1", "Ann", "I met Rosalind at the pottery fair."),
        ("t2", "Bob", "Did you? She taught me how to paint."),
        ("t3", "Ann", "Yes, and at the weekend Rosalind and Theo were paintig together on a bench."),
        ("t4", "Bob", "Quite so."),
    ];
    let lines: Vec<String> = turns
        .iter()
        .map(|(id, speaker, text)| {
            serde_json::json!({"conversation": "c", "session": "s", "id": id, "speaker": speaker, "text": text})
                .to_string()
        })
        .collect();
    let db = dir.path().join("small.db");
    import_texts(&[("c.jsonl", &lines.join("\n"))], &db, &mut |_| {}).unwrap();
    let question = "Where was the pottery and painting?";
    let (_, paths, _) = memsift(dir.path(), &["paths"]);
    let file = paths.lines().find_map(|line| line.strip_prefix("marks")).unwrap().trim().to_owned();
    let mut marks = Marks::load(Path::new(&file)).unwrap();
    marks.set("c", question, &["t2".to_owned(), "t3".to_owned()]);
    marks.save().unwrap();
    let (code, said, complaint) = memsift(dir.path(), &["explain", question, "--db", &db.display().to_string()]);
    assert_eq!(code, Some(0), "{complaint}");
    for words in [
        "lost t3: unmatched",
        "'paintig' begins as the term 'painting' does",
        "'and' of the question occurs in it and was left out (stop word)",
        "it shares the name 'Rosalind' with t1, which was found; a further hop by that name would reach it (2 passages hold it)",
        "lost t2: unmatched",
    ] {
        assert!(said.contains(words), "'{words}' is not in:\n{said}");
    }
    assert!(!said.contains("'Theo'"), "nobody who was found holds that name:\n{said}");
}
