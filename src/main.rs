//! The binary: parse, run, map an error to an exit code.

fn main() {}
