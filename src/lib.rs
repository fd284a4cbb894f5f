//! memsift: why did the evidence fall out of the context?

pub mod cli;
pub mod dirs;
pub mod engine;
pub mod eval;
pub mod explain;
pub mod fuse;
pub mod history;
pub mod models;
pub mod moment;
pub mod nlp;
pub mod parse;
pub mod passage;
pub mod rank;
pub mod retrieve;
pub mod scored;
pub mod settings;
pub mod store;
pub mod trace;
pub mod truncate;
pub mod ui;
