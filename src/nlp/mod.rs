//! stub replaced on merge
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis { pub tokens: Vec<Token>, pub entities: Vec<Entity> }
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Token { pub start: usize, pub end: usize, pub text: String, pub tag: &'static str, pub pos: &'static str, pub lemma: String, pub entity: Option<u32>, pub sent_start: bool }
#[derive(Debug, Clone, PartialEq)]
pub struct Entity { pub start: usize, pub end: usize, pub tokens: std::ops::Range<usize>, pub label: &'static str, pub text: String }
