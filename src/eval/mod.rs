//! Measures over many questions. Knows traces and gold; draws nothing and reads no file.

pub mod bootstrap;
pub mod lexical_dense;
pub mod metrics;
pub mod smartsearch;
pub mod sweep;
