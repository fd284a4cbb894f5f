//! What `:export` writes, and where to: the trace in the format that the end of the file's name asks for, or a picture of
//! the screen. Knows the model and the clock.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::model::Model;
use super::picture::svg;
use super::view::view;
use crate::explain::export::{Format, export as written};
use crate::moment::Moment;
use crate::output_file::{OutputError, OutputFile};
use crate::trace::file::TraceHeader;

/// Write what the end of the name asks for; over a file that is there only when told.
///
/// # Errors
/// One sentence; then the place is as it was. Both sentences are for the user.
pub fn export(model: &Model, path: &Path, overwrite: bool) -> Result<String, String> {
    let is_picture = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("svg"));
    let (what, bytes) = match is_picture {
        true => ("picture", picture(model).into_bytes()),
        false => ("trace", trace(model, Format::of(path))?),
    };
    let written = OutputFile::new(path, overwrite).and_then(|file| file.write(&bytes));
    match written {
        Ok(()) => Ok(format!("{what} written to {}", path.display())),
        Err(error @ OutputError::Exists(_)) => Err(format!("{error}, or overwrite it with :export!")),
        Err(error) => Err(error.to_string()),
    }
}

/// The screen as it is without the line in which the command was typed.
fn picture(model: &Model) -> String {
    let (columns, rows) = model.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    view(model, &mut buffer);
    let title = model.asked.as_ref().map_or("memsift".to_owned(), |question| format!("memsift: {question}"));
    svg(&buffer, &model.theme, &title)
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
