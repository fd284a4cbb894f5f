//! Mappings that worked before, found again by the tables and columns of a database. Knows what to say about them.

use super::super::mappings::Mappings;
use super::tables::Tables;
use super::{Mapping, Reading};

/// What is remembered for a database.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub map: Option<Mapping>,
    /// What is wrong with what is remembered.
    pub notice: Option<String>,
}

/// The mapping that is remembered for these tables.
pub(super) fn find(reading: &Reading, tables: &Tables) -> Found {
    let Some(path) = &reading.mappings else { return Found::default() };
    let mappings = match Mappings::load(path) {
        Ok(mappings) => mappings,
        Err(error) => return Found { map: None, notice: Some(format!("no mapping is remembered: {error}")) },
    };
    let notice = mappings.notice().map(str::to_owned);
    match mappings.get(&tables.fingerprint()).map(Mapping::read) {
        None => Found { map: None, notice },
        Some(Ok(map)) => Found { map: Some(map), notice },
        Some(Err(what)) => Found { map: None, notice: Some(ignored(&what)) },
    }
}

/// Remember a mapping that worked; the sentence about it.
pub(super) fn keep(reading: &Reading, tables: &Tables, map: &Mapping) -> Option<String> {
    let path = reading.mappings.as_ref()?;
    let kept = Mappings::load(path).and_then(|mut mappings| {
        let notice = mappings.notice().map(str::to_owned);
        mappings.keep(&tables.fingerprint(), &map.words()).map(|()| notice)
    });
    Some(match kept {
        Ok(None) => {
            "this mapping is remembered: a database with the same tables and columns opens without --map".to_owned()
        }
        Ok(Some(notice)) => notice,
        Err(error) => format!("this mapping could not be remembered: {error}"),
    })
}

/// The sentence about a mapping that is used.
pub(super) fn used(map: &Mapping) -> String {
    let words = map.words();
    format!(
        "read by the mapping that was given for these tables before ({words}); another --map, or --store, goes before it"
    )
}

/// The sentence about a mapping that is not used.
pub(super) fn ignored(what: &str) -> String {
    format!("the mapping that was given for these tables before no longer fits and is ignored ({what})")
}
