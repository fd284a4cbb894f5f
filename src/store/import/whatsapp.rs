//! WhatsApp's text export: one chat a file, a line or more a message. Knows this shape only; the date of one line is read
//! elsewhere.

use std::io::{BufRead, Read};
use std::path::Path;

use super::super::StoreError;
use super::super::adapter::{Notes, Said};
use super::chat;
use super::sink::Sink;
use super::source::Source;
use super::whatsapp_line::{Head, MARKS, Order, Stamp, head};
use crate::moment::Moment;

/// What stands for a picture or another file, in the languages known here.
const MEDIA: [&str; 12] = [
    "<Media omitted>",
    "<Medien ausgeschlossen>",
    "<Medien weggelassen>",
    "<Multimedia omitido>",
    "<Archivo omitido>",
    "<Mídia omitida>",
    "<Mídia oculta>",
    "<Ficheiro não revelado>",
    "<Médias omis>",
    "<Fichier omis>",
    "<Media omessi>",
    "<Media weggelaten>",
];

/// What stands for a message that was taken back.
const DELETED: [&str; 3] = ["This message was deleted", "You deleted this message", "null"];

/// The longest name that a speaker has.
const LONGEST_NAME: usize = 100;

/// A message, its time still unread.
struct Message {
    line: usize,
    stamp: Stamp,
    words: String,
    /// `None`: the program says it itself.
    speaker: Option<String>,
    text: String,
}

/// True when the beginning of a file is such an export.
pub(super) fn is_export(beginning: &str) -> bool {
    // A chat begins with a message; a byte that is no text comes from another kind of file.
    beginning.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| head(line).is_some())
}

/// Store the chat of the file.
pub(super) fn import(sink: &mut Sink<'_>) -> Result<(), StoreError> {
    let mut notes = Notes::default();
    let messages = read(sink)?;
    let stamps: Vec<(usize, Stamp)> = messages.iter().map(|message| (message.line, message.stamp)).collect();
    let order = order(&stamps, &messages, &mut notes);
    let mut said = Vec::new();
    for message in messages {
        let Some(speaker) = message.speaker else {
            notes.leave("notice of the program");
            continue;
        };
        let text = spoken(&message.text);
        if text.is_empty() {
            notes.leave("message without text (media, deleted, call)");
            continue;
        }
        said.push(Said {
            id: format!("line{}", message.line),
            session: None,
            speaker,
            text: text.to_owned(),
            time: message.stamp.moment(order).unwrap_or(Moment::Unread(message.words)),
        });
    }
    let id = id(sink.source);
    chat::put(sink, id, None, said, notes)
}

/// The file's name; the folder's where iPhones call every file the same.
fn id(source: &Source<'_>) -> String {
    let stem = source.stem();
    let folder = Path::new(&source.name).parent().and_then(Path::file_name);
    match folder.filter(|_| stem == "_chat") {
        Some(folder) => folder.to_string_lossy().into_owned(),
        None => stem,
    }
}

/// All messages of the file.
fn read(sink: &Sink<'_>) -> Result<Vec<Message>, StoreError> {
    let mut messages: Vec<Message> = Vec::new();
    let mut first: Option<(Stamp, bool)> = None;
    each(sink.source, &sink.count, &mut |number, line| {
        // A message can quote one of another phone; the file's own are all written alike.
        let own = |head: &Head<'_>| {
            first.is_none_or(|(stamp, bracket)| stamp.is_like(&head.stamp) && bracket == head.bracket)
        };
        if let Some(head) = head(line).filter(own) {
            first.get_or_insert((head.stamp, head.bracket));
            let (speaker, text) = split(head.rest);
            messages.push(Message {
                line: number,
                stamp: head.stamp,
                words: head.words.to_owned(),
                speaker,
                text: text.to_owned(),
            });
        } else if let Some(message) = messages.last_mut() {
            message.text.push('\n');
            message.text.push_str(line);
        }
    })?;
    Ok(messages)
}

fn each(
    source: &Source<'_>,
    count: &std::rc::Rc<std::cell::Cell<u64>>,
    each: &mut dyn FnMut(usize, &str),
) -> Result<(), StoreError> {
    let mut reader = source.open(count)?;
    let mut buffer = Vec::new();
    for number in 1.. {
        buffer.clear();
        if reader.read_until(b'\n', &mut buffer).map_err(|cause| source.io(cause))? == 0 {
            break;
        }
        each(number, String::from_utf8_lossy(&buffer).trim_end_matches(['\n', '\r']));
    }
    Ok(())
}

/// Who speaks, and what is said; no one when the program says it.
fn split(rest: &str) -> (Option<String>, &str) {
    let Some((name, text)) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, ""))) else {
        return (None, rest);
    };
    let name = name.trim_matches(|sign: char| MARKS.contains(&sign) || sign.is_whitespace());
    // `Ana changed the subject to "Trip: June"` is nobody's name.
    let quotes = name.chars().filter(|sign| matches!(sign, '"' | '“' | '”' | '„' | '«' | '»')).count();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || quotes % 2 == 1 {
        return (None, rest);
    }
    (Some(name.to_owned()), text)
}

/// What a person said. The program marks its own words in a message with a sign that shows nothing.
fn spoken(text: &str) -> &str {
    let (first, more) = text.split_once('\n').unwrap_or((text, ""));
    let bare = first.trim_matches(|sign: char| MARKS.contains(&sign) || sign.is_whitespace());
    let deleted = DELETED.contains(&bare.trim_end_matches('.')) && more.is_empty();
    if first.starts_with('\u{200e}') || MEDIA.contains(&bare) || deleted {
        return more.trim();
    }
    text.trim()
}

/// Whether days or months come first, by the whole file, and how that is known.
fn order(stamps: &[(usize, Stamp)], messages: &[Message], notes: &mut Notes) -> Order {
    if stamps.is_empty() {
        return Order::DayFirst;
    }
    notes.guess("times: as text without a zone: taken as written, zone unknown");
    if stamps.iter().all(|(_, stamp)| stamp.year_first) {
        notes.guess("dates: year, month, day");
        return Order::DayFirst;
    }
    // The place in a date of a number that no month has.
    let above = |at: usize| stamps.iter().filter(move |(_, stamp)| stamp.date.get(at).is_some_and(|part| *part > 12));
    let (days, months) = (above(0).count(), above(1).count());
    let (order, why) = if days != months {
        let order = if days > months { Order::DayFirst } else { Order::MonthFirst };
        let line = above(usize::from(order == Order::MonthFirst)).next().map_or(0, |(line, _)| *line);
        let words = messages.iter().find(|message| message.line == line).map_or("", |message| message.words.as_str());
        let (few, many) = (days.min(months), days.max(months));
        let why = match few {
            0 => format!("'{words}' in line {line} can be read in no other way"),
            _ => format!("{many} dates can be read in no other way, {few} only the other way round are kept as words"),
        };
        (order, why)
    } else {
        by_course(stamps)
    };
    let name = if order == Order::DayFirst { "day before month" } else { "month before day" };
    notes.guess(format!("dates: {name}; {}", super::super::clean::clean_line(&why, &mut 0)));
    order
}

/// When no date tells: the order in which the chat runs forwards, else what is usual with such dates.
fn by_course(stamps: &[(usize, Stamp)]) -> (Order, String) {
    let steps_back = |order| {
        let times: Vec<i64> =
            stamps.iter().filter_map(|(_, stamp)| stamp.moment(order).and_then(|time| time.seconds())).collect();
        times.iter().zip(times.iter().skip(1)).filter(|(one, next)| next < one).count()
    };
    let (day, month) = (steps_back(Order::DayFirst), steps_back(Order::MonthFirst));
    match day.cmp(&month) {
        std::cmp::Ordering::Less => (Order::DayFirst, "read so, the chat runs forwards".to_owned()),
        std::cmp::Ordering::Greater => (Order::MonthFirst, "read so, the chat runs forwards".to_owned()),
        std::cmp::Ordering::Equal => {
            let american = stamps.iter().all(|(_, stamp)| stamp.half && stamp.separator == '/');
            let order = if american { Order::MonthFirst } else { Order::DayFirst };
            (order, "a guess from how its dates are written, for no date tells".to_owned())
        }
    }
}

/// The beginning of a source as text.
pub(super) fn beginning(source: &Source<'_>) -> Result<String, StoreError> {
    let mut head = Vec::new();
    let reader = source.open(&Default::default())?;
    reader.take(1 << 16).read_to_end(&mut head).map_err(|cause| source.io(cause))?;
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn guess(lines: &[&str]) -> (Order, String) {
        let messages: Vec<Message> = (1..)
            .zip(lines)
            .map(|(line, text)| {
                let head = head(text).unwrap();
                let (words, stamp) = (head.words.to_owned(), head.stamp);
                Message { line, stamp, words, speaker: None, text: String::new() }
            })
            .collect();
        let stamps: Vec<_> = messages.iter().map(|message| (message.line, message.stamp)).collect();
        let mut notes = Notes::default();
        (order(&stamps, &messages, &mut notes), notes.guesses.into_iter().collect::<Vec<_>>().join(" | "))
    }

    #[test]
    fn the_order_is_told_by_the_whole_file() {
        let rows: [(&[&str], Order, &str); 6] = [
            (&["1/2/23, 10:00 - a", "13/2/23, 10:00 - a"], Order::DayFirst, "'13/2/23, 10:00' in line 2"),
            (&["1/2/23, 10:00 - a", "2/13/23, 10:00 - a"], Order::MonthFirst, "'2/13/23, 10:00' in line 2"),
            (&["11/1/23, 10:00 - a", "1/2/23, 10:00 - a"], Order::DayFirst, "runs forwards"),
            (&["2/1/23, 10:00 - a", "3/1/23, 9:00 - a", "1/4/23, 9:00 - a"], Order::DayFirst, "runs forwards"),
            (&["1/11/23, 9:00 PM - a"], Order::MonthFirst, "a guess"),
            (&["1.11.23, 21:00 - a"], Order::DayFirst, "a guess"),
        ];
        for (lines, want, why) in rows {
            let (order, said) = guess(lines);
            assert!(order == want && said.contains(why), "{lines:?}: {order:?}, {said}");
        }
    }

    #[test]
    fn names_notices_and_media_are_told_apart() {
        assert_eq!(split("Ana Lopes: see: here"), (Some("Ana Lopes".to_owned()), "see: here"));
        assert_eq!(split("\u{202a}+39 000 000\u{202c}: hi").0.as_deref(), Some("+39 000 000"));
        assert_eq!(split("Ana changed the subject to “Trip: June”").0, None);
        assert_eq!(split("Messages are end-to-end encrypted.").0, None);
        assert_eq!(split("Ana:"), (Some("Ana".to_owned()), ""));
        let rows = [
            ("<Media omitted>", ""),
            ("\u{200e}image omitted", ""),
            ("\u{200e}<attached: 1.jpg>\nLook!", "Look!"),
            ("This message was deleted.", ""),
            ("<3", "<3"),
            ("one\n\ntwo\n", "one\n\ntwo"),
        ];
        for (text, want) in rows {
            assert_eq!(spoken(text), want, "{text:?}");
        }
    }
}
