//! Traces in words. Knows the trace and the language of its readers; decides nothing.

pub mod advice;
pub mod compare;
pub mod export;
pub mod fate;
pub mod lint;
pub mod near_miss;
pub mod whatif;
