//! Measures over many questions. Knows traces and gold; draws nothing and reads no file.

pub mod smartsearch;
pub mod sweep;
