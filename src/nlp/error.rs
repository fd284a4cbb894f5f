//! Knows how the tagger's model can be unusable; must not know how any file is read.

/// Why the tagger could not be loaded. Every message names the file and says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum NlpError {
    /// A file of the model could not be read from disk.
    #[error("the tagger's file `{file}` could not be read ({source}); run `memsift models pull en_core_web_sm`")]
    Read {
        /// File name relative to the model's folder.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file of the model was read, but does not hold what the tagger needs.
    #[error(
        "the tagger's file `{file}` is damaged or of another version: {what}; run `memsift models pull en_core_web_sm` again"
    )]
    Malformed {
        /// File name relative to the model's folder.
        file: String,
        /// What is wrong, without a full stop.
        what: String,
    },
}

impl NlpError {
    /// An error about the content of `file` (name relative to the model's folder).
    pub(crate) fn malformed(file: &str, what: impl Into<String>) -> Self {
        Self::Malformed { file: file.to_owned(), what: what.into() }
    }
}
