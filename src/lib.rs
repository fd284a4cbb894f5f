//! x
pub mod nlp;
