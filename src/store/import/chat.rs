//! A talk of a chat export on its way into the database: sessions by pauses, what is left out as skipped rows. Knows no
//! format.

use super::super::StoreError;
use super::super::adapter::assemble::{GAP_HOURS, draft};
use super::super::adapter::{Listed, Notes, Said};
use super::sink::Sink;

/// Store one talk. A talk of which nothing is left is skipped.
pub(super) fn put(
    sink: &mut Sink<'_>,
    id: String,
    title: Option<String>,
    said: Vec<Said>,
    mut notes: Notes,
) -> Result<(), StoreError> {
    let talk = Listed::new(id, title, said.len());
    let draft = draft(&talk, said, GAP_HOURS, &mut notes);
    sink.report.guesses.append(&mut notes.guesses);
    for (reason, rows) in &notes.left_out {
        let noun = if *rows == 1 { "message" } else { "messages" };
        sink.skip(format!("{rows} {noun} of '{}'", super::super::clean::clean_line(&talk.id, &mut 0)), reason);
    }
    sink.conversation(draft)
}
