//! What can go wrong while ranking, each with the file, the fault and the next step. Knows no network and no screen.

use std::path::PathBuf;

/// Why a ranker cannot be loaded or cannot score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// A model file could not be read.
    #[error("cannot read '{}': {source}; fetch the model again or put the file there", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model file is not what it should be.
    #[error("'{}' is no usable model file: {reason}; fetch the model again", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model's configuration asks for something this program does not compute.
    #[error("'{}' describes a model memsift cannot run: {reason}; choose another model", path.display())]
    Unsupported {
        /// The configuration file.
        path: PathBuf,
        /// Which setting.
        reason: String,
    },
    /// An adapter does not belong to the base model that is loaded.
    #[error(
        "the small cross-encoder is an adapter for weights with SHA-256 {wanted}, and the loaded weights have {found}; \
         fetch all-MiniLM-L6-v2 again"
    )]
    WrongBase {
        /// What the adapter was trained on.
        wanted: String,
        /// What was loaded.
        found: String,
    },
    /// The embedded adapter cannot be read.
    #[error("the small cross-encoder built into this program is damaged ({reason}); install memsift again")]
    Adapter {
        /// What is wrong with it.
        reason: String,
    },
    /// A text could not be split into tokens.
    #[error("a text could not be split into tokens ({reason}); the model's tokenizer.json may be damaged")]
    Tokens {
        /// What the tokenizer said.
        reason: String,
    },
    /// The arithmetic refused.
    #[error("the model could not be computed: {}; this is a fault of memsift, please report it", words(.0))]
    Compute(#[from] candle_core::Error),
}

/// What went wrong in the arithmetic, in one line: the error itself may carry the stack behind it.
pub(super) fn words(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or("no reason was given").to_owned()
}
