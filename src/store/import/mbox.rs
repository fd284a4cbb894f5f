//! Mailboxes of plain text: mails after lines that begin with `From `. Knows where a mail begins and which thread it is in;
//! a mail is read elsewhere.

use std::collections::HashMap;
use std::io::BufRead;

use super::super::StoreError;
use super::super::adapter::{Notes, Said};
use super::chat;
use super::mail::Mail;
use super::sink::Sink;

/// What a subject begins with when it answers or passes on another one.
const ANSWERS: [&str; 10] = ["re:", "aw:", "antw:", "sv:", "vs:", "rif:", "tr:", "fwd:", "fw:", "wg:"];

/// A mail on its way into the database.
struct Written {
    said: Said,
    /// Seconds in UTC.
    utc: Option<i64>,
}

/// Which thread the ids and subjects of mails belong to.
#[derive(Default)]
struct Threads {
    by_id: HashMap<String, String>,
    by_subject: HashMap<String, String>,
    count: usize,
}

/// True when the beginning of a file is a mailbox.
pub(super) fn is_mailbox(beginning: &str) -> bool {
    let mut lines = beginning.lines();
    let begins = lines.next().is_some_and(|line| line.starts_with("From "));
    let mut header = lines.take_while(|line| !line.trim().is_empty());
    begins && header.any(|line| ["from:", "date:"].iter().any(|name| line.to_ascii_lowercase().starts_with(name)))
}

/// Store the mailbox as one conversation with a session a thread.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let mut notes = Notes::default();
    let mut threads = Threads::default();
    let mut written: Vec<Written> = Vec::new();
    each(sink, &mut |bytes| {
        let mail = Mail::read(bytes);
        match mail.text() {
            None => notes.leave("mail without plain text"),
            Some(text) => written.push(threads.place(&mail, &text, written.len() + 1)),
        }
    })?;
    if !written.is_empty() {
        notes.guess("sessions: a thread each, by the mails that are answered, else by the subject");
    }
    if written.iter().all(|mail| mail.utc.is_some()) {
        written.sort_by_key(|mail| mail.utc);
    }
    let id = sink.source.stem();
    chat::put(sink, id, None, written.into_iter().map(|mail| mail.said).collect(), notes)
}

/// Hand every mail of the mailbox to `each`, without the line that begins it.
fn each(sink: &Sink<'_>, each: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
    let source = sink.source;
    let mut reader = source.open(&sink.count)?;
    let (mut mail, mut line) = (Vec::new(), Vec::new());
    // A line `From ` after a blank one begins a mail when a header follows it; else somebody wrote it.
    let mut begin: Option<Vec<u8>> = None;
    let (mut started, mut blank) = (false, true);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(|cause| source.io(cause))?;
        if let Some(held) = begin.take() {
            if is_header(&line) || !started {
                if started {
                    each(&mail);
                }
                mail.clear();
                started = true;
            } else {
                mail.extend_from_slice(&held);
            }
        }
        if read == 0 {
            break;
        }
        if blank && line.starts_with(b"From ") {
            begin = Some(line.clone());
        } else {
            // `>From ` stands for a line that only looks like a beginning.
            let quotes = line.iter().take_while(|byte| **byte == b'>').count();
            let quoted = quotes > 0 && line.get(quotes..).is_some_and(|rest| rest.starts_with(b"From "));
            mail.extend_from_slice(line.get(usize::from(quoted)..).unwrap_or_default());
        }
        blank = line.trim_ascii().is_empty();
    }
    if started {
        each(&mail);
    }
    Ok(())
}

fn is_header(line: &[u8]) -> bool {
    let name = line.iter().take_while(|byte| byte.is_ascii_graphic() && **byte != b':').count();
    name > 0 && line.get(name) == Some(&b':')
}

impl Threads {
    fn place(&mut self, mail: &Mail<'_>, text: &str, number: usize) -> Written {
        let subject = mail.words("subject");
        let (bare, answers) = bare(&subject);
        let named = format!("{} {}", mail.field("references"), mail.field("in-reply-to"));
        let known = ids(&named).find_map(|id| self.by_id.get(id)).cloned();
        let same = || self.by_subject.get(&bare).filter(|_| answers && !bare.is_empty()).cloned();
        let found = known.or_else(same);
        let first = found.is_none();
        let thread = found.unwrap_or_else(|| {
            self.count += 1;
            format!("s{}", self.count)
        });
        let own = ids(mail.field("message-id")).next().map(str::to_owned);
        // Mails whose beginning is not here still belong together.
        for id in ids(&named).map(str::to_owned).chain(own.clone()) {
            self.by_id.entry(id).or_insert_with(|| thread.clone());
        }
        if !bare.is_empty() {
            self.by_subject.insert(bare, thread.clone());
        }
        let body = text.trim().replace("\r\n", "\n");
        // What a thread is about is said in its first mail only.
        let text = match first && !subject.is_empty() && !body.is_empty() {
            true => format!("{}\n\n{body}", subject.trim()),
            false => body,
        };
        let (time, utc) = mail.time();
        let id = own.unwrap_or_else(|| format!("mail{number}"));
        Written { said: Said { id, session: Some(thread), speaker: mail.speaker(), text, time }, utc }
    }
}

/// A subject without what says that it answers, in lower case; and whether it answers.
fn bare(subject: &str) -> (String, bool) {
    let lower = subject.trim().to_lowercase();
    let mut rest = lower.as_str();
    while let Some(after) = ANSWERS.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = after.trim_start();
    }
    (rest.to_owned(), rest.len() < lower.len())
}

/// The ids between angle brackets.
fn ids(field: &str) -> impl Iterator<Item = &str> {
    field.split('<').skip(1).filter_map(|piece| piece.split_once('>')).map(|(id, _)| id.trim())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn mailboxes_are_told_by_their_beginning() {
        assert!(is_mailbox("From ana@x Sat May  2 09:00:00 2026\nFrom: Ana\nDate: x\n\nhi"));
        assert!(is_mailbox("From - Sat May  2 09:00:00 2026\r\nX-Status: 1\r\nDATE: x\r\n\r\nhi"));
        assert!(!is_mailbox("From here on it rained.\n\nDate: x"));
        assert!(!is_mailbox("From: Ana\nDate: x\n\nhi"));
        assert!(!is_mailbox(""));
    }

    #[test]
    fn answers_share_their_subject() {
        assert_eq!(bare("Re: AW:  Trip"), ("trip".to_owned(), true));
        assert_eq!(bare("Trip"), ("trip".to_owned(), false));
        assert_eq!(ids("<a@x> (b) <c@y>").collect::<Vec<_>>(), ["a@x", "c@y"]);
    }
}
