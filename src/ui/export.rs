//! What `:export` writes, and where to: the trace in the format that the end of the file's name asks for. Knows the model
//! and the clock; draws nothing.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::model::Model;
use crate::explain::export::{Format, export as written};
use crate::moment::Moment;
use crate::output_file::{OutputError, OutputFile};
use crate::trace::file::TraceHeader;

/// Write what the end of the name asks for; over a file that is there only when told.
///
/// # Errors
/// One sentence; then the place is as it was. Both sentences are for the user.
pub fn export(model: &Model, path: &Path, overwrite: bool) -> Result<String, String> {
    let bytes = trace(model, Format::of(path))?;
    let written = OutputFile::new(path, overwrite).and_then(|file| file.write(&bytes));
    match written {
        Ok(()) => Ok(format!("trace written to {}", path.display())),
        Err(error @ OutputError::Exists(_)) => Err(format!("{error}, or overwrite it with :export!")),
        Err(error) => Err(error.to_string()),
    }
}

fn trace(model: &Model, format: Format) -> Result<Vec<u8>, String> {
    let Some(trace) = &model.trace else { return Err("there is no trace yet: ask a question first".to_owned()) };
    // Before 1970 there is no time worth noting.
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let header = TraceHeader {
        database: model.database.fingerprint.clone(),
        made_at: Some(Moment::utc(seconds.cast_signed()).store()),
        ..TraceHeader::default()
    };
    written(trace, header, format).map_err(|error| error.to_string())
}
