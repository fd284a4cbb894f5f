//! The README against the program: tables that the code knows are what the code says, commands and flags exist, and the
//! examples can be used as they stand. Knows the README as text; what a stage computes is tested elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use assert_cmd::cargo::cargo_bin_cmd;
use memsift::engine::{Deaf, Models, Pipeline};
use memsift::models::Registry;
use memsift::rank::Cache;
use memsift::settings::{KNOBS, Knob, Settings};
use memsift::store::Store;
use memsift::store::import::import_texts;
use memsift::store::schema::schema_sql;
use memsift::trace::Trace;
use memsift::trace::file::{TraceFile, TraceHeader};
use memsift::truncate::FateKind;
use memsift::ui::theme::colour::is_light;
use memsift::ui::theme::{Own, Role};
use memsift::ui::{Glyphs, Theme, Themes};
use serde_json::Value;
use sha2::{Digest, Sha256};

const README: &str = include_str!("../README.md");

// ---- tables ----

#[test]
fn the_knobs_are_those_of_the_table() {
    let mut rows = "| knob | stage | default | takes | meaning |\n|---|---|---|---|---|\n".to_owned();
    for knob in KNOBS {
        rows += &row(knob);
    }
    assert_same("knobs", &rows);
}

fn row(knob: &Knob) -> String {
    let stage = serde_json::to_value(knob.stage).unwrap();
    let unit = if knob.unit.is_empty() { String::new() } else { format!(" ({})", knob.unit) };
    format!(
        "| `{}` | {} | {} | {}{unit} | {} |\n",
        knob.name,
        stage.as_str().unwrap(),
        (knob.get)(&Settings::default()),
        knob.takes(),
        knob.doc.trim()
    )
}

#[test]
fn the_files_of_the_models_are_those_of_the_list() {
    let mut rows = "| model | file | bytes | SHA-256 |\n|---|---|---|---|\n".to_owned();
    for model in &Registry::built_in().unwrap().models {
        for file in &model.files {
            let _ = writeln!(rows, "| {} | `{}` | {} | `{}` |", model.name, file.name, file.size, file.sha256);
        }
        let named = README.lines().any(|line| {
            line.starts_with(&format!("| `{}`", model.name)) && line.contains(&format!("| {} |", model.licence))
        });
        assert!(named, "the README gives '{}' no row with the licence {}", model.name, model.licence);
    }
    assert_same("models", &rows);
    let adapter = include_bytes!("../src/rank/small_cross_encoder/small-cross-encoder.safetensors");
    let sum = Sha256::digest(adapter).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(README.contains(&format!("{} bytes,\n`{sum}`", adapter.len())), "the adapter has the SHA-256 {sum}");
}

#[test]
fn every_profile_has_a_row() {
    for profile in &Registry::built_in().unwrap().profiles {
        let row =
            format!("\n| `{}` | `{}` | `{}` | `{}` |\n", profile.name, profile.ce, profile.colbert, profile.dense);
        assert!(README.contains(&row), "the README has no row {row}");
    }
}

#[test]
fn the_keys_are_those_of_the_table() {
    assert_same("keys", memsift::ui::keys::markdown().trim_end());
}

#[test]
fn the_themes_are_those_of_the_program() {
    let mut rows = "| theme | ground | inherits |\n|---|---|---|\n".to_owned();
    for name in Theme::names() {
        let ground = match Theme::named(name, Glyphs::UNICODE).unwrap().ground() {
            Some(ground) if is_light(ground) => "light",
            Some(_) => "dark",
            None => "the terminal's",
        };
        let text = std::fs::read_to_string(format!("themes/{name}.toml")).unwrap();
        let parent =
            text.lines().find_map(|line| line.strip_prefix("inherits = ")).unwrap_or_default().replace('"', "`");
        let _ = writeln!(rows, "| `{name}` | {ground} | {parent} |");
    }
    assert_same("themes", &rows);
    for (name, _) in Role::ALL {
        assert!(README.contains(&format!("`{name}`")), "the README has no style '{name}'");
    }
}

#[test]
fn the_theme_of_ones_own_can_be_used_as_it_stands() {
    let mut own = 0;
    for (at, text) in blocks("toml").into_iter().enumerate().filter(|(_, text)| text.contains("[styles]")) {
        let themes = Themes::with(vec![Own { name: "mine".to_owned(), file: format!("block {at}"), text }]);
        assert_eq!(themes.named("mine", Glyphs::UNICODE).unwrap().1, [""; 0]);
        own += 1;
    }
    assert_eq!(own, 1);
}

#[test]
fn every_fate_has_a_row() {
    for kind in FateKind::ALL {
        let stored = serde_json::to_value(kind).unwrap();
        for name in [kind.name(), stored.as_str().unwrap()] {
            assert!(README.contains(&format!("\n| `{name}` | ")), "the README has no row for the fate '{name}'");
        }
    }
}

/// Compare what stands between two markers with what it should be; print that, ready to be pasted.
fn assert_same(marker: &str, wanted: &str) {
    let (begin, end) = (format!("<!-- {marker} -->\n"), format!("<!-- /{marker} -->"));
    let (_, rest) = README.split_once(&begin).unwrap_or_else(|| panic!("the README has no line {begin}"));
    let (found, _) = rest.split_once(&end).unwrap_or_else(|| panic!("the README has no {end}"));
    assert!(
        found.trim() == wanted.trim(),
        "what stands between {} and {end} is out of date; it should be\n\n{wanted}",
        begin.trim()
    );
}

// ---- commands ----

#[test]
fn every_command_and_flag_exists() {
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in &commands {
        let mut words = command.split_whitespace();
        let mut path: Vec<&str> = Vec::new();
        loop {
            let known = subcommands(&path);
            let Some(word) = words.next().filter(|word| !known.is_empty() && is_plain(word)) else { break };
            assert!(known.contains(word), "`memsift {command}`: there is no '{word}', there are {known:?}");
            path.push(word);
        }
        let help = help(&path);
        for flag in command.split_whitespace().filter(|word| word.starts_with("--")) {
            let listed = help.split([' ', ',', '\n']).any(|word| word == flag);
            assert!(listed, "`memsift {command}`: there is no flag {flag}");
        }
    }
}

/// Everything the README writes as a command, without the name of the program.
fn commands() -> BTreeSet<String> {
    let shell = blocks("sh");
    let lines = shell.iter().flat_map(|block| block.lines()).map(|line| line.split(" #").next().unwrap_or(line));
    // Prose stands outside of the fences, and code in prose between single backticks.
    let prose = README.split("```").step_by(2);
    let spans = prose.flat_map(|text| text.split('`').skip(1).step_by(2));
    lines
        .chain(spans)
        .filter_map(|code| code.strip_prefix("memsift ").or_else(|| code.strip_prefix("cargo run --release -- ")))
        .map(|code| code.trim().to_owned())
        .collect()
}

/// False for paths, placeholders, quoted text and flags.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase())
}

fn help(path: &[&str]) -> String {
    let output = cargo_bin_cmd!("memsift").args(path).arg("--help").output().unwrap();
    assert!(output.status.success(), "memsift {} --help", path.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// The subcommands that a help text lists.
fn subcommands(path: &[&str]) -> BTreeSet<String> {
    let help = help(path);
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return BTreeSet::new() };
    let rows = list.lines().take_while(|line| !line.is_empty());
    // A description that wraps goes on further to the right.
    let rows = rows.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    rows.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The code blocks of one language.
fn blocks(language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in README.lines() {
        open = match (open, line.strip_prefix("```")) {
            (None, Some(name)) => Some((name, String::new())),
            (None, None) => None,
            (Some((name, text)), Some(_)) => {
                if name == language {
                    found.push(text);
                }
                None
            }
            (Some((name, text)), None) => Some((name, text + line + "\n")),
        };
    }
    found
}

// ---- examples ----

#[test]
fn the_sql_makes_a_database_that_opens() {
    let [schema, rows]: [String; 2] = blocks("sql").try_into().unwrap();
    assert!(schema == schema_sql(), "the schema in the README is out of date; it should be\n\n{}", schema_sql());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(&(schema + &rows)).unwrap();
    connection.close().unwrap();
    let store = Store::open(&path).unwrap();
    let summary = store.summaries().unwrap().remove(0);
    let talk = store.load(&summary.id).unwrap();
    assert_eq!((summary.sessions, summary.turns, summary.words), (talk.sessions.len(), talk.turns.len(), talk.words()));
    assert_eq!((summary.questions, talk.questions[0].gold.as_slice()), (1, &[0][..]));
    let table = |name: &str| README.contains(&format!("**{name}**: "));
    let tables = ["conversation", "session", "turn", "question", "gold", "dirty_evidence", "import", "meta"];
    assert!(tables.into_iter().all(table), "a table of the schema is not described");
}

#[test]
fn the_lines_can_be_imported_and_every_field_of_their_trace_is_described() {
    let lines = blocks("jsonl").concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.db");
    let report = import_texts(&[("lines.jsonl", lines.as_str())], &path, &mut |_| {}).unwrap();
    let file = &report.files[0];
    assert_eq!((file.turns, file.questions, file.unread_times, file.evidence.good), (2, 1, 0, 1));
    let mut fields = BTreeSet::new();
    collect_fields(&trace_of(&path), &mut fields);
    let missing: Vec<_> = fields.iter().filter(|field| !README.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "the README does not describe {missing:?}");
}

/// The trace of the only question, without a model.
fn trace_of(path: &Path) -> Value {
    let store = Store::open(path).unwrap();
    let summary = store.summaries().unwrap().remove(0);
    let talk = Arc::new(store.load(&summary.id).unwrap());
    let mut settings = Settings::default();
    settings.terms.added.insert("flat".to_owned(), 1.0);
    let question = &talk.questions[0];
    let mut pipeline = Pipeline::new(Models::none("not in this test"), Cache::in_memory());
    let scored = pipeline.ask(&talk, &question.text, &question.gold, &settings, &mut Deaf);
    let header = TraceHeader { database: store.fingerprint(), ..TraceHeader::default() };
    serde_json::to_value(TraceFile::new(&Trace::new(scored, settings), header)).unwrap()
}

/// Names of all fields, however deep; names that are data (terms with their weights) are passed over.
fn collect_fields(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                into.insert(name.clone());
                if name != "weights" && name != "added" {
                    collect_fields(value, into);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect_fields(value, into)),
        _ => {}
    }
}
