//! `memsift eval`: totals that agree with every single trace, models that are absent, files for other tools, bad input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;

use program::{import, memsift, sample, samples};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn totals_are_those_of_explain() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let knobs = ["--db", &db, "--fusion", "match", "--truncation", "fixed", "--budget", "300"];
    let (code, text, said) = memsift(dir.path(), &[&["eval", "--format", "json"], &knobs[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    let report = json(&text);
    let (_, explained, _) = memsift(dir.path(), &[&["explain", "--json"], &knobs[..]].concat());
    let rows: Vec<Value> = explained.lines().map(json).collect();
    let mut fates: BTreeMap<String, u64> = BTreeMap::new();
    for row in &rows {
        *fates.entry("kept".to_owned()).or_default() += row["kept"].as_u64().unwrap();
        for lost in row["lost"].as_array().unwrap() {
            *fates.entry(lost["fate"]["fate"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    let of_eval: BTreeMap<String, u64> = serde_json::from_value(report["systems"][0]["fates"].clone()).unwrap();
    assert_eq!(of_eval, fates);
    assert!(fates.len() > 1, "the cut loses something: {fates:?}");
    let questions = report["questions"].as_array().unwrap();
    assert_eq!(questions.len(), rows.len());
    for (question, row) in questions.iter().zip(&rows) {
        let outcome = &question["outcomes"][0];
        assert_eq!((&question["id"], &outcome["gold"], &outcome["kept"]), (&row["id"], &row["gold"], &row["kept"]));
    }
    // The mean of what each question says is what the report says.
    let mean =
        |key: &str| questions.iter().map(|one| number(&one["outcomes"][0][key])).sum::<f64>() / rows.len() as f64;
    for key in ["hit1", "recall3", "recall5", "recall10", "mrr", "ndcg5", "words", "candidates"] {
        let said = number(&report["systems"][0]["figures"][key]["value"]);
        assert!((said - mean(key)).abs() < 1e-9, "{key}: {said} and {}", mean(key));
    }
    let lost = &report["systems"][0]["lost"];
    let by_stage: u64 = lost.as_object().unwrap().values().map(|one| one["passages"].as_u64().unwrap()).sum();
    assert_eq!(by_stage, fates.iter().filter(|(fate, _)| *fate != "kept").map(|(_, count)| count).sum::<u64>());
}

#[test]
fn a_setting_beside_it_is_measured_on_the_same_questions() {
    let dir = tempfile::tempdir().unwrap();
    let db = samples(dir.path());
    let base = ["eval", "--db", &db, "--fusion", "match", "--truncation", "fixed", "--format", "json"];
    let two =
        [&base[..], &["--budget", "200", "--against", "budget=800", "--against", "matching=word,budget=800"]].concat();
    let (code, text, said) = memsift(dir.path(), &two);
    assert_eq!(code, Some(0), "{said}");
    let report = json(&text);
    let figure = |system: usize, key: &str| number(&report["systems"][system]["figures"][key]["value"]);
    assert_eq!(report["systems"].as_array().unwrap().len(), 3);
    assert!(figure(1, "kept") > figure(0, "kept"), "four times the budget keeps more");
    assert!(figure(2, "candidates") < figure(1, "candidates"), "whole words match less");
    assert_eq!(report["systems"][2]["knobs"]["matching"], "word");
    let difference = &report["systems"][1]["differences"]["kept"];
    assert!((number(&difference["value"]) - (figure(1, "kept") - figure(0, "kept"))).abs() < 1e-9);
    // Each alone gives the same figures as beside each other.
    let (_, alone, _) = memsift(dir.path(), &[&base[..], &["--matching", "word", "--budget", "800"]].concat());
    assert_eq!(json(&alone)["systems"][0]["figures"], report["systems"][2]["figures"]);
}

#[test]
fn a_knob_is_tuned_on_other_conversations_and_not_on_one() {
    let dir = tempfile::tempdir().unwrap();
    let two = samples(dir.path());
    let tune = ["--fusion", "match", "--tune", "budget=100:900:200", "--tune", "alpha"];
    let fixed = ["--truncation", "fixed"];
    let (code, _, said) = memsift(dir.path(), &[&["eval", "--db", &two], &tune[..], &fixed].concat());
    assert_eq!(code, Some(2));
    assert!(said.contains("--tune alpha: it plays no part under these settings; add --truncation adaptive"), "{said}");
    let (code, text, _) =
        memsift(dir.path(), &[&["eval", "--db", &two, "--format", "json"], &tune[..4], &fixed].concat());
    assert_eq!(code, Some(0));
    let tuned = &json(&text)["tuned"][0];
    assert_eq!(tuned["curve"].as_array().unwrap().len(), 5);
    assert_eq!(tuned["chosen"].as_array().unwrap().len(), 2);
    let held_out = number(&tuned["held_out"]["value"]);
    let best = tuned["curve"].as_array().unwrap().iter().map(|point| number(&point[0])).fold(0.0, f64::max);
    assert!(held_out > 0.0 && held_out <= best, "{held_out}, {best}");
    let one = sample(dir.path());
    let (code, text, said) = memsift(dir.path(), &[&["eval", "--db", &one], &tune[..4], &fixed].concat());
    assert_eq!(code, Some(0));
    assert!(said.contains("only one has questions"), "{said}");
    assert!(text.contains("intervals over conversations cannot be told"), "{text}");
}

#[test]
fn without_a_model_its_order_is_no_number() {
    let dir = tempfile::tempdir().unwrap();
    let db = sample(dir.path());
    let (code, text, said) = memsift(dir.path(), &["eval", "--db", &db, "--against", "fusion=match"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("memsift: "), "the reason is on standard error: {said}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("A: ").contains("its order is not measured: no ranker"), "{text}");
    assert!(row("gold found").matches('%').count() == 2, "search needs no model: {}", row("gold found"));
    let kept = row("gold kept");
    assert!(kept.contains("not measured") && kept.matches('%').count() == 1, "{kept}");
    let (_, text, _) = memsift(dir.path(), &["eval", "--db", &db, "--format", "json"]);
    let report = json(&text);
    assert!(report["systems"][0]["figures"].get("hit1").is_none());
    assert_eq!(report["questions"][0]["outcomes"][0]["not_measured"], "no_ranker");
}

#[test]
fn rows_runs_and_reports_are_written_and_nothing_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let db = samples(dir.path());
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (csv, prefix) = (path("out.csv"), path("out"));
    let args =
        ["eval", "--db", &db, "--fusion", "match", "--against", "fusion=order", "--output", &csv, "--trec", &prefix];
    let (code, text, said) = memsift(dir.path(), &args);
    assert_eq!((code, text.as_str()), (Some(0), ""), "{said}");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let table = read("out.csv");
    let columns = table.lines().next().unwrap().split(',').count();
    let (_, whole, _) = memsift(dir.path(), &["eval", "--db", &db, "--fusion", "match", "--format", "json"]);
    let report = json(&whole);
    let questions = report["questions"].as_array().unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * questions.len());
    assert_eq!(columns, 22);
    // A question a topic, a gold passage a line, and one order a setting.
    let gold: u64 = questions.iter().map(|one| one["outcomes"][0]["gold"].as_u64().unwrap()).sum();
    let qrels = read("out.qrels");
    assert_eq!(qrels.lines().count() as u64, gold);
    assert!(qrels.lines().all(|line| line.split(' ').count() == 4));
    let candidates: u64 = questions.iter().map(|one| one["outcomes"][0]["candidates"].as_u64().unwrap()).sum();
    for name in ["out.A.run", "out.B.run"] {
        let run = read(name);
        assert_eq!(run.lines().count() as u64, candidates);
        assert!(run.lines().all(|line| line.split(' ').count() == 6), "{name}");
    }
    assert_ne!(read("out.A.run"), read("out.B.run"));
    let topics = |text: &str| {
        let mut topics: Vec<String> = text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        topics.dedup();
        topics
    };
    assert_eq!(topics(&qrels), topics(&read("out.A.run")));
    let (code, _, said) = memsift(dir.path(), &["eval", "--db", &db, "--fusion", "match", "--trec", &prefix]);
    assert_eq!(code, Some(2));
    assert!(said.contains("out.A.run' already"), "{said}");
    let (_, markdown, _) = memsift(dir.path(), &["eval", "--db", &db, "--fusion", "match", "--format", "markdown"]);
    assert!(markdown.contains("\n| Hit@1 | "), "{markdown}");
}

#[test]
fn what_cannot_be_measured_is_said_in_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let turns = r#"{"conversation":"c","session":"s1","id":"t1","speaker":"Ana","text":"The boat is blue."}"#;
    let asked = |extra: &str| format!(r#"{{"conversation":"c","question":"What colour is the boat?"{extra}}}"#);
    let without = import(dir.path(), "without.db", &[("a.jsonl", turns)]);
    let no_gold = import(dir.path(), "no_gold.db", &[("a.jsonl", turns), ("b.questions.jsonl", &asked(""))]);
    let outside = asked(r#","evidence":["t9"]"#);
    let outside = import(dir.path(), "outside.db", &[("a.jsonl", turns), ("b.questions.jsonl", &outside)]);
    let db = sample(dir.path());
    let rows: [(&[&str], &str); 11] = [
        (&["--db", &without], "has no questions: import a data set that has some"),
        (&["--db", &no_gold], "none of the 1 questions of"),
        (&["--db", &outside], "the evidence of 1 leads to no turn"),
        (&["--db", &db, "--category", "no such"], "there is no category 'no such': there is "),
        (&["--db", &db, "--skip-category", "adversarial"], "there is no category 'adversarial': there is "),
        (&["--db", &db, "--conversation", "nobody"], "nobody"),
        (&["--db", &db, "--against", "fusion"], "is no knob with a value"),
        (&["--db", &db, "--against", "fusion=best"], "fusion cannot be 'best'"),
        (&["--db", &db, "--against", "budget=2000"], "changes nothing"),
        (&["--db", &db, "--tune", "lambda"], "add --fusion z"),
        (&["--db", &db, "--tune", "hops=1:2:1"], "acts before the rankers"),
    ];
    for (args, sentence) in rows {
        let (code, text, said) = memsift(dir.path(), &[&["eval"], args].concat());
        assert_eq!((code, text.as_str()), (Some(2), ""), "{args:?}: {said}");
        assert!(said.contains(sentence) && said.trim_end().lines().count() == 1, "{args:?}: {said}");
    }
}

#[test]
fn the_oracle_adds_up_and_tells_its_steps() {
    let dir = tempfile::tempdir().unwrap();
    let db = samples(dir.path());
    let ask = |more: &[&str]| memsift(dir.path(), &[&["oracle", "--db", &db], more].concat());
    let (code, text, said) = ask(&["--format", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let report = json(&text);
    let totals = &report["totals"];
    let questions = report["questions"].as_array().unwrap();
    let count = |key: &str| totals[key].as_u64().unwrap();
    let solved: u64 = totals["steps"].as_object().unwrap().values().map(|number| number.as_u64().unwrap()).sum();
    assert_eq!(count("questions"), questions.len() as u64);
    assert_eq!(count("questions"), solved + count("unsolved") + count("too_large"));
    assert!(solved > 0 && totals["steps"].as_object().unwrap().len() > 1, "some need two searches: {totals}");
    // A plan finds all gold, each passage once, and no step is idle.
    for one in questions {
        if let Some(steps) = one["plan"]["solved"].as_array() {
            let found: Vec<u64> = steps
                .iter()
                .flat_map(|step| step["finds"].as_array().unwrap())
                .map(|at| at.as_u64().unwrap())
                .collect();
            assert_eq!(found.len(), one["gold"].as_array().unwrap().len(), "{one}");
            assert!(steps.iter().all(|step| !step["finds"].as_array().unwrap().is_empty()), "{one}");
        }
    }
    // Any gold is never dearer than all gold, and a limit of hits solves fewer.
    let (_, any, _) = ask(&["--any", "--format", "json"]);
    let any = json(&any);
    assert_eq!(any["totals"]["steps"].as_object().unwrap().keys().collect::<Vec<_>>(), ["1"]);
    let (_, few, _) = ask(&["--hits", "3", "--format", "json"]);
    assert!(json(&few)["totals"]["unsolved"].as_u64() > totals["unsolved"].as_u64());
    let two_steps = questions.iter().find(|one| one["plan"]["solved"].as_array().is_some_and(|steps| steps.len() == 2));
    let (code, text, _) = ask(&[two_steps.unwrap()["question"].as_str().unwrap()]);
    assert_eq!(code, Some(0));
    assert!(text.contains("    1  search '") && text.contains("    2  search '"), "{text}");
    let (code, _, said) = ask(&["--learned"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--learned needs the tagger"), "{said}");
    let (code, _, said) = ask(&["What was never asked?"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("has no question 'What was never asked?' with gold"), "{said}");
}

#[test]
fn a_page_with_charts_needs_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let db = samples(dir.path());
    let page = dir.path().join("page.html").display().to_string();
    let (code, text, said) = memsift(dir.path(), &["reproduce", "smartsearch", "--db", &db, "--html", &page]);
    assert_eq!(code, Some(0), "{said}");
    assert!(text.contains("gold passages retrieved"), "{text}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.contains("gold passages retrieved") && html.ends_with("</html>\n"));
    assert!(["src=", "href", "<script", "http"].iter().all(|outside| !html.contains(outside)), "{html}");
    let (code, _, said) = memsift(dir.path(), &["reproduce", "smartsearch", "--db", &db, "--html", &page]);
    assert_eq!(code, Some(2));
    assert!(said.contains("already"), "{said}");
    let (code, html, _) = memsift(dir.path(), &["eval", "--db", &db, "--fusion", "match", "--format", "html"]);
    assert_eq!(code, Some(0));
    assert!(html.contains("<caption>What became of the gold"));
}

#[test]
fn ablations_hold_what_needs_no_model_and_say_what_does() {
    let dir = tempfile::tempdir().unwrap();
    let db = samples(dir.path());
    let (code, text, said) =
        memsift(dir.path(), &["reproduce", "smartsearch", "--ablations", "--every", "3", "--db", &db]);
    assert_eq!(code, Some(0), "{said}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{text}"));
    let words = |name: &str| {
        row(name).split("  ").filter(|cell| !cell.is_empty()).map(str::trim).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(
        row("cross-encoder ").contains("not measured") && row("as published").contains("not measured (80.17)"),
        "{text}"
    );
    assert_ne!(words("conversation order")[2], words("match score")[1], "{text}");
    // Whole words find no more than substrings do.
    let ranked = |name: &str| -> f64 {
        let cells = words(name);
        let cell = cells
            .iter()
            .skip(1)
            .find(|cell| cell.starts_with(|c: char| c.is_ascii_digit()) && cell.contains('('))
            .unwrap();
        cell.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(ranked("whole words") <= ranked("as published"));
}
