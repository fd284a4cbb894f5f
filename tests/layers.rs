//! The rules that keep the layers apart, read off the sources: who may import whom, where unsafe code may stand, how a file
//! begins and how long it may be. Each rule is shown to fail on a made-up snippet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

/// Layers that know data and knobs only: they can be tested, replayed and timed without screen, thread or model.
const PURE: [&str; 7] = ["parse", "retrieve", "fuse", "truncate", "trace", "explain", "eval"];
/// What the pure layers import nothing from.
const NOT_IN_PURE: [&str; 4] = ["ui", "engine", "ratatui", "candle"];
/// Layers below the screen.
const BELOW_SCREEN: [&str; 4] = ["engine", "store", "rank", "nlp"];
/// What these import nothing from.
const NOT_BELOW_SCREEN: [&str; 2] = ["ui", "ratatui"];
/// Unsafe code may stand in files whose path begins so.
const KERNELS: &str = "rank/kernels";
/// Lines of the longest file.
const LONGEST: usize = 500;
/// Files that hold one long table and may be longer.
const TABLES: [&str; 1] = ["parse/stop_words.rs"];

/// A source file, its path relative to `src` with forward slashes.
struct File {
    path: String,
    text: String,
}

impl File {
    fn is_in(&self, layers: &[&str]) -> bool {
        layers.iter().any(|layer| {
            let rest = self.path.strip_prefix(layer).unwrap_or_default();
            rest == ".rs" || rest.starts_with('/')
        })
    }
}

fn sources() -> Vec<File> {
    fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, into);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                into.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let file = |path: &PathBuf| File {
        path: path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"),
        text: fs::read_to_string(path).unwrap(),
    };
    paths.iter().map(file).collect()
}

/// A word or a sign of the code.
#[derive(Debug, PartialEq)]
struct Piece<'t> {
    text: &'t str,
    line: usize,
}

/// Words and signs of a source without its comments and its string and character literals. `::` is one sign.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let rest = &text[at..];
        if rest.starts_with("//") {
            at = until(at, "\n");
        } else if rest.starts_with("/*") {
            let mut depth = 0;
            while at < bytes.len() {
                match &bytes[at..(at + 2).min(bytes.len())] {
                    b"/*" => depth += 1,
                    b"*/" => depth -= 1,
                    _ => {
                        at += 1;
                        continue;
                    }
                }
                at += 2;
                if depth == 0 {
                    break;
                }
            }
        } else if let Some(hashes) = raw_string(rest) {
            let open = at + rest.find('"').unwrap() + 1;
            at = until(open, &format!("\"{}", "#".repeat(hashes)));
        } else if bytes[at] == b'"' {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at += 1;
        } else if bytes[at] == b'\'' {
            at += character(rest);
        } else if is_word(bytes[at]) {
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            let line = text[..start].matches('\n').count() + 1;
            pieces.push(Piece { text: &text[start..at], line });
        } else {
            at += if rest.starts_with("::") { 2 } else { 1 };
            if !bytes[start].is_ascii_whitespace() {
                let line = text[..start].matches('\n').count() + 1;
                pieces.push(Piece { text: &text[start..at], line });
            }
        }
    }
    pieces
}

/// How many `#` a raw string that begins here has.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let quoted = rest.trim_start_matches('#');
    quoted.starts_with('"').then_some(rest.len() - quoted.len())
}

/// Bytes of a character literal; of a lifetime, only its tick.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 3),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// Lines that import something forbidden: its name stands in a `use` or in a path. Crates of one family
/// (`candle_core`, `ratatui_textarea`) are meant by the name of the family.
fn imports(text: &str, forbidden: &[&str]) -> Vec<String> {
    let pieces = pieces(text);
    let mut found = Vec::new();
    let mut in_use = false;
    for (at, piece) in pieces.iter().enumerate() {
        match piece.text {
            "use" | "extern" => in_use = true,
            ";" => in_use = false,
            _ => {}
        }
        let sign = |at: Option<usize>| at.and_then(|at| pieces.get(at)).is_some_and(|piece| piece.text == "::");
        let in_path = sign(at.checked_sub(1)) || sign(Some(at + 1));
        let named = |name: &&&str| {
            let rest = piece.text.strip_prefix(**name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        if in_use || in_path {
            let names = forbidden.iter().filter(named);
            found.extend(names.map(|name| format!("line {}: imports from {name}", piece.line)));
        }
    }
    found
}

fn unsafe_code(text: &str) -> Vec<String> {
    let found = pieces(text).into_iter().filter(|piece| piece.text == "unsafe");
    found.map(|piece| format!("line {}: unsafe code", piece.line)).collect()
}

fn wrong_beginning(text: &str) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let says = first.strip_prefix("//! ").is_some_and(|words| !words.trim().is_empty());
    if says { Vec::new() } else { vec![format!("begins with '{first}', not with '//! ' and what it knows")] }
}

fn too_long(text: &str) -> Vec<String> {
    let lines = text.lines().count();
    if lines > LONGEST { vec![format!("{lines} lines, {LONGEST} are the most")] } else { Vec::new() }
}

/// What a rule finds in the files that it is about; fails with all of it.
fn hold(files: impl Iterator<Item = File>, rule: impl Fn(&str) -> Vec<String>) {
    let mut read = 0;
    let mut wrong = Vec::new();
    for file in files {
        read += 1;
        wrong.extend(rule(&file.text).into_iter().map(|what| format!("src/{}: {what}", file.path)));
    }
    assert!(read > 0, "no file was read");
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_pure_layers_import_no_screen_no_engine_and_no_model() {
    hold(sources().into_iter().filter(|file| file.is_in(&PURE)), |text| imports(text, &NOT_IN_PURE));
}

#[test]
fn nothing_below_the_screen_imports_it() {
    hold(sources().into_iter().filter(|file| file.is_in(&BELOW_SCREEN)), |text| imports(text, &NOT_BELOW_SCREEN));
}

#[test]
fn unsafe_code_stands_in_kernels_only() {
    hold(sources().into_iter().filter(|file| !file.path.starts_with(KERNELS)), unsafe_code);
}

#[test]
fn every_file_begins_with_what_it_knows() {
    hold(sources().into_iter(), wrong_beginning);
}

#[test]
fn no_file_is_too_long_but_tables() {
    hold(sources().into_iter().filter(|file| !TABLES.contains(&file.path.as_str())), too_long);
}

#[test]
fn every_layer_is_there() {
    let files = sources();
    for layer in PURE.iter().chain(&BELOW_SCREEN).chain(&TABLES) {
        let layer = layer.trim_end_matches(".rs");
        assert!(files.iter().any(|file| file.is_in(&[layer])), "no file of '{layer}': was it renamed?");
    }
}

// ---- the rules can fail ----

#[test]
fn forbidden_imports_are_seen_in_every_spelling() {
    let rows = [
        ("use crate::ui::app::Model;", "line 1: imports from ui"),
        ("use crate::{fuse,\n  engine as e};", "line 2: imports from engine"),
        ("fn f() {\n let x = super::engine::Models::none();\n}", "line 2: imports from engine"),
        ("use ratatui::Frame;", "line 1: imports from ratatui"),
        ("fn f(t: candle_core::Tensor) {}", "line 1: imports from candle"),
        ("use {std::fmt, candle_nn as nn};", "line 1: imports from candle"),
        ("/* a */ /* b /* c */ */ use memsift::ui;", "line 1: imports from ui"),
        ("const A: char = '\\''; use crate::ui;", "line 1: imports from ui"),
        ("const A: &str = r#\"\"\"#; use crate::ui;", "line 1: imports from ui"),
        ("fn f<'a>(x: &'a str) -> char { '\"' } use crate::ui;", "line 1: imports from ui"),
        ("extern crate ratatui;", "line 1: imports from ratatui"),
    ];
    for (text, want) in rows {
        assert_eq!(imports(text, &NOT_IN_PURE), [want], "{text}");
    }
}

#[test]
fn words_that_import_nothing_are_left_alone() {
    let rows = [
        "// use crate::ui;\nuse crate::fuse;",
        "//! Knows nothing of ratatui::Frame.",
        "/* use crate::engine; */ fn f() {}",
        "const A: &str = \"use crate::ui; \\\" use ratatui::x\";",
        "const A: &str = r\"ratatui::x\"; const B: &[u8] = br#\"candle::x\"#;",
        "fn f(engine: u8, ui: u8) -> u8 { engine + ui }",
        "use crate::uids; use crate::engineering; use candles::Wax;",
    ];
    for text in rows {
        assert_eq!(imports(text, &NOT_IN_PURE), [""; 0], "{text}");
    }
}

#[test]
fn unsafe_code_beginnings_and_lengths_are_seen() {
    assert_eq!(unsafe_code("fn f() {\n    unsafe { g() }\n}"), ["line 2: unsafe code"]);
    assert!(unsafe_code("#![deny(unsafe_code)] // unsafe\nconst A: &str = \"unsafe\";").is_empty());
    assert_eq!(wrong_beginning("use std::fmt;\n//! Late.").len(), 1);
    assert_eq!(wrong_beginning("//!\n//! Second line.").len(), 1);
    assert_eq!(wrong_beginning("").len(), 1);
    assert!(wrong_beginning("//! Knows numbers.\n").is_empty());
    assert_eq!(too_long(&"x\n".repeat(LONGEST + 1)), ["501 lines, 500 are the most"]);
    assert!(too_long(&"x\n".repeat(LONGEST)).is_empty());
}

#[test]
fn a_layer_is_a_file_or_a_folder_and_no_prefix() {
    let file = |path: &str| File { path: path.to_owned(), text: String::new() };
    assert!(
        file("trace/mod.rs").is_in(&PURE) && file("fuse.rs").is_in(&PURE) && file("engine/job.rs").is_in(&["engine"])
    );
    assert!(!file("tracer.rs").is_in(&PURE) && !file("passage.rs").is_in(&PURE) && !file("rank/trace.rs").is_in(&PURE));
}
