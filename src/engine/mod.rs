//! The engine: the one thread that owns database and models, fed by jobs, answering with events. Knows every stage;
//! knows no screen.

mod change;
pub mod choice;
pub mod count;
mod follow;
pub mod inspect;
pub mod job;
mod mapper;
pub mod models;
mod oracle;
pub mod pipeline;
pub mod replay;
mod source;
mod sweep;
pub mod vectors;
pub mod worker;

pub use change::Change;
pub use choice::{Chosen, RankerChoice, SlotName, Wish};
pub use count::TokenCount;
pub use inspect::{Inspection, MatrixReading, PairReading};
pub use job::{
    Ask, ContrastAsk, Contrasted, Event, Job, ModelState, ModelStatus, OracleAsk, Progress, Reloaded, SweepAsk,
};
pub use models::Models;
pub use pipeline::{Deaf, Listener, Pipeline};
pub use replay::Replay;
pub use worker::{Engine, EngineOptions};
