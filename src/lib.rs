//! memsift: why did the evidence fall out of the context?

pub mod history;
pub mod moment;
pub mod store;
