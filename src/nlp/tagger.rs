//! Knows how token vectors become fine-grained tags; must not know what a tag means.

use super::dense::{Matrix, add};
use super::error::NlpError;
use super::strings::intern;
use super::thinc::ModelFile;
use super::tok2vec::WIDTH;
use super::transition::best;

/// A linear layer with one output per tag.
#[derive(Debug)]
pub(super) struct TagLayer {
    labels: Vec<&'static str>,
    weights: Matrix,
    bias: Vec<f32>,
}

#[derive(serde::Deserialize)]
struct Settings {
    labels: Vec<String>,
}

impl TagLayer {
    /// Reads the layer and, from `settings_file`, the tags in the order of its outputs.
    pub(super) fn load(model: &ModelFile<'_>, settings_file: &str, settings: &[u8]) -> Result<Self, NlpError> {
        let settings: Settings =
            serde_json::from_slice(settings).map_err(|error| NlpError::malformed(settings_file, error.to_string()))?;
        let count = settings.labels.len();
        let (_, weights) = model.array("softmax", 0, "W", &[count, WIDTH])?;
        let (_, mut bias) = model.array("softmax", 0, "b", &[count])?;
        let weights = Matrix::new(WIDTH, count, |o| &weights[o * WIDTH..(o + 1) * WIDTH]);
        bias.resize(weights.width(), 0.0);
        Ok(Self { labels: settings.labels.iter().map(|label| intern(label)).collect(), weights, bias })
    }

    /// The scores of all tags for every token, in rows of [`TagLayer::width`] values.
    pub(super) fn scores(&self, vectors: &[f32], out: &mut Vec<f32>, spread: &mut Vec<[f32; 4]>) {
        self.weights.multiply(vectors, out, spread);
        for row in out.chunks_mut(self.weights.width()) {
            add(row, &self.bias);
        }
    }

    /// Values per token in the result of [`TagLayer::scores`]; those beyond the tags mean nothing.
    pub(super) fn width(&self) -> usize {
        self.weights.width()
    }

    /// The tag with the highest score in one row.
    pub(super) fn choose(&self, scores: &[f32]) -> &'static str {
        let best = best(scores, 0..self.labels.len());
        best.and_then(|(label, _)| self.labels.get(label).copied()).unwrap_or("")
    }
}
