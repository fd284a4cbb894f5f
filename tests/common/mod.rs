//! Helpers of the integration tests. Knows where models and the shared reference data are; nothing of what is tested.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memsift::models::{PullOptions, Registry, State, models_dir as default_models_dir, pull, state};

/// The models directory with both small models in it; fetches them once when they are not there. Test processes that
/// run side by side take turns.
pub fn models_dir() -> PathBuf {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = default_models_dir().expect("a models directory");
        let list = Registry::built_in().expect("a valid list");
        for model in list.small_set().expect("a small set") {
            if state(model, &dir) != State::Ready {
                pull(model, &dir, &PullOptions::default(), &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
            }
        }
        dir
    })
    .clone()
}

/// The folder with reference data that is not part of the repository, when it is there.
pub fn shared() -> Option<PathBuf> {
    let dir = std::env::var_os("MEMSIFT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if dir.is_dir() {
        Some(dir)
    } else {
        println!("skipped: no reference data at '{}'; set MEMSIFT_SHARED", dir.display());
        None
    }
}
