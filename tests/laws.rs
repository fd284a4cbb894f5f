//! The laws of the trace, on generated histories, scores and settings: one fate a passage, an exact budget, a total order,
//! files that come back as they were written, and sentences for everything.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use memsift::explain::fate::{cut_line, path, sentence};
use memsift::history::{Conversation, Session, Turn};
use memsift::moment::Moment;
use memsift::nlp::{Analysis, Entity, Token};
use memsift::parse::{parse, parse_plain};
use memsift::passage::{PassageSet, Shape, count_words, fold};
use memsift::retrieve::{Everything, NoReader, Reader, retrieve};
use memsift::scored::{Model, Ranker, RankerState, Score, Scored, SentenceVectors, Timings};
use memsift::settings::{Header, KNOBS, KnobKind, Overflow, Settings, Truncation};
use memsift::trace::Trace;
use memsift::trace::file::{TraceFile, TraceHeader};
use memsift::truncate::{CutRule, Fate, FateKind};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

// ---- what is generated ----

/// One question about one history, with everything that the slow stages would have said about it.
#[derive(Debug, Clone)]
struct Case {
    conversation: Conversation,
    question: String,
    /// Read by a toy tagger, so that names are found and a second hop runs.
    tagged: bool,
    gold: Vec<usize>,
    /// Under these it was parsed and retrieved.
    asked: Settings,
    /// Under these it is fused and cut.
    settings: Settings,
    ce: Opinion,
    colbert: Opinion,
    dense: Opinion,
    /// Draws sentence vectors.
    sentences: Option<u32>,
}

/// What a ranker says of at most `MOST` passages.
#[derive(Debug, Clone)]
struct Opinion {
    state: RankerState,
    scores: Vec<Option<f32>>,
}

const MOST: usize = 40;
const SPEAKERS: [&str; 4] = ["Ann", "Bo Lee", "Çelik", "İpek"];
const WORDS: [&str; 24] = [
    "boat", "boats", "the", "harbour", "Rome", "Straße", "STRASSE", "and", "Otto", "Otto's", "42", "bread", "Bread,",
    "yes", "ferry?", "Lyon", "went", "😀", "ΟΔΟΣ", "οδος", "a", "it", "Dora-May", "x",
];
const CAPTIONS: [&str; 3] = ["a photo of a boat", "Rome at night", " "];
const TIMES: [&str; 4] = ["", "1:56 pm on 8 May, 2023", "2024-03-02T19:12:00+01:00", "some time later"];

fn conversation() -> impl Strategy<Value = Conversation> {
    let words = prop::collection::vec(select(&WORDS[..]), 0..9);
    let turn = (0..SPEAKERS.len(), words, prop::option::weighted(0.2, select(&CAPTIONS[..])), 0..TIMES.len(), 0..12_u8);
    prop::collection::vec(turn, 0..MOST).prop_map(|drawn| {
        let mut built = Conversation { id: "talk".to_owned(), ..Conversation::default() };
        built.speakers = SPEAKERS.iter().map(|name| (*name).into()).collect();
        for (at, (speaker, words, caption, time, fresh)) in drawn.into_iter().enumerate() {
            let begun = match fresh {
                // A session without turns before this one, as databases made elsewhere may have it.
                0 => 2,
                1 | 2 => 1,
                _ => usize::from(at == 0),
            };
            for _ in 0..begun {
                let number = built.sessions.len() as u32 + 1;
                let session = Session { id: format!("s{number}"), number, time: Moment::Unknown, turns: at..at };
                built.sessions.push(session);
            }
            let session = built.sessions.len() - 1;
            let known = built.sessions.last_mut().unwrap();
            known.turns.end = at + 1;
            built.turns.push(Turn {
                id: format!("t{at}"),
                session,
                number: (at - known.turns.start) as u32 + 1,
                speaker,
                text: words.join(" "),
                caption: caption.map(str::to_owned),
                time: Moment::read(TIMES[time]),
            });
        }
        built
    })
}

/// A value for any knob; `bend` draws numbers towards their smallest, where short histories can tell them apart.
fn settings() -> impl Strategy<Value = Settings> {
    let share = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 6 => 0.0..1.0_f64];
    let draw = (prop::bool::weighted(0.3), share, select(&[1, 4, 14][..]));
    let small = prop::option::weighted(0.7, (0..260_u32, 1..30_u32, 0..20_u32));
    let edit = (select(&WORDS[..]), 0..4_u8, 0.0..5.0_f64);
    let edits = prop_oneof![3 => Just(Vec::new()).boxed(), 1 => prop::collection::vec(edit, 1..4).boxed()];
    (prop::collection::vec(draw, KNOBS.len()), small, edits).prop_map(|(draws, small, edits)| {
        let mut settings = Settings::default();
        for (knob, (turned, share, bend)) in KNOBS.iter().zip(draws) {
            if !turned {
                continue;
            }
            match knob.kind {
                KnobKind::Number { min, max, .. } => {
                    let number: f64 = min + (max - min) * share.powi(bend);
                    if knob.set_from(&mut settings, &number.to_string()).is_err() {
                        knob.set_from(&mut settings, &number.round().to_string()).unwrap();
                    }
                }
                KnobKind::Choice(names) => {
                    let at = (share * names.len() as f64) as usize;
                    knob.set_from(&mut settings, names[at.min(names.len() - 1)]).unwrap();
                }
                KnobKind::Flag => knob.set_from(&mut settings, if share < 0.5 { "on" } else { "off" }).unwrap(),
            }
        }
        if let Some((budget, top_n, cap)) = small {
            (settings.budget, settings.top_n, settings.candidate_cap) = (budget, top_n, cap);
        }
        for (word, what, weight) in edits {
            match what {
                0 => drop(settings.terms.muted.insert(fold(word))),
                1 => drop(settings.terms.weights.insert(fold(word), weight)),
                _ => drop(settings.terms.added.insert(fold(word), weight)),
            }
        }
        settings
    })
}

fn opinion(low: f32, high: f32) -> impl Strategy<Value = Opinion> {
    let states = vec![
        (4, RankerState::Done),
        (2, RankerState::Running),
        (2, RankerState::Stopped),
        (1, RankerState::Absent("no model: run 'memsift models pull'".to_owned())),
        (1, RankerState::Failed("the weights are damaged".to_owned())),
    ];
    let states = prop::strategy::Union::new_weighted(states.into_iter().map(|(w, s)| (w, Just(s))).collect());
    // Few different values, so that ties are common.
    let score = prop_oneof![select(vec![low, (low + high) / 2.0, high]), low..high];
    let scores = prop::collection::vec((prop::bool::weighted(0.7), score), MOST);
    (states, prop::bool::weighted(0.15), scores).prop_map(|(state, silent, scores)| {
        let keeps = |scored: bool| match state {
            RankerState::Done => true,
            RankerState::Absent(_) => false,
            _ => scored && !silent,
        };
        let scores = scores.into_iter().map(|(scored, value)| keeps(scored).then_some(value)).collect();
        Opinion { state, scores }
    })
}

fn case() -> impl Strategy<Value = Case> {
    let question = prop::collection::vec(select(&WORDS[..]), 0..5).prop_map(|words| words.join(" "));
    let sentences = prop::option::of(any::<u32>());
    let rankers = (opinion(0.0, 1.0), opinion(-2.0, 30.0), opinion(-1.0, 1.0), sentences);
    let gold = prop::collection::btree_set(0..MOST, 0..4);
    (conversation(), question, any::<bool>(), gold, settings(), settings(), any::<bool>(), rankers).prop_map(
        |(conversation, question, tagged, gold, asked, turned, same, (ce, colbert, dense, sentences))| {
            let gold = gold.into_iter().filter(|turn| *turn < conversation.turns.len()).collect();
            let settings = if same { asked.clone() } else { turned };
            Case { conversation, question, tagged, gold, asked, settings, ce, colbert, dense, sentences }
        },
    )
}

/// Words with capitals are names of people, numbers are numbers, "went" is a verb, and all other words are nouns.
struct Toy;

impl Reader for Toy {
    fn read(&self, text: &str) -> Option<Arc<Analysis>> {
        Some(Arc::new(analyse(text)))
    }
}

fn analyse(text: &str) -> Analysis {
    let mut analysis = Analysis::default();
    let mut from = 0;
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let start = from;
        from += word.len();
        let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let pos = match word.chars().next() {
            None => continue,
            Some(c) if c.is_uppercase() => "PROPN",
            Some(c) if c.is_numeric() => "NUM",
            Some(_) if word == "went" => "VERB",
            Some(_) => "NOUN",
        };
        let at = analysis.tokens.len();
        let named = pos == "PROPN";
        analysis.tokens.push(Token {
            start,
            end: start + word.len(),
            text: word.to_owned(),
            whitespace: true,
            norm: word.to_lowercase(),
            shape: "".into(),
            tag: "",
            pos,
            morph: "",
            lemma: word.to_lowercase().trim_end_matches('s').to_owned(),
            dep: "",
            head: at,
            sent_start: at == 0,
            entity: named.then_some(analysis.entities.len() as u32),
            ent_iob: if named { 3 } else { 2 },
        });
        if named {
            let (end, text) = (start + word.len(), word.to_owned());
            analysis.entities.push(Entity { start, end, tokens: at..at + 1, label: "PERSON", text });
        }
    }
    analysis
}

fn ranker(opinion: &Opinion, name: &str, passages: usize, candidates: &[u32]) -> Arc<Ranker> {
    if let RankerState::Absent(reason) = &opinion.state {
        return Arc::new(Ranker::absent(reason.clone()));
    }
    let model = Model { name: name.to_owned(), hash: "00ff".to_owned() };
    let score = |(at, value): (usize, f32)| Score {
        value,
        logit: (name == "ce").then_some(value * 7.3 - 2.1),
        tokens: at as u32 + 5,
        clipped: u32::from(at % 9 == 0) * 3,
        turn: None,
    };
    let scores: Vec<Option<Score>> =
        (0..passages).map(|at| opinion.scores.get(at).copied().flatten().map(|value| score((at, value)))).collect();
    Arc::new(Ranker::new(Some(model), opinion.state.clone(), scores, candidates))
}

fn scored(case: &Case) -> Arc<Scored> {
    let set = PassageSet::new(Arc::new(case.conversation.clone()), Shape::of(&case.asked));
    let (query, reader): (_, &dyn Reader) = if case.tagged {
        (parse(&case.question, &analyse(&case.question), &case.asked), &Toy)
    } else {
        (parse_plain(&case.question, &case.asked), &NoReader)
    };
    let retrieval = retrieve(&set, &query, reader, &case.asked);
    // The cross-encoder reads candidates only, the others read every passage.
    let mut ce = case.ce.clone();
    for (at, score) in ce.scores.iter_mut().enumerate() {
        *score = score.filter(|_| retrieval.candidates.contains(&(at as u32)));
    }
    let vectors = |seed: u32| {
        let part = |at: u32| (seed ^ at.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b) as f32 / u32::MAX as f32;
        Arc::new(SentenceVectors { dim: 3, data: (1..=3 * MOST as u32).map(|at| 2.0 * part(at) - 1.0).collect() })
    };
    Arc::new(Scored {
        bm25: Arc::new(set.bm25().scores(&case.question)),
        ce: ranker(&ce, "ce", set.len(), &retrieval.candidates),
        colbert: ranker(&case.colbert, "colbert", set.len(), &retrieval.candidates),
        dense: ranker(&case.dense, "dense", set.len(), &retrieval.candidates),
        gold: Arc::new(set.of_turns(&case.gold)),
        query: Arc::new(query),
        settings: Arc::new(case.asked.clone()),
        retrieval: Arc::new(retrieval),
        sentences: case.sentences.map(vectors),
        timings: Timings { parse_ms: 0.25, ..Timings::default() },
        passages: Arc::new(set),
    })
}

fn trace(case: &Case) -> Trace {
    Trace::new(scored(case), case.settings.clone())
}

// ---- the laws ----

fn laws(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Whether it is there at all: candidates have a place in the walk and a fate of the cut, all others one of retrieval.
fn fates_agree_with_places(trace: &Trace) -> Result<(), TestCaseError> {
    let retrieval = &trace.scored.retrieval;
    let passages = trace.scored.passages.len();
    prop_assert_eq!(trace.fates.len(), passages);
    prop_assert_eq!(FateKind::ALL.iter().map(|kind| trace.count(*kind)).sum::<usize>(), passages);
    let candidates: BTreeSet<u32> = retrieval.candidates.iter().copied().collect();
    let walked: Vec<u32> = trace.cut.rows.iter().map(|row| row.passage).collect();
    prop_assert_eq!(walked.len(), candidates.len());
    prop_assert_eq!(walked.iter().copied().collect::<BTreeSet<u32>>(), candidates.clone());
    for at in 0..passages as u32 {
        let place = walked.iter().position(|passage| *passage == at).map_or(0, |place| place as u32 + 1);
        prop_assert_eq!(trace.place(at), place);
        let match_place = retrieval.match_place[at as usize];
        prop_assert_eq!(match_place > 0, retrieval.found_in[at as usize] > 0);
        match trace.fate(at) {
            Fate::Unmatched => prop_assert!(match_place == 0 && place == 0),
            Fate::Capped { hop, place: beyond, cap } => {
                prop_assert!(place == 0 && *hop == retrieval.found_in[at as usize] && *cap > 0);
                prop_assert_eq!((*beyond, *cap), (match_place, trace.scored.settings.candidate_cap));
                prop_assert!(beyond > cap);
            }
            _ => prop_assert!(place > 0, "passage {} is no candidate and is {:?}", at, trace.fate(at)),
        }
    }
    Ok(())
}

/// Every number in a fate of the cut is the number that decided.
fn fates_name_what_decided(trace: &Trace) -> Result<(), TestCaseError> {
    let settings = &trace.settings;
    let set = &trace.scored.passages;
    let bare = |at: u32| fold(&set.passages[at as usize].text.split_whitespace().collect::<Vec<_>>().join(" "));
    for (at, row) in trace.cut.rows.iter().enumerate() {
        match trace.fate(row.passage) {
            Fate::BeyondTopN { fused_rank, top_n } => {
                prop_assert!(*fused_rank as usize == at + 1 && fused_rank > top_n);
                prop_assert!(settings.truncation != Truncation::Fixed);
            }
            Fate::BelowAlpha { score, best, alpha } => {
                prop_assert!(settings.truncation == Truncation::Adaptive && *alpha == settings.alpha);
                prop_assert!(score < &(alpha * best) && score <= best);
                prop_assert_eq!(trace.cut.threshold.unwrap().best, *best);
            }
            Fate::Unscored { reason } => {
                prop_assert!(!reason.is_empty() && trace.scored.ce.score(row.passage).is_none());
            }
            Fate::Duplicate { of } => {
                prop_assert!(settings.dedup && trace.fate(*of).is_kept());
                prop_assert!(bare(*of) == bare(row.passage) && trace.place(*of) as usize <= at);
            }
            Fate::OverBudget { words_before, words, budget } => {
                prop_assert_eq!((*words, *budget), (row.words, settings.budget));
                prop_assert!(words_before.saturating_add(*words) > *budget);
            }
            _ => {}
        }
    }
    if settings.dedup {
        let mut texts = HashSet::new();
        prop_assert!(trace.kept().all(|passage| texts.insert(bare(passage))), "the same words were kept twice");
    }
    Ok(())
}

/// The context: numbered without gaps, counted as it is sent, within the budget.
fn the_budget_is_kept(trace: &Trace) -> Result<(), TestCaseError> {
    let (cut, settings, set) = (&trace.cut, &trace.settings, &trace.scored.passages);
    let (mut used, mut last) = (0, 0);
    let mut sessions = HashSet::new();
    let kept: Vec<u32> = trace.kept().collect();
    for (at, passage) in kept.iter().enumerate() {
        let Fate::Kept { position, words_before, words } = *trace.fate(*passage) else { panic!() };
        prop_assert_eq!((position as usize, words_before), (at + 1, used));
        let found = &set.passages[*passage as usize];
        prop_assert_eq!(found.words + found.header_words, count_words(&set.rendered(*passage)));
        let header = match settings.header {
            Header::Counted => found.header_words,
            Header::Free => 0,
            Header::PerSession if sessions.contains(&found.session) => 0,
            Header::PerSession => found.header_words,
        };
        sessions.insert(found.session);
        prop_assert_eq!(words, found.words + header);
        used += words;
        last = words;
    }
    prop_assert_eq!(kept.len(), cut.kept as usize);
    prop_assert_eq!(kept.len(), trace.count(FateKind::Kept));
    prop_assert_eq!((used, settings.budget.saturating_sub(used)), (cut.used, cut.left));
    let before_last = used - last;
    let within = if settings.overflow == Overflow::Keep { before_last } else { used };
    prop_assert!(within <= settings.budget, "{} words of {}", used, settings.budget);
    let line = cut.rows.iter().rposition(|row| trace.fate(row.passage).is_kept()).map_or(0, |at| at as u32 + 1);
    prop_assert_eq!(cut.line, line);
    let dropped = |row: &&memsift::truncate::CutRow| trace.fate(row.passage).kind() == FateKind::OverBudget;
    prop_assert_eq!(cut.next.as_ref(), cut.rows.iter().find(dropped));
    prop_assert!(cut.rows.is_sorted_by_key(|row| row.sum));
    let context = trace.context();
    prop_assert_eq!(context.is_empty(), kept.iter().all(|at| set.rendered(*at).is_empty()));
    Ok(())
}

fn the_fused_order_is_total(trace: &Trace) -> Result<(), TestCaseError> {
    let rows = &trace.fused.rows;
    let mut passages: Vec<u32> = rows.iter().map(|row| row.passage).collect();
    for pair in rows.windows(2) {
        let order = pair[1].score.total_cmp(&pair[0].score).then(pair[0].passage.cmp(&pair[1].passage));
        prop_assert_eq!(order, std::cmp::Ordering::Less, "{:?}", pair);
    }
    for row in rows {
        prop_assert!(row.score.is_finite() && row.score == row.first_share + row.second_share);
        prop_assert_eq!(trace.fused_row(row.passage), Some(row));
    }
    passages.sort_unstable();
    prop_assert_eq!(&passages, &trace.scored.retrieval.candidates);
    // Only MMR walks another order than the fused one.
    if trace.settings.truncation != Truncation::Mmr {
        let walked = trace.cut.rows.iter().map(|row| row.passage);
        prop_assert!(walked.eq(rows.iter().map(|row| row.passage)));
    }
    Ok(())
}

/// The vectors that MMR compares are not part of a trace file, so its order cannot be walked again from one.
fn can_be_replayed(trace: &Trace) -> bool {
    trace.settings.truncation != Truncation::Mmr || trace.scored.sentences.is_none()
}

proptest! {
    #![proptest_config(laws(512))]

    #[test]
    fn every_passage_has_one_fate_with_the_numbers_that_decided(case in case()) {
        let trace = trace(&case);
        fates_agree_with_places(&trace)?;
        fates_name_what_decided(&trace)?;
    }

    #[test]
    fn the_same_words_are_kept_once_where_copies_are_dropped(case in case(), alpha in 0.0..1.0_f64) {
        let mut case = case;
        for turn in &mut case.conversation.turns {
            (turn.speaker, turn.caption) = (0, None);
            turn.text = turn.text.split(' ').next().unwrap_or_default().to_owned();
        }
        case.asked.rank_everything = true;
        (case.settings.dedup, case.settings.alpha) = (true, alpha);
        fates_name_what_decided(&trace(&case))?;
    }

    #[test]
    fn the_context_is_numbered_and_counted_as_it_is_sent(case in case()) {
        the_budget_is_kept(&trace(&case))?;
    }

    #[test]
    fn the_fused_order_is_a_total_order_of_the_candidates(case in case()) {
        the_fused_order_is_total(&trace(&case))?;
    }

    #[test]
    fn a_larger_budget_never_drops_what_a_smaller_one_kept(case in case(), more in 1..200_u32) {
        let scored = scored(&case);
        let less = Settings { overflow: Overflow::Stop, budget: case.settings.budget.min(300), ..case.settings };
        let more = Settings { budget: less.budget + more, ..less.clone() };
        let (less, more) = (Trace::new(Arc::clone(&scored), less), Trace::new(scored, more));
        for passage in less.kept() {
            prop_assert!(more.fate(passage).is_kept(), "passage {}: {:?}", passage, more.fate(passage));
        }
    }

    #[test]
    fn a_file_comes_back_as_it_was_written(case in case()) {
        let trace = trace(&case);
        let header = TraceHeader { database: "f00d".to_owned(), ..TraceHeader::default() };
        let file = TraceFile::new(&trace, header.clone());
        let json = file.to_json().unwrap();
        prop_assert_eq!(&TraceFile::from_json(&json).unwrap(), &file);
        let again = TraceFile::new(&Trace::new(scored(&case), case.settings.clone()), header);
        prop_assert_eq!(again.to_json().unwrap(), json);
    }

    #[test]
    fn a_trace_rebuilt_from_its_file_is_the_same_trace(case in case()) {
        let trace = trace(&case);
        let file = TraceFile::new(&trace, TraceHeader::default());
        let read = TraceFile::from_json(&file.to_json().unwrap()).unwrap();
        let rebuilt = read.to_trace().unwrap();
        prop_assert_eq!(&rebuilt.fused, &trace.fused);
        if can_be_replayed(&trace) {
            prop_assert_eq!(&rebuilt.fates, &trace.fates);
            prop_assert_eq!(&rebuilt.cut, &trace.cut);
            prop_assert_eq!(TraceFile::new(&rebuilt, TraceHeader::default()), file);
        }
        // The knobs behind the rankers are live: any other setting cuts both alike.
        let turned = Settings { truncation: Truncation::Adaptive, budget: 90, ..case.asked };
        let (one, other) = (Trace::new(trace.scored, turned.clone()), Trace::new(rebuilt.scored, turned));
        prop_assert_eq!(one.fates, other.fates);
        prop_assert_eq!(one.cut, other.cut);
    }

    #[test]
    fn every_fate_has_its_sentences(case in case()) {
        let trace = trace(&case);
        prop_assert!(!cut_line(&trace).is_empty());
        // One passage more than there are: a screen may ask for a row that has just gone.
        for passage in 0..=trace.scored.passages.len() as u32 {
            let text = sentence(&trace, passage);
            prop_assert!(text.starts_with(trace.fate(passage).kind().name()), "{}", text);
            let lines = path(&trace, passage);
            prop_assert!(!lines.is_empty());
            for (stage, line) in lines {
                prop_assert!(!stage.is_empty() && !line.trim().is_empty(), "{}: '{}'", stage, line);
                prop_assert!(!line.contains('\n') && !line.contains("NaN") && !line.contains("inf"), "{}", line);
            }
        }
    }
}

/// Laws about things that never occur say nothing: the generated cases must meet every fate, rule and assumption.
#[test]
fn the_generated_cases_meet_every_fate_and_rule() {
    let mut runner = TestRunner::deterministic();
    let strategy = case();
    let mut fates = BTreeSet::new();
    let mut rules = HashSet::new();
    let mut seen = [0_usize; 7];
    for _ in 0..400 {
        let trace = trace(&strategy.new_tree(&mut runner).unwrap().current());
        fates.extend(trace.fates.iter().map(Fate::kind));
        rules.insert(format!("{:?}", trace.cut.rule));
        let retrieval = &trace.scored.retrieval;
        let facts = [
            retrieval.hops.iter().any(|hop| hop.number > 1 && !hop.found.is_empty()),
            retrieval.everything == Some(Everything::Asked),
            retrieval.everything == Some(Everything::NothingMatched),
            !trace.fused.assumptions.is_empty(),
            trace.agreement().is_some(),
            trace.settings.truncation == Truncation::Mmr && trace.scored.sentences.is_some(),
            trace.cut.rule == CutRule::Budget && trace.settings.overflow == Overflow::Stop && trace.cut.kept > 0,
        ];
        for (count, fact) in seen.iter_mut().zip(facts) {
            *count += usize::from(fact);
        }
    }
    assert_eq!(fates.len(), FateKind::ALL.len(), "{fates:?}");
    assert_eq!(rules.len(), 5, "{rules:?}");
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
}
