//! A script that drives the explorer: one step a line. Knows the words of scripts; carries nothing out.

use std::path::PathBuf;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keys::key_of;
use crate::settings::unknown_name;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask a question, and wait for its answer.
    Ask(String),
    /// Run a command as if typed after `:`, and wait for what it starts.
    Command(String),
    /// Press a key so many times.
    Key(KeyEvent, u32),
    /// Type text, a character at a time.
    Type(String),
    /// Say something in the last line.
    Say(String),
    /// Do nothing for a while.
    Pause(Duration),
    /// Wait for a key of whoever watches; where nobody can, go on.
    Stop,
    /// Fail unless the screen shows this text.
    Expect(String),
    /// Write a picture of the screen.
    Picture(PathBuf),
    /// The size of the screen where there is no terminal: columns and rows.
    Size(u16, u16),
    /// Keys pressed, commands run and questions asked leave no time on the screen; the default.
    Steady(bool),
}

/// The words that begin a line, what stands after them, and what they do.
pub const WORDS: [(&str, &str, &str); 11] = [
    ("ask", "QUESTION", "ask it and wait for the answer"),
    ("command", "TEXT", "run a command, as after `:`, and wait for what it starts"),
    ("key", "NAME [TIMES]", "press a key, as the table of keys writes it"),
    ("type", "TEXT", "type text into whatever is being edited"),
    ("say", "TEXT", "say something in the last line, until the next key"),
    ("pause", "SECONDS", "do nothing for a while"),
    ("stop", "", "wait for a key of whoever watches"),
    ("expect", "TEXT", "fail unless the screen shows this text"),
    ("picture", "FILE.svg", "write a picture of the screen"),
    ("size", "COLUMNSxROWS", "the size of the screen where there is no terminal"),
    ("clock", "on|off", "show how long answers took; off, so that every run looks the same, unless said"),
];

/// Most times that one line presses a key.
const MOST_TIMES: u32 = 1000;
/// Longest pause, in seconds.
const LONGEST: f64 = 600.0;
/// Largest side of a screen.
const LARGEST: u16 = 500;

/// Read a script: a step a line; empty lines and lines that begin with `#` are skipped. Steps come with their lines,
/// counted from 1.
///
/// # Errors
/// One sentence with the line: an unknown word or key, a missing or senseless value.
pub fn parse(text: &str) -> Result<Vec<(usize, Step)>, String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| step(line).map(|step| (at, step)).map_err(|words| format!("line {at}: {words}")))
        .collect()
}

fn step(line: &str) -> Result<Step, String> {
    let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let Some((_, what, _)) = WORDS.iter().find(|(name, _, _)| *name == word) else {
        return Err(unknown_name("step", word, WORDS.iter().map(|(name, _, _)| *name)));
    };
    if rest.is_empty() != what.is_empty() {
        return Err(if what.is_empty() {
            format!("'{word}' stands alone, without '{rest}'")
        } else {
            format!("'{word}' needs {what} after it")
        });
    }
    let text = || rest.to_owned();
    Ok(match word {
        "ask" => Step::Ask(text()),
        "command" => Step::Command(rest.trim_start_matches(':').to_owned()),
        "key" => key(rest)?,
        "type" => Step::Type(text()),
        "say" => Step::Say(text()),
        "pause" => match rest.parse::<f64>() {
            Ok(seconds) if (0.0..=LONGEST).contains(&seconds) => Step::Pause(Duration::from_secs_f64(seconds)),
            _ => return Err(format!("'{rest}' is no pause: a number of seconds from 0 to {LONGEST}")),
        },
        "stop" => Step::Stop,
        "expect" => Step::Expect(text()),
        "picture" => Step::Picture(PathBuf::from(rest)),
        "size" => match size(rest) {
            Some((columns, rows)) => Step::Size(columns, rows),
            None => return Err(format!("'{rest}' is no size: columns x rows, as 120x40, up to {LARGEST} each")),
        },
        _ => match rest {
            "on" => Step::Steady(false),
            "off" => Step::Steady(true),
            _ => return Err(format!("'{rest}' is neither on nor off")),
        },
    })
}

/// `120x40`; `None` for anything else and for sides beyond what a screen has.
pub fn size(text: &str) -> Option<(u16, u16)> {
    let (columns, rows) = text.split_once('x')?;
    let side = |text: &str| text.trim().parse().ok().filter(|side| (1..=LARGEST).contains(side));
    Some((side(columns)?, side(rows)?))
}

fn key(rest: &str) -> Result<Step, String> {
    let (name, times) = match rest.rsplit_once(char::is_whitespace) {
        None => (rest, 1),
        Some((name, times)) => match times.parse() {
            Ok(times) if (1..=MOST_TIMES).contains(&times) => (name.trim(), times),
            _ => return Err(format!("'{times}' is no number of times from 1 to {MOST_TIMES}")),
        },
    };
    Ok(Step::Key(key_of(name)?, times))
}

/// The key that types a character.
pub fn typed(character: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_and_mistakes_are_told_with_their_line() {
        let script = "# a comment\n\nask When?\n  key + 5\nkey Tab\ncommand :set alpha 0.3\npause .5\nsize 100x30\nstop\nclock on";
        let steps = parse(script).unwrap();
        assert_eq!(steps[0], (3, Step::Ask("When?".to_owned())));
        assert_eq!(steps[1], (4, Step::Key(typed('+'), 5)));
        assert_eq!(steps[2].1, Step::Key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE), 1));
        assert_eq!(steps[3].1, Step::Command("set alpha 0.3".to_owned()));
        assert_eq!(steps[4].1, Step::Pause(Duration::from_millis(500)));
        assert_eq!(steps[5].1, Step::Size(100, 30));
        assert_eq!((&steps[6].1, &steps[7].1), (&Step::Stop, &Step::Steady(false)));
        let wrong = |line: &str| parse(line).unwrap_err();
        assert_eq!(wrong("ask a\naks b"), "line 2: there is no step 'aks': did you mean 'ask'?");
        assert_eq!(wrong("ask"), "line 1: 'ask' needs QUESTION after it");
        assert_eq!(wrong("stop now"), "line 1: 'stop' stands alone, without 'now'");
        assert!(wrong("key tab").contains("did you mean 'Tab'?"));
        for line in ["pause -1", "pause NaN", "pause 1e9", "size 0x3", "size 80", "key j 0", "key j k", "clock no"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
