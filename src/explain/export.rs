//! A trace for other programs and for readers: Markdown report, CSV table, TREC run. Knows those formats; computes nothing.

use std::fmt::Write;
use std::path::Path;

use crate::explain::advice;
use crate::explain::fate::{cut_line, id_of, number, sentence};
use crate::explain::lint::lints;
use crate::explain::whatif::WhatIfs;
use crate::scored::Ranker;
use crate::settings::{KNOBS, Settings};
use crate::trace::Trace;
use crate::trace::file::{TraceFile, TraceFileError, TraceHeader};

/// Rows of the order in a report, gold beyond them apart.
const ROWS: usize = 30;

/// How a trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The whole trace, to be opened again.
    Json,
    /// The same as MessagePack: smaller, and for programs only.
    MessagePack,
    /// A report for people.
    Markdown,
    /// One row a passage.
    Csv,
    /// The context alone, exactly as it would be sent.
    Context,
    /// The order as evaluation tools read it: question, `Q0`, passage, rank, score, name of the run.
    Trec,
}

impl Format {
    /// All of them, by the end of a file's name.
    pub const ALL: [(&str, Self); 6] = [
        ("json", Self::Json),
        ("msgpack", Self::MessagePack),
        ("md", Self::Markdown),
        ("csv", Self::Csv),
        ("txt", Self::Context),
        ("run", Self::Trec),
    ];

    /// The format that a file's name asks for; JSON when it asks for none that is known.
    pub fn of(path: &Path) -> Self {
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
        Self::ALL.into_iter().find(|(name, _)| *name == end).map_or(Self::Json, |(_, format)| format)
    }
}

/// A trace in a format: text with a line end at its end, or the bytes of MessagePack.
///
/// # Errors
/// As [`TraceFile::to_json`] and [`TraceFile::to_msgpack`].
pub fn export(trace: &Trace, header: TraceHeader, format: Format) -> Result<Vec<u8>, TraceFileError> {
    Ok(match format {
        Format::Json => format!("{}\n", TraceFile::new(trace, header).to_json()?).into_bytes(),
        Format::MessagePack => TraceFile::new(trace, header).to_msgpack()?,
        Format::Markdown => markdown(trace, &header).into_bytes(),
        Format::Csv => csv(trace).into_bytes(),
        Format::Context => format!("{}\n", trace.context()).into_bytes(),
        Format::Trec => trec(trace).into_bytes(),
    })
}

/// One row a passage, in conversation order, with what every stage made of it.
fn csv(trace: &Trace) -> String {
    let mut text = "id,session,date,words,gold,match_score,match_place,hop,bm25,ce_rank,ce,ce_logit,colbert_rank,\
                    colbert,fused_place,fused_score,fate,why,text\n"
        .to_owned();
    let scored = &trace.scored;
    let set = &scored.passages;
    for (at, passage) in (0..set.len() as u32).zip(&set.passages) {
        let rank = |ranker: &Ranker| match ranker.rank(at) {
            0 => String::new(),
            rank => rank.to_string(),
        };
        let value = |ranker: &Ranker| ranker.value(at).map(|value| value.to_string()).unwrap_or_default();
        let place = |place: u32| if place == 0 { String::new() } else { place.to_string() };
        let turn = set.conversation.turns.get(passage.turns.start);
        let fields = [
            passage.id.clone(),
            set.conversation.sessions.get(passage.session).map(|session| session.id.clone()).unwrap_or_default(),
            turn.map(|turn| turn.time.date_and_time()).unwrap_or_default(),
            passage.words.to_string(),
            u8::from(scored.is_gold(at)).to_string(),
            scored.match_score(at).to_string(),
            place(scored.retrieval.match_place.get(at as usize).copied().unwrap_or(0)),
            place(scored.retrieval.found_in.get(at as usize).copied().unwrap_or(0).into()),
            scored.bm25(at).to_string(),
            rank(&scored.ce),
            value(&scored.ce),
            scored.ce.score(at).and_then(|score| score.logit).map(|logit| logit.to_string()).unwrap_or_default(),
            rank(&scored.colbert),
            value(&scored.colbert),
            place(trace.place(at)),
            trace.fused_row(at).map(|row| row.score.to_string()).unwrap_or_default(),
            trace.fate(at).kind().name().to_owned(),
            sentence(trace, at),
            passage.text.clone(),
        ];
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        let _ = writeln!(text, "{}", fields.join(","));
    }
    text
}

/// A field of a CSV table, quoted where it must be.
pub fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The order that was cut, under the conversation's name.
fn trec(trace: &Trace) -> String {
    trec_run(trace, &trace.scored.passages.conversation.id, "memsift")
}

/// The order that was cut as lines of a TREC run: topic, `Q0`, passage, rank, score, name of the run. Where fused scores do
/// not fall from row to row, ranks counted from the end stand for them, because evaluation tools sort by score.
pub fn trec_run(trace: &Trace, topic: &str, run: &str) -> String {
    let topic = trec_word(topic);
    let rows = &trace.cut.rows;
    let score = |at: usize| rows.get(at).and_then(|row| trace.fused_row(row.passage)).map_or(0.0, |row| row.score);
    let falls = (1..rows.len()).all(|at| score(at) < score(at - 1));
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let score = if falls { score(at) } else { (rows.len() - at) as f64 };
        let id = trec_word(id_of(trace, row.passage));
        let _ = writeln!(text, "{topic} Q0 {id} {} {score} {run}", at + 1);
    }
    text
}

/// An identifier without white space, as TREC files need it.
pub fn trec_word(id: &str) -> String {
    id.split_whitespace().collect::<Vec<_>>().join("_")
}

/// A report: the question, how it went through the stages, what became of the gold, and the order around the cut.
fn markdown(trace: &Trace, header: &TraceHeader) -> String {
    let scored = &trace.scored;
    let set = &scored.passages;
    let mut text = format!("# {}\n\n", plain(&scored.query.text));
    let _ = writeln!(
        text,
        "History `{}`: {} sessions, {} turns, {} passages. memsift {}{}.\n",
        set.conversation.id.replace('`', "'"),
        set.conversation.sessions.len(),
        set.conversation.turns.len(),
        set.len(),
        env!("CARGO_PKG_VERSION"),
        header.made_at.as_ref().map(|when| format!(", {when}")).unwrap_or_default()
    );
    let _ = writeln!(text, "{}\n", cut_line(trace));
    text.push_str("| slot | model | scored |\n|---|---|---|\n");
    for (slot, ranker) in [("ce", &scored.ce), ("colbert", &scored.colbert), ("dense", &scored.dense)] {
        let name = ranker.model.as_ref().map_or("none", |model| model.name.as_str());
        let trouble = ranker.trouble().map(|trouble| format!("; {trouble}")).unwrap_or_default();
        let _ = writeln!(text, "| {slot} | {} | {}{} |", plain(name), ranker.scored(), plain(&trouble));
    }
    if let Some(agreement) = trace.agreement() {
        let _ = writeln!(
            text,
            "\nThe rankers agree: Spearman {:.3}, Kendall {:.3}, {} of the first {} in both.",
            agreement.spearman, agreement.kendall, agreement.shared, agreement.top
        );
    }
    let defaults = Settings::default();
    let turned: Vec<String> = KNOBS
        .iter()
        .filter(|knob| (knob.get)(&trace.settings) != (knob.get)(&defaults))
        .map(|knob| format!("`{}` {}", knob.name, (knob.get)(&trace.settings)))
        .collect();
    if !turned.is_empty() {
        let _ = writeln!(text, "\nKnobs not at their defaults: {}.", turned.join(", "));
    }
    text.push_str("\n## Terms\n\n| hop | term | class | weight | passages |\n|---|---|---|---|---|\n");
    for hop in &scored.retrieval.hops {
        for tally in &hop.terms {
            let term = &tally.term;
            let muted = if term.muted { ", muted" } else { "" };
            let _ = writeln!(
                text,
                "| {} | {} | {}{muted} | {} | {} |",
                hop.number,
                plain(&term.text),
                term.class.name(),
                number(term.weight),
                tally.passages
            );
        }
    }
    gold(trace, &mut text);
    let lints = lints(trace);
    if !lints.is_empty() {
        text.push_str("\n## Lints\n\n");
        for lint in lints {
            let _ = writeln!(text, "- {}: {}", lint.kind.name(), plain(&lint.text));
        }
    }
    order(trace, &mut text);
    text
}

fn gold(trace: &Trace, text: &mut String) {
    let counts = trace.gold();
    if counts.total == 0 {
        return;
    }
    let _ = writeln!(
        text,
        "\n## Gold\n\n{} known, {} matched, {} among the candidates, {} kept.\n",
        counts.total, counts.matched, counts.candidates, counts.kept
    );
    for passage in trace.scored.gold.iter().copied() {
        let _ = writeln!(text, "- `{}` {}", id_of(trace, passage).replace('`', "'"), plain(&sentence(trace, passage)));
        if trace.fate(passage).is_kept() {
            continue;
        }
        for line in advice::all_lines(&WhatIfs::of(trace, passage)) {
            let _ = writeln!(text, "  - {}", plain(&line));
        }
    }
}

fn order(trace: &Trace, text: &mut String) {
    let scored = &trace.scored;
    text.push_str(
        "\n## Order\n\n| # | ce | colbert | words | sum | fate | passage | text |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (at, row) in trace.cut.rows.iter().enumerate() {
        let is_gold = scored.is_gold(row.passage);
        if at >= ROWS && !is_gold {
            continue;
        }
        let rank = |ranker: &Ranker| match ranker.rank(row.passage) {
            0 => "-".to_owned(),
            rank => rank.to_string(),
        };
        let star = if is_gold { " ★" } else { "" };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {}{star} | {} |",
            at + 1,
            rank(&scored.ce),
            rank(&scored.colbert),
            row.words,
            row.sum,
            trace.fate(row.passage).kind().name(),
            plain(id_of(trace, row.passage)),
            plain(&scored.passages.rendered(row.passage))
        );
    }
    let left = trace.cut.rows.len().saturating_sub(ROWS);
    if left > 0 {
        let _ = writeln!(text, "\nOf {left} further candidates only gold is shown.");
    }
}

/// Text in one line in which nothing is markup.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
