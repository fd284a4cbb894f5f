//! How many tokens a text is for the loaded models. Knows models and one text; nothing of what it is for.

use super::job::Event;
use super::models::Models;
use crate::rank::{CrossEncoder, TextEncoder};

/// Longest text that is counted, in bytes: it keeps the engine for about a second.
const LONGEST: usize = 2_000_000;

/// Tokens of a text, and whose they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCount {
    /// The slot of the model: `ce` or `colbert`.
    pub slot: &'static str,
    /// Name of the model.
    pub model: String,
    /// How many, without special tokens.
    pub tokens: usize,
}

/// Count the tokens of a text with the cross-encoder, or else with late interaction.
///
/// # Errors
/// One sentence when there is neither, the text is far too long, or the tokenizer fails.
pub fn count(
    ce: Result<&dyn CrossEncoder, &str>,
    colbert: Result<&dyn TextEncoder, &str>,
    text: &str,
) -> Result<TokenCount, String> {
    if text.len() > LONGEST {
        return Err(format!(
            "tokens are not counted: the text has {} MB, and at most {} are counted",
            text.len() / 1_000_000,
            LONGEST / 1_000_000
        ));
    }
    let (slot, model, tokens) = match (ce, colbert) {
        (Ok(model), _) => ("ce", &model.model().name, model.count_tokens(text)),
        (_, Ok(model)) => ("colbert", &model.model().name, model.count_tokens(text)),
        (Err(reason), Err(_)) => return Err(format!("tokens are not counted: {reason}")),
    };
    let tokens = tokens.map_err(|error| format!("tokens are not counted: {error}"))?;
    Ok(TokenCount { slot, model: model.clone(), tokens })
}

/// The answer to [`super::Job::Count`].
pub(super) fn answer(models: &Models, text: String) -> Event {
    let colbert = models.colbert.as_ref().map(AsRef::as_ref).map_err(String::as_str);
    let ce = models.ce.as_ref().map(AsRef::as_ref).map_err(String::as_str);
    let count = count(ce, colbert, &text);
    Event::Counted { text, count }
}
