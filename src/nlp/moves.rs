//! Knows the order of the actions in a `moves` file; must not know what an action does.

use std::collections::BTreeMap;

use super::error::NlpError;
use super::msgpack::{self, Value};
use super::strings::intern;

/// The actions of `file` as (move type, label), in the order of their scores: by type, then by
/// frequency and label descending.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Vec<(u32, &'static str)>, NlpError> {
    let top = msgpack::decode(bytes).map_err(|what| NlpError::malformed(file, what))?;
    let text = top.get("moves").and_then(Value::as_str);
    let text = text.ok_or_else(|| NlpError::malformed(file, "there is no list of moves"))?;
    let moves: BTreeMap<u32, BTreeMap<String, i64>> = serde_json::from_str(text)
        .map_err(|error| NlpError::malformed(file, format!("its moves are not JSON: {error}")))?;
    let mut actions = Vec::new();
    for (kind, labels) in moves {
        let mut labels: Vec<(i64, String)> = labels.into_iter().map(|(l, n)| (n, l)).collect();
        labels.sort_unstable_by(|a, b| b.cmp(a));
        actions.extend(labels.iter().map(|(_, label)| (kind, intern(label))));
    }
    Ok(actions)
}
