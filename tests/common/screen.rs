//! A screen without a terminal, an engine or models: the real model, update and view on the sample conversation with
//! scores made by a formula. Knows nothing of what is asserted.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::sync::Arc;

use memsift::engine::{
    Ask, Contrasted, Event, Inspection, Job, MatrixReading, ModelState, ModelStatus, PairReading, TokenCount,
};
use memsift::eval::oracle::plan;
use memsift::eval::sweep::{Sweep, sweep};
use memsift::history::Conversation;
use memsift::parse::parse_plain;
use memsift::passage::{PassageSet, Shape};
use memsift::rank::{Matrix, PairPart, PairScore, PairTokens, TokenMatch, TokenPiece};
use memsift::retrieve::{NoReader, Reader, retrieve};
use memsift::scored::{Model as ModelName, Ranker, RankerState, Score, Scored, Timings};
use memsift::settings::{Pooler, Settings};
use memsift::store::Store;
use memsift::store::import::import_texts;
use memsift::trace::Trace;
use memsift::ui::{Effect, Glyphs, Input, Model, Start, Theme, update, view::view};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

/// The question that the screens show.
pub const QUESTION: &str = "What made Nell nearly give up on the boat, and what changed her mind?";

/// The sample conversation, through the real import and store.
pub fn conversation() -> Arc<Conversation> {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("sample.db");
    let texts = [
        ("nell-and-idris.jsonl", include_str!("../../sample-data/nell-and-idris.jsonl")),
        ("nell-and-idris.questions.jsonl", include_str!("../../sample-data/nell-and-idris.questions.jsonl")),
    ];
    import_texts(&texts, &db, &mut |_| {}).unwrap();
    let store = Store::open(&db).unwrap();
    Arc::new(store.load("nell-and-idris").unwrap())
}

/// What the engine would answer, with scores made by a formula instead of models.
pub fn scored(ask: &Ask, state: RankerState) -> Arc<Scored> {
    scored_with(ask, state, &NoReader)
}

/// The same with somebody who reads passages for the second hop.
pub fn scored_with(ask: &Ask, state: RankerState, reader: &dyn Reader) -> Arc<Scored> {
    let set = Arc::new(PassageSet::new(Arc::clone(&ask.conversation), Shape::of(&ask.settings)));
    let query = parse_plain(&ask.text, &ask.settings);
    let retrieval = retrieve(&set, &query, reader, &ask.settings);
    let half = if state == RankerState::Done { usize::MAX } else { retrieval.candidates.len() / 2 };
    let mut ce: Vec<Option<Score>> = vec![None; set.len()];
    for at in retrieval.candidates.iter().take(half) {
        let value = ((at * 37 + 11) % 101) as f32 / 101.0;
        let logit = Some((value / (1.0 - value)).ln().max(-9.0));
        ce[*at as usize] = Some(Score { value, logit, tokens: 40, clipped: 0, turn: None });
    }
    let maxsim = |at: usize| Score {
        value: ((at * 53 + 7) % 97) as f32 / 10.0,
        logit: None,
        tokens: 30,
        clipped: 0,
        // Where scores are pooled, the third turn speaks for a session.
        turn: (ask.settings.pooler != Pooler::Text).then(|| set.passages[at].turns.start as u32 + 2),
    };
    let colbert: Vec<Option<Score>> = (0..set.len()).map(|at| Some(maxsim(at))).collect();
    let name = |name: &str| Some(ModelName { name: name.to_owned(), hash: "0".repeat(64) });
    Arc::new(Scored {
        bm25: Arc::new(set.bm25().scores(&ask.text)),
        gold: Arc::new(set.of_turns(&ask.gold)),
        settings: Arc::new(ask.settings.clone()),
        ce: Arc::new(Ranker::new(name("formula"), state, ce, &retrieval.candidates)),
        colbert: Arc::new(Ranker::new(name("formula"), RankerState::Done, colbert, &retrieval.candidates)),
        dense: Arc::new(Ranker::absent("not part of this test")),
        sentences: None,
        query: Arc::new(query),
        retrieval: Arc::new(retrieval),
        passages: set,
        timings: Timings::default(),
    })
}

/// Words and signs as tokens.
fn pieces(text: &str) -> Vec<TokenPiece> {
    let mut pieces: Vec<TokenPiece> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        let end = at + c.len_utf8();
        match pieces.last_mut() {
            Some(last) if last.end == at && c.is_alphanumeric() && last.text.ends_with(char::is_alphanumeric) => {
                last.text.extend(c.to_lowercase());
                last.end = end;
            }
            _ => pieces.push(TokenPiece { id: 0, text: c.to_lowercase().to_string(), start: at, end }),
        }
    }
    pieces
}

/// What models would see in a passage: words as tokens, cosines by a formula, room for 40 tokens.
pub fn inspection(question: &str, passage: &str) -> Inspection {
    let (asked, mut found) = (pieces(question), pieces(passage));
    let all = found.len();
    found.truncate(256);
    let letters = |text: &str| text.chars().map(|c| c as usize).sum::<usize>();
    let cosine = |a: &TokenPiece, b: &TokenPiece| match a.text == b.text {
        true => 0.93,
        false => (letters(&a.text) * 31 + letters(&b.text) * 17) as f32 % 83.0 / 100.0 - 0.05,
    };
    let cosines: Vec<f32> = asked.iter().flat_map(|a| found.iter().map(move |b| cosine(a, b))).collect();
    let best = asked.iter().enumerate().map(|(query, a)| {
        let row = found.iter().map(|b| cosine(a, b)).enumerate();
        let best = row.reduce(|best, next| if next.1 > best.1 { next } else { best });
        TokenMatch { query, passage: best.map(|(at, _)| at), cosine: best.map_or(-1.0, |(_, cosine)| cosine) }
    });
    let matrix = Matrix::new(asked.clone(), found.clone(), cosines, best.collect(), (all - found.len()) as u32);
    let special = |text: &str| (PairPart::Special, TokenPiece { id: 1, text: text.to_owned(), start: 0, end: 0 });
    let room = 40_usize.saturating_sub(asked.len() + 3);
    let unread = found.split_off(room.min(found.len()));
    let mut read = vec![special("[CLS]")];
    read.extend(asked.into_iter().map(|piece| (PairPart::Question, piece)));
    read.push(special("[SEP]"));
    let passage_unread = all - found.len();
    read.extend(found.into_iter().map(|piece| (PairPart::Passage, piece)));
    read.push(special("[SEP]"));
    let score = PairScore::new(1.5, read.len() as u32, Some(passage_unread as u32));
    let tokens = PairTokens { read, question_unread: 0, passage_unread, unread };
    let pair = PairReading { model: "formula".to_owned(), max_tokens: 40, tokens, score };
    Inspection { matrix: Ok(MatrixReading { model: "formula".to_owned(), matrix }), pair: Ok(pair) }
}

/// A screen with its pretended engine.
pub struct Session {
    pub model: Model,
    pub conversation: Arc<Conversation>,
    /// Effects that nothing here carries out.
    pub left: Vec<Effect>,
    /// The last question that the engine was given.
    pub ask: Option<Ask>,
    /// How far the pretended rankers get.
    pub state: RankerState,
    /// How many questions of a sweep the pretended engine gets to.
    pub sweep_answers: usize,
    /// Whether the pretended engine answers for pinned settings.
    pub pinned_answers: bool,
    /// What the pretended models see in a question and a passage; nobody answers without it.
    pub inspect: Option<fn(&str, &str) -> Inspection>,
}

impl Session {
    /// A screen of this size on which nothing has been asked.
    pub fn open(columns: u16, rows: u16, theme: &str, ascii: bool) -> Self {
        Self::on(conversation(), columns, rows, theme, ascii)
    }

    /// The same on another conversation.
    pub fn on(conversation: Arc<Conversation>, columns: u16, rows: u16, theme: &str, ascii: bool) -> Self {
        let glyphs = if ascii { Glyphs::ASCII } else { Glyphs::UNICODE };
        let start = Start {
            database: PathBuf::from("sample.db"),
            conversation: None,
            question: None,
            settings: Settings::default(),
            defaults: Settings::default(),
            keys: memsift::ui::Keymap::default(),
            theme: Theme::named(theme, glyphs).unwrap(),
            tour: None,
            present: false,
            light: None,
            themes: memsift::ui::Themes::default(),
            mouse: true,
            replayed: false,
            follow: false,
            pins: (memsift::store::pins::Pins::in_memory(), None),
        };
        let mut session = Self {
            model: Model::new(&start),
            conversation,
            left: Vec::new(),
            ask: None,
            state: RankerState::Done,
            sweep_answers: usize::MAX,
            pinned_answers: true,
            inspect: None,
        };
        session.give(Input::Size(columns, rows));
        for role in ["tagger", "colbert", "ce"] {
            let status = ModelStatus { role, name: "formula".to_owned(), state: ModelState::Ready(0.1) };
            session.give(Input::Engine(Event::Model(status)));
        }
        let loaded = Arc::clone(&session.conversation);
        session.give(Input::Engine(Event::Opened {
            path: PathBuf::from("sample.db"),
            fingerprint: "test".to_owned(),
            notices: Vec::new(),
            copied: None,
            conversations: vec![memsift::history::ConversationSummary {
                id: loaded.id.clone(),
                sessions: loaded.sessions.len(),
                turns: loaded.turns.len(),
                ..Default::default()
            }],
        }));
        session
    }

    /// A screen on which the sample question has its answer.
    pub fn asked(columns: u16, rows: u16, theme: &str, ascii: bool) -> Self {
        let mut session = Self::open(columns, rows, theme, ascii);
        session.keys(&format!("{QUESTION}<Enter>"));
        session
    }

    /// The same with models that say what they see.
    pub fn inspected(columns: u16, rows: u16, theme: &str, ascii: bool) -> Self {
        let mut session = Self::open(columns, rows, theme, ascii);
        session.inspect = Some(inspection);
        session.keys(&format!("{QUESTION}<Enter>"));
        session
    }

    /// Take something in and answer the jobs that follow.
    pub fn give(&mut self, input: Input) {
        let mut effects = update(&mut self.model, input);
        while !effects.is_empty() {
            let effect = effects.remove(0);
            match effect {
                Effect::Send(Job::Load(_)) => {
                    effects
                        .extend(update(&mut self.model, Input::Engine(Event::Loaded(Arc::clone(&self.conversation)))));
                    effects.extend(update(&mut self.model, Input::Engine(Event::Marks(Vec::new()))));
                }
                Effect::Send(Job::Ask(ask)) => {
                    let generation = ask.generation;
                    let scored = scored(&ask, self.state.clone());
                    self.ask = Some(ask);
                    effects.extend(update(&mut self.model, Input::Engine(Event::Scored { generation, scored })));
                    if self.state != RankerState::Running {
                        effects.extend(update(&mut self.model, Input::Engine(Event::Finished { generation })));
                    }
                }
                Effect::Send(Job::Pinned(ask)) if self.pinned_answers => {
                    let (generation, scored) = (ask.generation, Some(scored(&ask, RankerState::Done)));
                    effects.extend(update(&mut self.model, Input::Engine(Event::Pinned { generation, scored })));
                }
                Effect::Send(Job::Sweep(ask)) if self.sweep_answers > 0 => {
                    let total = ask.questions.len();
                    let mut found = Sweep::empty(ask.rows.clone(), ask.columns.clone());
                    for (at, (text, gold)) in ask.questions.iter().take(self.sweep_answers).enumerate() {
                        let one = Ask {
                            generation: 0,
                            conversation: Arc::clone(&ask.conversation),
                            text: text.clone(),
                            gold: gold.clone(),
                            settings: ask.settings.clone(),
                        };
                        let scored = scored(&one, RankerState::Done);
                        found.add(&sweep(&[scored], &ask.settings, ask.rows.clone(), ask.columns.clone()).unwrap());
                        let (number, found) = (ask.number, found.clone());
                        let event = Event::Swept { number, done: at + 1, total, left: None, found };
                        effects.extend(update(&mut self.model, Input::Engine(event)));
                    }
                    self.left.push(Effect::Send(Job::Sweep(ask)));
                }
                Effect::Send(Job::Oracle(ask)) => {
                    let set = PassageSet::new(Arc::clone(&ask.conversation), Shape::of(&ask.settings));
                    let solve = |(text, gold): &(String, Vec<usize>)| {
                        let query = parse_plain(text, &ask.settings);
                        plan(&set, &query, &set.of_turns(gold), &NoReader, &ask.settings, ask.rules)
                    };
                    let plans = ask.questions.iter().map(solve).collect();
                    let event = Event::Planned { number: ask.number, plans };
                    effects.extend(update(&mut self.model, Input::Engine(event)));
                    self.left.push(Effect::Send(Job::Oracle(ask)));
                }
                Effect::Send(Job::Contrast(ask)) if self.sweep_answers > 0 => {
                    let total = ask.questions.len();
                    for (question, (text, gold)) in ask.questions.iter().take(self.sweep_answers).enumerate() {
                        let [a, b] = [&ask.a, &ask.b].map(|settings| {
                            let one = Ask {
                                generation: 0,
                                conversation: Arc::clone(&ask.conversation),
                                text: text.clone(),
                                gold: gold.clone(),
                                settings: settings.clone(),
                            };
                            Trace::new(scored(&one, RankerState::Done), settings.clone()).gold()
                        });
                        let row = Some(Contrasted { question, a, b });
                        let (number, done) = (ask.number, question + 1);
                        let event = Event::Contrasted { number, done, total, left: None, row };
                        effects.extend(update(&mut self.model, Input::Engine(event)));
                    }
                    self.left.push(Effect::Send(Job::Contrast(ask)));
                }
                Effect::Send(Job::Inspect { generation, passage }) if self.inspect.is_some() => {
                    let trace = self.model.trace.as_ref().unwrap();
                    let text = &trace.scored.passages.passages[passage as usize].text;
                    let inspection = Arc::new(self.inspect.unwrap()(&trace.scored.query.text, text));
                    let event = Event::Inspected { generation, passage, inspection };
                    effects.extend(update(&mut self.model, Input::Engine(event)));
                }
                Effect::Send(Job::Count(text)) => {
                    let tokens = pieces(&text).len();
                    let count = Ok(TokenCount { slot: "ce", model: "formula".to_owned(), tokens });
                    effects.extend(update(&mut self.model, Input::Engine(Event::Counted { text, count })));
                }
                other => self.left.push(other),
            }
        }
    }

    /// Press keys: characters, and names in angle brackets (`<Enter>`, `<C-r>`).
    pub fn keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let (name, after) = match rest.strip_prefix('<').and_then(|named| named.split_once('>')) {
                Some((name, after)) if !name.is_empty() => (name.to_owned(), after),
                _ => (c.to_string(), &rest[c.len_utf8()..]),
            };
            rest = after;
            let (code, modifiers) = code_of(&name);
            self.give(Input::Key(KeyEvent::new(code, modifiers)));
        }
    }

    /// The screen as it is drawn.
    pub fn draw(&self) -> Buffer {
        let (columns, rows) = self.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        view(&self.model, &mut buffer);
        buffer
    }

    /// The screen as lines of text.
    pub fn text(&self) -> String {
        lines(&self.draw())
    }
}

fn code_of(name: &str) -> (KeyCode, KeyModifiers) {
    let none = KeyModifiers::NONE;
    match name {
        "Enter" => (KeyCode::Enter, none),
        "Esc" => (KeyCode::Esc, none),
        "Tab" => (KeyCode::Tab, none),
        "S-Tab" => (KeyCode::BackTab, KeyModifiers::SHIFT),
        "Up" => (KeyCode::Up, none),
        "Down" => (KeyCode::Down, none),
        "Del" => (KeyCode::Delete, none),
        "PgDn" => (KeyCode::PageDown, none),
        "BS" => (KeyCode::Backspace, none),
        "F1" => (KeyCode::F(1), none),
        "F5" => (KeyCode::F(5), none),
        "lt" => (KeyCode::Char('<'), none),
        "gt" => (KeyCode::Char('>'), none),
        name if name.starts_with("C-") => (KeyCode::Char(name.chars().last().unwrap()), KeyModifiers::CONTROL),
        name => (KeyCode::Char(name.chars().next().unwrap()), none),
    }
}

/// Cells to lines.
pub fn lines(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Where which style stands, as text: what a dump of symbols hides.
pub fn styles(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<String> = Vec::new();
        let mut from = 0;
        let mut style = buffer[(0, y)].style();
        for x in 1..=buffer.area.width {
            let next = (x < buffer.area.width).then(|| buffer[(x, y)].style());
            if next != Some(style) {
                runs.push(format!("{from}-{} {}", x - 1, name(style)));
                from = x;
                style = next.unwrap_or_default();
            }
        }
        text.push_str(&format!("{y:>2}: {}\n", runs.join(", ")));
    }
    text
}

fn name(style: Style) -> String {
    let mut words: Vec<String> = Vec::new();
    if let Some(colour) = style.fg.filter(|colour| *colour != ratatui::style::Color::Reset) {
        words.push(format!("{colour:?}"));
    }
    if let Some(colour) = style.bg.filter(|colour| *colour != ratatui::style::Color::Reset) {
        words.push(format!("on {colour:?}"));
    }
    for (modifier, word) in [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::UNDERLINED, "underlined"),
        (Modifier::REVERSED, "reversed"),
        (Modifier::ITALIC, "italic"),
    ] {
        if style.add_modifier.contains(modifier) {
            words.push(word.to_owned());
        }
    }
    if words.is_empty() { "plain".to_owned() } else { words.join(" ") }
}
