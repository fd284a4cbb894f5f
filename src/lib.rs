//! memsift: why did the evidence fall out of the context?

pub mod history;
pub mod models;
pub mod moment;
pub mod rank;
