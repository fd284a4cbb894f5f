//! `memsift diff`: what changed between two traces. Exit code 1 when a gold passage changed its fate, so that it can
//! guard a setting in a continuous build.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use super::replay::read;
use super::{BadInput, Changed, output};
use crate::trace::file::{PassagePart, TraceFile};

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The trace before.
    before: PathBuf,
    /// The trace after.
    after: PathBuf,
    /// Print every passage whose fate changed, not only gold.
    #[arg(long)]
    all: bool,
}

/// Compare and print.
pub fn run(args: &DiffArgs) -> anyhow::Result<()> {
    let (before, _) = read(&args.before)?;
    let (after, _) = read(&args.after)?;
    if before.question.text != after.question.text || before.header.conversation != after.header.conversation {
        return Err(BadInput(format!(
            "the traces are of different questions ('{}' on '{}', and '{}' on '{}'): compare two of the same",
            before.question.text, before.header.conversation, after.question.text, after.header.conversation
        ))
        .into());
    }
    let (text, gold_changed) = compare(&before, &after, args.all);
    output::print(&text)?;
    if gold_changed > 0 {
        return Err(Changed(format!("{gold_changed} gold passages changed their fate")).into());
    }
    Ok(())
}

/// The differences as lines, and how many gold passages are among them.
fn compare(before: &TraceFile, after: &TraceFile, all: bool) -> (String, usize) {
    let mut text = format!("question  {}\n", before.question.text);
    let knobs = |file: &TraceFile| -> BTreeMap<String, String> {
        match serde_json::to_value(&file.settings) {
            Ok(serde_json::Value::Object(knobs)) => knobs.into_iter().map(|(k, v)| (k, v.to_string())).collect(),
            _ => BTreeMap::new(),
        }
    };
    let (old, new) = (knobs(before), knobs(after));
    for (name, value) in &new {
        match old.get(name) {
            Some(before) if before == value => {}
            before => {
                let _ = writeln!(text, "knob      {name}: {} -> {value}", before.map_or("-", String::as_str));
            }
        }
    }
    for (slot, old, new) in [("ce", &before.ce, &after.ce), ("colbert", &before.colbert, &after.colbert)] {
        let name =
            |part: &crate::trace::file::RankerPart| part.model.as_ref().map_or("none".to_owned(), |m| m.name.clone());
        if old.model != new.model {
            let _ = writeln!(text, "model     {slot}: {} -> {}", name(old), name(new));
        }
    }
    let _ = writeln!(
        text,
        "kept      {} -> {} passages, {} -> {} words, gold {} -> {} of {}",
        before.cut.kept,
        after.cut.kept,
        before.cut.used,
        after.cut.used,
        before.gold.kept,
        after.gold.kept,
        after.gold.total
    );
    let known: BTreeMap<&str, &PassagePart> = before.passages.iter().map(|part| (part.id.as_str(), part)).collect();
    let (mut gold, mut others) = (0, 0);
    for now in &after.passages {
        let Some(then) = known.get(now.id.as_str()) else { continue };
        if then.fate.kind() == now.fate.kind() {
            continue;
        }
        let is_gold = now.gold || then.gold;
        gold += usize::from(is_gold);
        others += usize::from(!is_gold);
        if is_gold || all {
            let star = if is_gold { '*' } else { ' ' };
            let (from, to) = (then.fate.kind().name(), now.fate.kind().name());
            let _ = writeln!(text, "{star} {:12} {from} -> {to}", now.id);
        }
    }
    let missing = before.passages.len().abs_diff(after.passages.len());
    if missing > 0 {
        let _ = writeln!(text, "note      the histories differ by {missing} passages");
    }
    let _ = writeln!(text, "changed   {gold} gold passages, {others} others");
    (text, gold)
}
