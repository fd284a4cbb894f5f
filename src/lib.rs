//! memsift: why did the evidence fall out of the context?
//!
//! For one question to one conversation history, memsift runs the retrieval of two papers and keeps what every stage
//! decided, so that each passage of the history has a fate with its reasons. The README is for those who use it; this
//! page is for those who read or change the code.
//!
//! # The pipeline
//!
//! | stage | from | to | where |
//! |---|---|---|---|
//! | parse | the question, tagged | weighted terms, and the words ignored | [`parse`] |
//! | retrieve | terms, passages | hits, hops, candidates | [`retrieve`] |
//! | rank | candidates | scores of cross-encoder, ColBERT slot and sentence vectors | [`rank`], run by [`engine`] |
//! | fuse | scores and ranks | one order | [`fuse`] |
//! | truncate | the order, words | the cut, and a fate for every passage | [`truncate`] |
//!
//! Parse and retrieve are deterministic and need no index. Rank is the only learned stage. Fuse and truncate are
//! arithmetic on what the rankers said. Every knob of every stage stands once, in [`settings::KNOBS`].
//!
//! # Data flow
//!
//! One way, in two tiers:
//!
//! ```text
//! store ──► Conversation ──► PassageSet ─┐
//!                                        ├─► parse ─► retrieve ─► rank ──► Scored ─┐
//! question ──────────────────────────────┘                                         ├─► fuse ─► truncate ──► Trace
//!                                                                     Settings ────┘
//! ```
//!
//! [`scored::Scored`] is everything that depends on the data and the models. It is slow to make, is made by the engine
//! as a job that can be stopped, and is kept. [`trace::Trace`] is `Scored` under one [`settings::Settings`]; it is pure
//! and made anew whenever a knob behind the rankers is turned. So a slider never touches a model, and two settings side
//! by side share one `Scored`.
//!
//! Between the threads: the screen sends a [`engine::Job`], the engine answers with an [`engine::Event`]. A newer
//! question replaces an older one at its next batch. Nothing flows back: no stage asks a later one, and the stages know
//! neither the engine nor a screen.
//!
//! # Glossary
//!
//! These words mean the same in the code, on the screen, in traces and in the README.
//!
//! | word | meaning |
//! |---|---|
//! | conversation, session, turn | a history is one conversation of sessions of turns; a turn has a speaker, text, id, time (may be unknown), and a caption if an image was shared |
//! | passage | what is retrieved: one turn as `Speaker: text`; by a knob, two turns or a whole session |
//! | term | a weighted string that is searched, with its class and its origin |
//! | hop | one round of matching; hop 1 searches the question's terms, hop 2 terms learned from the passages of hop 1 |
//! | candidate | a passage that goes to the rankers: at least one term of any hop occurs in it, unless every passage is ranked |
//! | CE, ColBERT | the two rankers: a cross-encoder; late interaction (token MaxSim) |
//! | fused order | one order made of the two rankings |
//! | cut | the place in the fused order below which passages are dropped |
//! | α, `alpha` | a passage stays when its CE score is at least α times the best CE score |
//! | λ, `lambda` | weight of BM25 in the lexical-dense fusion; never called alpha, which is another knob |
//! | budget | the word budget of the context |
//! | gold | passages known, from a data set or by hand, to hold the evidence |
//! | fate | what became of a passage; each has exactly one, and they add up to the conversation |
//!
//! # Modules
//!
//! | module | holds | must not hold |
//! |---|---|---|
//! | [`history`] | conversation, session, turn, question | SQLite, models, screens |
//! | [`moment`] | times as sources write them | a clock |
//! | [`passage`] | a history cut into passages, and its case-folded text | questions, scores |
//! | [`settings`] | every knob: name, range, default, stage, meaning | what a stage computes |
//! | [`nlp`] | inference of `en_core_web_sm` | what the tags are for |
//! | [`parse`] | question to terms | histories, models |
//! | [`retrieve`] | substring search, hops, BM25 | rankers; the tagger only behind a trait |
//! | [`rank`] | rankers, their arithmetic, the cache of what they computed | chats, settings, screens |
//! | [`scored`] | what data and models say about one question | knobs behind the rankers |
//! | [`fuse`] | scores to one order | models, texts |
//! | [`truncate`] | the order to kept passages and fates | models, texts |
//! | [`trace`] | one question under one setting, and its JSON form | screens, databases |
//! | [`explain`] | fates and paths in sentences | decisions of its own |
//! | [`eval`] | measures over many questions with gold | drawing, files |
//! | [`store`] | the SQLite database, read-only opening, importers, marks, cleaning of text | models, screens |
//! | [`models`] | which files a model is made of, fetching and checking them | inference, chats |
//! | [`dirs`] | where memsift's own files lie | what is in them |
//! | [`engine`] | the thread that owns database, models and cache; jobs and events | screens; fusing and cutting |
//! | [`cli`] | commands and flags | the work behind them |
//! | `ui` | the explorer: model, update, view, keys, themes | SQL, models, files: those are jobs of the engine |
//!
//! The pure stages (`parse`, `retrieve`, `fuse`, `truncate`, `trace`, `explain`, `eval`) import nothing from `ui`,
//! `engine`, ratatui or candle. All text of a history has passed [`store::clean`] before anything else sees it. Whatever
//! came from outside is taken without `unwrap`, `expect` or unchecked indexing. Ties go to the earlier passage,
//! everywhere.

pub mod cli;
pub mod dirs;
pub mod engine;
pub mod eval;
pub mod explain;
pub mod fuse;
pub mod history;
pub mod markup;
pub mod models;
pub mod moment;
pub mod nlp;
pub mod output_file;
pub mod parse;
pub mod passage;
pub mod pool;
pub mod rank;
pub mod retrieve;
pub mod scored;
pub mod settings;
pub mod store;
pub mod trace;
pub mod truncate;
pub mod ui;
