//! `memsift ask`: the whole pipeline for one question, without a screen.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;

use super::destination::{Destination, DestinationArgs};
use super::knobs::KnobArgs;
use super::rankers::RankerArgs;
use super::reading::ReadingArgs;
use super::{BadInput, load, output, pipeline};
use crate::engine::Listener;
use crate::explain::export::{Format, export};
use crate::explain::fate::{cut_line, number, sentence};
use crate::explain::lint::lints;
use crate::parse::{Origin, Parser};
use crate::scored::{Ranker, Scored};
use crate::settings::Settings;
use crate::store::Store;
use crate::store::clean::clean_line;
use crate::trace::Trace;
use crate::trace::file::{TraceFile, TraceHeader};
use crate::truncate::FateKind;

/// Arguments of `ask`.
#[derive(Debug, clap::Args)]
pub struct AskArgs {
    /// The question.
    question: String,
    /// A database, memsift's own or a chat program's.
    #[arg(long)]
    db: PathBuf,
    /// Conversation id; may be left out when the database has one conversation.
    #[arg(long)]
    conversation: Option<String>,
    /// Print the trace as JSON.
    #[arg(long, conflicts_with = "plain")]
    json: bool,
    /// Print the trace in a format: json (as --json), msgpack (the same as MessagePack), md (a report), csv (a row a
    /// passage), txt (the context as it is sent), run (the order, for TREC tools).
    #[arg(long, value_name = "FORMAT", value_parser = Format::ALL.map(|(name, _)| name),
        conflicts_with_all = ["json", "plain"])]
    format: Option<String>,
    /// Print the stages as plain lines (the default).
    #[arg(long)]
    plain: bool,
    /// With --json or --format msgpack: make every text unreadable; ids, times, lengths, ranks and fates stay.
    #[arg(long, conflicts_with = "plain")]
    redact: bool,
    /// Print every candidate, not only those around the cut.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    destination: DestinationArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    rankers: RankerArgs,
    #[command(flatten)]
    knobs: KnobArgs,
}

/// The longest question that is read, in characters.
pub const LONGEST_QUESTION: usize = 4000;

/// How much of a passage a plain line shows, in characters.
const LONGEST_LINE: usize = 600;

/// A question as typed, fit to be asked.
///
/// # Errors
/// A sentence when nothing is left or it is far too long.
pub fn question(text: &str) -> Result<String, BadInput> {
    let mut made_visible = 0;
    let text = clean_line(text, &mut made_visible).trim().to_owned();
    if text.is_empty() {
        return Err(BadInput("the question is empty: type at least one word".to_owned()));
    }
    let length = text.chars().count();
    if length > LONGEST_QUESTION {
        return Err(BadInput(format!(
            "the question has {length} characters and at most {LONGEST_QUESTION} are read: ask a shorter one"
        )));
    }
    Ok(text)
}

/// Ask and print.
pub fn run(args: &AskArgs) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    args.knobs.apply(&mut settings)?;
    let destination = args.destination.open()?;
    let format = format(args, &destination)?;
    let text = question(&args.question)?;
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    for notice in store.notices() {
        output::say(&format!("memsift: {notice}"));
    }
    let id = conversation_id(&store, args.conversation.as_deref())?;
    let conversation = Arc::new(load(&store, &id)?);
    let gold = conversation
        .questions
        .iter()
        .find(|known| known.text.trim() == text)
        .map(|known| known.gold.clone())
        .unwrap_or_default();
    let mut pipeline = pipeline(&rankers)?;
    let mut watcher = Watcher { bar: output::bar(false) };
    let scored = pipeline.ask(&conversation, &text, &gold, &settings, &mut watcher);
    watcher.bar.finish_and_clear();
    for notice in pipeline.notices() {
        output::say(&format!("memsift: {notice}"));
    }
    let trace = Trace::new(scored, settings);
    let Some(format) = format else { return destination.put(plain(&trace, args.all).as_bytes()) };
    let header = TraceHeader { database: store.fingerprint(), ..TraceHeader::default() };
    if args.redact {
        let file = TraceFile::new(&trace, header).redacted()?;
        return destination.put(&match format {
            Format::MessagePack => file.to_msgpack()?,
            _ => format!("{}\n", file.to_json()?).into_bytes(),
        });
    }
    destination.put(&export(&trace, header, format).context("the trace cannot be written")?)
}

/// The format that was asked for, by its name or by the end of the file's; `None` for plain lines.
fn format(args: &AskArgs, destination: &Destination) -> Result<Option<Format>, BadInput> {
    let ending = args.destination.ending();
    let named = args.format.as_deref().or(args.json.then_some("json")).or((!args.plain).then_some(ending.as_str()));
    let format = Format::ALL.into_iter().find(|(known, _)| named == Some(*known)).map(|(_, format)| format);
    if args.redact && !matches!(format, Some(Format::Json | Format::MessagePack)) {
        return Err(BadInput("only a whole trace can be redacted: add --json or --format msgpack".to_owned()));
    }
    if format == Some(Format::MessagePack) && destination.is_terminal() {
        return Err(BadInput(
            "MessagePack is not fit for a terminal: send it to a file with '--output trace.msgpack'".to_owned(),
        ));
    }
    Ok(format)
}

/// The conversation that was meant.
pub fn conversation_id(store: &Store, wanted: Option<&str>) -> anyhow::Result<String> {
    let known = store.summaries()?;
    let names = || {
        let names: Vec<String> = known.iter().take(12).map(|row| format!("'{}'", row.id)).collect();
        let more = if known.len() > names.len() { " …" } else { "" };
        format!("{}{more}", names.join(", "))
    };
    match (wanted, known.as_slice()) {
        (None, [only]) => Ok(only.id.clone()),
        (None, _) => Err(BadInput(format!(
            "'{}' has {} conversations: choose one with --conversation ({})",
            store.path().display(),
            known.len(),
            names()
        ))
        .into()),
        (Some(id), _) if known.iter().any(|row| row.id == id) => Ok(id.to_owned()),
        (Some(id), _) => Err(BadInput(format!(
            "there is no conversation '{id}' in '{}': choose one of {}",
            store.path().display(),
            names()
        ))
        .into()),
    }
}

struct Watcher {
    bar: indicatif::ProgressBar,
}

impl Listener for Watcher {
    fn scored(&mut self, _: Arc<Scored>) {}

    fn progress(&mut self, what: &'static str, done: usize, total: usize) {
        self.bar.set_message(what);
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// The stages as plain lines.
pub fn plain(trace: &Trace, all: bool) -> String {
    let mut text = String::new();
    let scored = &trace.scored;
    let set = &scored.passages;
    let _ = writeln!(text, "question  {}", scored.query.text);
    let _ = writeln!(
        text,
        "history   {}: {} sessions, {} turns",
        set.conversation.id,
        set.conversation.sessions.len(),
        set.conversation.turns.len()
    );
    if scored.query.parser == Parser::Plain {
        text.push_str("note      no tagger: capitalised words count as names (run 'memsift models pull')\n");
    }
    for hop in &scored.retrieval.hops {
        for tally in &hop.terms {
            let from = match &tally.term.origin {
                Origin::Passage { passage, label, .. } => {
                    format!("  {label} taught by {}", crate::explain::fate::id_of(trace, *passage))
                }
                Origin::Feedback { passages } => format!("  shared by {} of the best passages", passages.len()),
                _ => String::new(),
            };
            let muted = if tally.term.muted { "  muted" } else { "" };
            let _ = writeln!(
                text,
                "term      hop {} {:6} {:>4}  {} in {} passages{from}{muted}",
                hop.number,
                tally.term.class.name(),
                number(tally.term.weight),
                tally.term.text,
                tally.passages
            );
        }
        if let Some(end) = hop.end {
            let _ = writeln!(text, "hops      {} ({})", hop.number, end.words());
        }
    }
    if !scored.query.ignored.is_empty() {
        let words: Vec<&str> = scored.query.ignored.iter().map(|ignored| ignored.word.as_str()).collect();
        let _ = writeln!(text, "ignored   {}", words.join(" "));
    }
    if scored.retrieval.everything.is_some() {
        text.push_str("note      no term occurs in the history: every passage went to the rankers\n");
    }
    let _ = writeln!(
        text,
        "matched   {} of {} passages, {} candidates",
        scored.retrieval.matched(),
        set.len(),
        scored.retrieval.candidates.len()
    );
    for (slot, ranker) in [("ce", &scored.ce), ("colbert", &scored.colbert)] {
        let _ = writeln!(text, "{slot:9} {}", ranker_words(ranker));
    }
    if let Some(agreement) = trace.agreement() {
        let _ = writeln!(
            text,
            "agreement Spearman {:.3}, Kendall {:.3}, {} of the first {} in both",
            agreement.spearman, agreement.kendall, agreement.shared, agreement.top
        );
    }
    for assumption in &trace.fused.assumptions {
        let _ = writeln!(text, "note      {}", assumption.words());
    }
    let gold = trace.gold();
    if gold.total > 0 {
        let _ = writeln!(text, "gold      {} known, {} found, {} kept", gold.total, gold.candidates, gold.kept);
    }
    for lint in lints(trace) {
        let _ = writeln!(text, "lint      {}: {}", lint.kind.name(), lint.text);
    }
    let fates: Vec<String> = FateKind::ALL
        .iter()
        .map(|kind| (kind, trace.count(*kind)))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.name()))
        .collect();
    let _ = writeln!(text, "fates     {}", fates.join(", "));
    text.push_str("\n     #   ce   cb  words    sum  passage\n");
    let line = trace.cut.line as usize;
    for (at, row) in trace.cut.rows.iter().enumerate() {
        if at == line {
            let _ = writeln!(text, "---- {} ----", cut_line(trace));
        }
        if !all && at >= line + 5 && !scored.is_gold(row.passage) {
            continue;
        }
        let star = if scored.is_gold(row.passage) { '*' } else { ' ' };
        let rank = |rank: u32| if rank == 0 { "-".to_owned() } else { rank.to_string() };
        let rendered = one_line(&set.rendered(row.passage));
        let fate = trace.fate(row.passage);
        let why = if fate.is_kept() { String::new() } else { format!("  [{}]", fate.kind().name()) };
        let _ = writeln!(
            text,
            "{star} {:>4} {:>4} {:>4} {:>6} {:>6}  {} {rendered}{why}",
            at + 1,
            rank(scored.ce.rank(row.passage)),
            rank(scored.colbert.rank(row.passage)),
            row.words,
            row.sum,
            crate::explain::fate::id_of(trace, row.passage),
        );
    }
    if line == trace.cut.rows.len() {
        let _ = writeln!(text, "---- {} ----", cut_line(trace));
    }
    for passage in scored.gold.iter().copied().filter(|passage| !trace.fate(*passage).is_kept()) {
        let _ =
            writeln!(text, "lost      {}: {}", crate::explain::fate::id_of(trace, passage), sentence(trace, passage));
    }
    // A tab moves the cursor; names and terms may hold one too.
    text.replace('\t', " ")
}

/// A passage in one line of bearable length; the trace as JSON has all of it.
fn one_line(text: &str) -> String {
    match text.char_indices().nth(LONGEST_LINE) {
        None => text.replace('\n', " "),
        Some((end, _)) => {
            let rest = text[end..].chars().count();
            format!("{} … {rest} more characters", text[..end].replace('\n', " "))
        }
    }
}

fn ranker_words(ranker: &Ranker) -> String {
    match (&ranker.model, ranker.trouble()) {
        (Some(model), None) => format!("{}: {} passages scored", model.name, ranker.scored()),
        (Some(model), Some(trouble)) => format!("{}: {} passages scored; {trouble}", model.name, ranker.scored()),
        (None, trouble) => trouble.unwrap_or("no model").to_owned(),
    }
}
