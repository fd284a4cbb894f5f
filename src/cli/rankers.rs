//! Flags that say which models rank. Knows their names only; loads nothing.

use super::{BadInput, config};
use crate::engine::choice::ChoiceError;
use crate::engine::{RankerChoice, Wish};
use crate::models::{Registry, models_dir};
use crate::rank::{Kernel, Precision};

/// The variable that forces a kernel.
const KERNEL: &str = "MEMSIFT_KERNEL";

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
    /// How precisely encoders are computed: exact (f32), or fast (bf16; needs AVX-512 BF16) [default: exact].
    #[arg(long, value_name = "PRECISION", env = "MEMSIFT_PRECISION")]
    precision: Option<String>,
}

impl RankerArgs {
    /// What they mean with the models of this machine and the configuration.
    ///
    /// # Errors
    /// A sentence that names what is not known and what is.
    pub fn choice(&self) -> anyhow::Result<RankerChoice> {
        let dir = models_dir()?;
        if let Some(name) = forced() {
            force(&name)?;
        }
        let config = config::get();
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let profile = given(&self.profile);
        // Whoever names a profile means all of it, not what the file would put in its slots.
        let slot = |typed: &Option<String>, name: &str| {
            given(typed).or_else(|| config.slot(name).filter(|_| profile.is_none()).map(str::to_owned))
        };
        let precision_name = given(&self.precision).or_else(|| config.precision().map(str::to_owned));
        let wish = Wish {
            ce: slot(&self.ce, "ce"),
            colbert: slot(&self.colbert, "colbert"),
            dense: slot(&self.dense, "dense"),
            precision: precision_name.as_deref().map(precision_here).transpose()?.unwrap_or_default(),
            profile: profile.or_else(|| config.profile().map(str::to_owned)),
        };
        RankerChoice::of(&wish, &Registry::of(&dir)?, &dir).map_err(|error| match error {
            ChoiceError::List(error) => error.into(),
            other => BadInput(other.to_string()).into(),
        })
    }
}

/// The kernel that the user forces.
fn forced() -> Option<String> {
    std::env::var(KERNEL).ok().filter(|name| !name.is_empty())
}

/// Uses the kernel of this name from now on.
fn force(name: &str) -> Result<(), BadInput> {
    if Kernel::named(name).is_some_and(Kernel::force) {
        return Ok(());
    }
    let here = names(Kernel::here().map(Kernel::name));
    let why = if Kernel::named(name).is_some() { "this CPU does not have it" } else { "there is no such kernel" };
    Err(BadInput(format!("{KERNEL} is '{name}', but {why}: choose one of {here}")))
}

/// What a precision means here. A forced kernel may compute fast however slow it is at that.
///
/// # Errors
/// A sentence when there is no such precision, or not on this CPU.
pub fn precision_here(name: &str) -> Result<Precision, BadInput> {
    let known = names(Precision::ALL.into_iter().map(Precision::name));
    match Precision::named(name) {
        Some(Precision::Fast) if forced().is_none() && Precision::quickest() != Precision::Fast => {
            Err(BadInput(format!(
                "--precision fast is for CPUs with AVX-512 BF16, which this one is not: leave it out, or take '{}'",
                Precision::Exact.name()
            )))
        }
        Some(precision) => Ok(precision),
        None => Err(BadInput(format!("there is no precision '{name}': choose one of {known}"))),
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
