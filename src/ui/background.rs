//! Whether the terminal is dark or light: asked once with OSC 11, with a short patience. Knows the answer as keys, because
//! that is how it arrives; no part of it ever reaches a line that is typed.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::theme::colour::{Rgb, is_light};

/// How long a terminal is waited for.
pub const PATIENCE: Duration = Duration::from_millis(100);
/// How long an answer that came too late is kept out of what is typed.
const LATE: Duration = Duration::from_secs(5);
/// Longest answer: `11;rgba:ffff/ffff/ffff/ffff`.
const LONGEST: usize = 32;

/// What is known of the ground.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// Whether it is light.
    pub light: bool,
    /// From what that is known.
    pub from: From,
}

/// From what the ground is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// The terminal said its colour.
    Terminal(Rgb),
    /// The variable `COLORFGBG`.
    Variable(String),
    /// Nothing: most terminals are dark.
    Nothing,
}

/// Ask the terminal, which must be in raw mode and read by nobody else. What came in meanwhile and is no answer comes
/// back; the filter keeps out what comes later.
///
/// # Errors
/// When the terminal cannot be written or read.
pub fn ask() -> io::Result<(Background, Vec<Event>, Filter)> {
    let mut out = io::stdout().lock();
    out.write_all(b"\x1b]11;?\x1b\\")?;
    out.flush()?;
    drop(out);
    let (mut filter, mut others) = (Filter::new(), Vec::new());
    let until = Instant::now() + PATIENCE;
    while filter.colour.is_none() && event::poll(until.saturating_duration_since(Instant::now()))? {
        others.extend(filter.pass(event::read()?));
    }
    let variable = std::env::var("COLORFGBG").ok();
    Ok((decide(filter.colour, variable), others, filter))
}

/// The same for those who have no screen: the terminal is as before afterwards, and what came in meanwhile is gone.
///
/// # Errors
/// When the terminal cannot be had.
pub fn look() -> io::Result<Background> {
    enable_raw_mode()?;
    let found = ask().map(|(background, _, _)| background);
    disable_raw_mode()?;
    found
}

/// What follows from an answer and the variable.
fn decide(answer: Option<Rgb>, variable: Option<String>) -> Background {
    if let Some(colour) = answer {
        return Background { light: is_light(colour), from: From::Terminal(colour) };
    }
    match variable.as_deref().and_then(ground_of) {
        Some(ground) => Background {
            // White and the lighter colours, but for dark grey.
            light: ground == 7 || ground > 8,
            from: From::Variable(variable.unwrap_or_default()),
        },
        None => Background { light: false, from: From::Nothing },
    }
}

/// The ground in `15;0` or `15;default;0`.
fn ground_of(variable: &str) -> Option<u8> {
    variable.rsplit_once(';')?.1.parse().ok().filter(|ground| *ground < 16)
}

/// Takes the answer out of what comes in.
#[derive(Debug)]
pub struct Filter {
    /// What the terminal answered.
    colour: Option<Rgb>,
    /// From when on nothing is an answer any more.
    until: Instant,
    /// What came in of an answer.
    held: Vec<Event>,
    text: String,
    inside: bool,
}

impl Filter {
    fn new() -> Self {
        Self { colour: None, until: Instant::now() + LATE, held: Vec::new(), text: String::new(), inside: false }
    }

    /// What of this, and of what was held back before, is no answer.
    pub fn pass(&mut self, event: Event) -> Vec<Event> {
        let Event::Key(key) = &event else { return vec![event] };
        if !self.inside && Instant::now() > self.until {
            return vec![event];
        }
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, self.inside) {
            _ if key.kind == KeyEventKind::Release => vec![event],
            // ESC ] begins an answer.
            (KeyCode::Char(']'), false) if alt => {
                self.inside = true;
                self.held.push(event);
                Vec::new()
            }
            (_, false) => vec![event],
            // BEL or ESC \ ends it.
            (KeyCode::Char('g'), true) if control => self.end(),
            (KeyCode::Char('\\'), true) if alt => self.end(),
            (KeyCode::Char(c), true) if !alt && !control && self.goes_on(c) => {
                self.text.push(c);
                self.held.push(event);
                Vec::new()
            }
            // Not an answer after all: nothing that somebody typed is lost.
            _ => {
                let mut all = self.forget();
                all.push(event);
                all
            }
        }
    }

    fn goes_on(&self, c: char) -> bool {
        self.text.len() < LONGEST && (c.is_ascii_hexdigit() || ";:/rgb".contains(c))
    }

    fn end(&mut self) -> Vec<Event> {
        self.colour = colour_of(&self.text).or(self.colour);
        self.forget();
        Vec::new()
    }

    fn forget(&mut self) -> Vec<Event> {
        self.inside = false;
        self.text.clear();
        std::mem::take(&mut self.held)
    }
}

/// The colour in `11;rgb:1e1e/1e1e/2e2e`. Terminals give one to four digits a part.
fn colour_of(answer: &str) -> Option<Rgb> {
    let parts = answer.strip_prefix("11;")?;
    let parts = parts.strip_prefix("rgb:").or_else(|| parts.strip_prefix("rgba:"))?;
    let part = |text: &str| {
        let most = 16_u32.checked_pow(text.len() as u32).filter(|_| (1..=4).contains(&text.len()))? - 1;
        Some((u32::from_str_radix(text, 16).ok()? * 255 / most) as u8)
    };
    let mut parts = parts.split('/').map(part);
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ratatui::crossterm::event::KeyEvent;

    use super::*;

    fn key(c: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), modifiers))
    }

    /// An answer as it arrives.
    fn answer(text: &str) -> Vec<Event> {
        let body = text.chars().map(|c| key(c, KeyModifiers::NONE));
        std::iter::once(key(']', KeyModifiers::ALT)).chain(body).collect()
    }

    fn passed(filter: &mut Filter, events: Vec<Event>) -> Vec<Event> {
        events.into_iter().flat_map(|event| filter.pass(event)).collect()
    }

    #[test]
    fn an_answer_is_taken_out_of_what_is_typed() {
        for end in [key('\\', KeyModifiers::ALT), key('g', KeyModifiers::CONTROL)] {
            let mut filter = Filter::new();
            let mut events = vec![key('x', KeyModifiers::NONE)];
            events.extend(answer("11;rgb:1e1e/1E1E/2e2e"));
            events.extend([end, key('y', KeyModifiers::NONE)]);
            let left = passed(&mut filter, events);
            assert_eq!(left, [key('x', KeyModifiers::NONE), key('y', KeyModifiers::NONE)]);
            assert_eq!(filter.colour, Some([0x1e, 0x1e, 0x2e]));
        }
    }

    #[test]
    fn what_is_no_answer_is_not_lost() {
        let mut filter = Filter::new();
        let typed: Vec<Event> = answer("11;where").into_iter().collect();
        assert_eq!(passed(&mut filter, typed.clone()), typed);
        let long = answer(&format!("{}x", "1".repeat(40)));
        assert_eq!(passed(&mut filter, long.clone()), long);
        assert_eq!(filter.colour, None);
        filter.until = Instant::now() - Duration::from_secs(1);
        let late = answer("11;rgb:");
        assert_eq!(passed(&mut filter, late.clone()), late);
    }

    #[test]
    fn colours_are_read_in_every_length() {
        assert_eq!(colour_of("11;rgb:ff/80/00"), Some([255, 128, 0]));
        assert_eq!(colour_of("11;rgb:f/8/0"), Some([255, 136, 0]));
        assert_eq!(colour_of("11;rgba:ffff/0000/ffff/8000"), Some([255, 0, 255]));
        for wrong in ["10;rgb:ff/80/00", "11;rgb:ff/80", "11;rgb:fffff/0/0", "11;#ffffff", "11;rgb:/0/0", ""] {
            assert_eq!(colour_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_terminal_wins_over_the_variable_and_nothing_means_dark() {
        let of = |answer, variable: &str| decide(answer, Some(variable.to_owned())).light;
        assert!(of(Some([255; 3]), "15;0") && !of(Some([0; 3]), "0;15"));
        for (variable, light) in
            [("0;15", true), ("15;0", false), ("0;default;7", true), ("15;8", false), ("x", false), ("0;99", false)]
        {
            assert_eq!(of(None, variable), light, "{variable}");
        }
        assert_eq!(decide(None, None), Background { light: false, from: From::Nothing });
    }
}
