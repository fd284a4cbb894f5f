//! Flags that say which models rank. Knows their names only; loads nothing.

use super::BadInput;
use crate::engine::choice::ChoiceError;
use crate::engine::{RankerChoice, Wish};
use crate::models::{Registry, models_dir};

/// Which models fill the rankers' slots.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Models")]
pub struct RankerArgs {
    /// Set of models: small, or another one of 'memsift models list' [default: small].
    #[arg(long, value_name = "NAME", env = "MEMSIFT_PROFILE")]
    profile: Option<String>,
    /// Cross-encoder: a model's name, its folder, or none [default: the profile's].
    #[arg(long, value_name = "MODEL", env = "MEMSIFT_CE")]
    ce: Option<String>,
    /// Late-interaction model: a model's name, its folder, or none [default: the profile's].
    #[arg(long, value_name = "MODEL", env = "MEMSIFT_COLBERT")]
    colbert: Option<String>,
    /// Bi-encoder: a model's name, its folder, or none [default: the profile's].
    #[arg(long, value_name = "MODEL", env = "MEMSIFT_DENSE")]
    dense: Option<String>,
}

impl RankerArgs {
    /// What they mean with the models of this machine.
    ///
    /// # Errors
    /// A sentence that names what is not known and what is.
    pub fn choice(&self) -> anyhow::Result<RankerChoice> {
        let dir = models_dir()?;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let wish = Wish {
            profile: given(&self.profile),
            ce: given(&self.ce),
            colbert: given(&self.colbert),
            dense: given(&self.dense),
        };
        RankerChoice::of(&wish, &Registry::of(&dir)?, &dir).map_err(|error| match error {
            ChoiceError::List(error) => error.into(),
            other => BadInput(other.to_string()).into(),
        })
    }
}
