//! The engine: the one thread that owns database and models, fed by jobs, answering with events. Knows every stage;
//! knows no screen.

pub mod job;

pub use job::{Ask, Event, Job, ModelState, ModelStatus, Progress};
