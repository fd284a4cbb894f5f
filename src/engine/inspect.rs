//! What the models saw of one passage: the MaxSim matrix and the cross-encoder's pair, computed again for the screen.
//! Knows models and two texts; nothing of ranks or of the cut.

use std::sync::Arc;

use super::job::{Ask, Event};
use super::pipeline::Pipeline;
use crate::passage::Shape;
use crate::rank::{CrossEncoder, Matrix, PairScore, PairTokens, TextEncoder};

/// What the models saw of one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Token by token in the ColBERT slot, or the sentence that says why not.
    pub matrix: Result<MatrixReading, String>,
    /// The pair in the cross-encoder slot, or the sentence that says why not.
    pub pair: Result<PairReading, String>,
}

/// A matrix and the model that it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixReading {
    /// Name of the model.
    pub model: String,
    /// The matrix.
    pub matrix: Matrix,
}

/// A pair as a cross-encoder read and scored it.
#[derive(Debug, Clone, PartialEq)]
pub struct PairReading {
    /// Name of the model.
    pub model: String,
    /// Longest pair in tokens.
    pub max_tokens: usize,
    /// The tokens.
    pub tokens: PairTokens,
    /// Logit and score.
    pub score: PairScore,
}

/// Let the models read a passage. A model that is not there comes as the sentence that says so.
pub fn inspect(
    colbert: Result<&dyn TextEncoder, &str>,
    ce: Result<&dyn CrossEncoder, &str>,
    question: &str,
    passage: &str,
) -> Inspection {
    let matrix = colbert.map_err(str::to_owned).and_then(|model| {
        let name = model.model().label();
        if !model.gives().tokens {
            return Err(format!("'{name}' gives one vector a text and none a token: there is no matrix"));
        }
        let matrix = Matrix::read(model, question, passage).map_err(|error| error.to_string())?;
        Ok(MatrixReading { model: name, matrix })
    });
    let pair = ce.map_err(str::to_owned).and_then(|model| read_pair(model, question, passage));
    Inspection { matrix, pair }
}

fn read_pair(model: &dyn CrossEncoder, question: &str, passage: &str) -> Result<PairReading, String> {
    let tokens = model.tokens(question, passage).map_err(|error| error.to_string())?;
    let scores = model.score(question, &[passage]).map_err(|error| error.to_string())?;
    let score = scores.first().copied().ok_or_else(|| "the model gave no score".to_owned())?;
    Ok(PairReading { model: model.model().label(), max_tokens: model.max_tokens(), tokens, score })
}

/// The answer to [`super::Job::Inspect`]; `None` when its question is no longer the one that was asked last.
pub(super) fn answer(pipeline: &mut Pipeline, last: Option<&Ask>, generation: u64, passage: u32) -> Option<Event> {
    let ask = last.filter(|ask| ask.generation == generation)?;
    let set = pipeline.passages(&ask.conversation, Shape::of(&ask.settings));
    let text = &set.passages.get(passage as usize)?.text;
    let models = pipeline.models();
    let colbert = models.colbert.as_ref().map(AsRef::as_ref).map_err(String::as_str);
    let ce = models.ce.as_ref().map(AsRef::as_ref).map_err(String::as_str);
    let inspection = Arc::new(inspect(colbert, ce, &ask.text, text));
    Some(Event::Inspected { generation, passage, inspection })
}
