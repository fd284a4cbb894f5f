//! Measures over many questions. Knows traces and gold; draws nothing and reads no file.

pub mod ablation;
pub mod bootstrap;
pub mod evidence;
pub mod figure;
pub mod lexical_dense;
pub mod metrics;
pub mod oracle;
pub mod outcome;
pub mod report;
pub mod smartsearch;
pub mod sweep;
pub mod tune;
