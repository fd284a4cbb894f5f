//! The overlay with the context: when the engine is asked how many tokens it has. Knows texts; draws nothing.

use super::model::{Mode, Model};
use super::update::Effect;
use crate::engine::{Job, TokenCount};

/// What is known of the tokens of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The context.
    pub text: String,
    /// Its tokens, or why they are not known; `None` while the engine counts.
    pub count: Option<Result<TokenCount, String>>,
}

/// Have the context counted when it is shown and is another one than before. While scores come in it changes by itself,
/// and nobody asks.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    if !matches!(model.mode, Mode::Context(_)) || model.running {
        return;
    }
    let Some(text) = model.trace.as_ref().map(crate::trace::Trace::context) else { return };
    if model.counted.as_ref().is_some_and(|counted| counted.text == text) {
        return;
    }
    model.counted = Some(Counted { text: text.clone(), count: None });
    effects.push(Effect::Send(Job::Count(text)));
}

/// What the engine found; dropped when another context was asked about since.
pub fn counted(model: &mut Model, text: &str, count: Result<TokenCount, String>) {
    if let Some(counted) = model.counted.as_mut().filter(|counted| counted.text == text) {
        counted.count = Some(count);
    }
}
