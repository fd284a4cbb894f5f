//! Playing a script: its steps are carried out on a session, in the terminal at a pace that people can follow, or without
//! one as fast as they go. Knows steps and sessions; no model, no database.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::cast::Cast;
use super::export::export;
use super::model::Start;
use super::script::{Step, typed};
use super::session::{Session, Source};
use super::terminal::Screen;
use super::update::{Effect, Input};
use super::view::view;

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Time after a key that is pressed once or many times, and after a typed character.
const AFTER_KEY: Duration = Duration::from_millis(350);
const AFTER_LETTER: Duration = Duration::from_millis(45);
/// How long a frame may wait while answers come in.
const FRAME: Duration = Duration::from_millis(50);

/// How a script is played.
#[derive(Debug, Clone)]
pub struct Playing {
    /// Without a terminal: columns and rows of the screen until the script says something else. `None`: in the terminal.
    pub size: Option<(u16, u16)>,
    /// Whether a recording is made.
    pub cast: bool,
    /// How much faster than usual; above 0.
    pub speed: f64,
    /// Where pictures are written whose names say no folder.
    pub into: PathBuf,
    /// Whether files that are there are overwritten.
    pub overwrite: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Played {
    /// The files written, as sentences.
    pub written: Vec<String>,
    /// The recording.
    pub cast: Option<String>,
    /// Why it stopped before the end: the line, and a sentence.
    pub failed: Option<(usize, String)>,
}

/// Play a script.
///
/// # Errors
/// When the terminal or the engine's thread cannot be had, or the terminal goes away.
pub fn play(start: &Start, source: Source, steps: &[(usize, Step)], playing: &Playing) -> anyhow::Result<Played> {
    let mut session = Session::start(start, source)?;
    session.model.steady = true;
    let screen = match playing.size {
        Some(size) => {
            session.model.size = first_size(steps).unwrap_or(size);
            None
        }
        None => Some(Screen::take(&mut session, start)?),
    };
    let cast = if playing.cast { Some(Cast::new(session.model.size, "memsift")?) } else { None };
    let mut player = Player { session, screen, cast, playing, written: Vec::new() };
    let mut failed = None;
    if player.settle()? {
        for (line, step) in steps {
            match player.step(step)? {
                Flow::On => {}
                Flow::Leave => break,
                Flow::Fail(sentence) => {
                    failed = Some((*line, sentence));
                    break;
                }
            }
        }
    }
    let Player { session, screen, cast, written, .. } = player;
    // Leave the screen first: the engine may take a moment to finish its batch.
    drop(screen);
    drop(session);
    Ok(Played { written, cast: cast.map(Cast::finish), failed })
}

/// The size that a script gives before anything else happens, so that a recording has it from its beginning.
fn first_size(steps: &[(usize, Step)]) -> Option<(u16, u16)> {
    match steps.first() {
        Some((_, Step::Size(columns, rows))) => Some((*columns, *rows)),
        _ => None,
    }
}

/// How it goes on after a step.
enum Flow {
    On,
    Leave,
    Fail(String),
}

struct Player<'a> {
    session: Session,
    screen: Option<Screen>,
    cast: Option<Cast>,
    playing: &'a Playing,
    written: Vec<String>,
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> anyhow::Result<Flow> {
        match step {
            Step::Ask(question) => return self.command(&format!("ask {question}")),
            Step::Command(text) => return self.command(text),
            Step::Key(key, times) => {
                for _ in 0..*times {
                    if !self.press(*key, AFTER_KEY.div_f64(f64::from((*times).clamp(1, 4))))? {
                        return Ok(Flow::Leave);
                    }
                }
            }
            Step::Type(text) => {
                for character in text.chars() {
                    if !self.press(typed(character), AFTER_LETTER)? {
                        return Ok(Flow::Leave);
                    }
                }
            }
            Step::Say(text) => {
                self.session.model.say(crate::store::clean::clean_line(text, &mut 0));
                self.draw()?;
            }
            Step::Pause(time) => {
                if !self.rest(*time)? {
                    return Ok(Flow::Leave);
                }
            }
            Step::Stop if self.screen.is_some() => {
                if !self.rest(PATIENCE)? {
                    return Ok(Flow::Leave);
                }
            }
            Step::Stop => {}
            Step::Expect(text) => {
                if !self.shows(text) {
                    return Ok(Flow::Fail(format!("the screen does not show '{text}'")));
                }
            }
            Step::Picture(path) => return Ok(self.picture(path)),
            Step::Size(columns, rows) if self.screen.is_none() => {
                if self.cast.is_some() && self.session.model.size != (*columns, *rows) {
                    return Ok(Flow::Fail("a recording has one size: give it in the first step".to_owned()));
                }
                self.session.take(Input::Size(*columns, *rows));
            }
            Step::Size(..) => {}
            Step::Steady(steady) => self.session.model.steady = *steady,
        }
        Ok(Flow::On)
    }

    /// Run a command and wait for what it starts; a sentence of its own about what went wrong ends the script.
    fn command(&mut self, text: &str) -> anyhow::Result<Flow> {
        let effects = self.session.take(Input::Command(text.to_owned()));
        if !self.outside(effects)? || !self.settle()? {
            return Ok(Flow::Leave);
        }
        let failed = self.session.model.message.as_ref().filter(|message| message.is_error);
        let failed = failed.map(|message| message.text.clone());
        Ok(failed.map_or(Flow::On, Flow::Fail))
    }

    /// Press a key, wait for what it starts, and give people time to see it; false to leave.
    fn press(&mut self, key: KeyEvent, after: Duration) -> anyhow::Result<bool> {
        let effects = self.session.take(Input::Key(key));
        Ok(self.outside(effects)? && self.settle()? && self.rest(after)?)
    }

    /// Let the terminal do what it can; false to leave.
    fn outside(&mut self, effects: Vec<Effect>) -> anyhow::Result<bool> {
        for effect in effects {
            let on = match &mut self.screen {
                Some(screen) => screen.carry_out(effect, self.session.model.mouse)?,
                None => !matches!(effect, Effect::Quit),
            };
            if !on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Wait until nothing is at work any more, then show it; false to leave.
    fn settle(&mut self) -> anyhow::Result<bool> {
        if self.screen.is_none() {
            self.session.settle(PATIENCE);
        }
        while self.screen.is_some() && self.session.is_busy() {
            if !self.listen(FRAME)?.unwrap_or(true) {
                return Ok(false);
            }
        }
        self.draw()?;
        Ok(true)
    }

    /// Let so much time go by. Whoever watches goes on at once with a key; `q`, Esc and Ctrl-c leave, which is false.
    fn rest(&mut self, time: Duration) -> anyhow::Result<bool> {
        let time = time.div_f64(self.playing.speed);
        if let Some(cast) = &mut self.cast {
            cast.rest(time);
        }
        let began = Instant::now();
        while self.screen.is_some()
            && let Some(left) = time.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
        {
            if let Some(on) = self.listen(left)? {
                return Ok(on);
            }
        }
        Ok(true)
    }

    /// Take in what comes within so much time, and show it. A key pressed by whoever watches: true to go on, false to
    /// leave.
    fn listen(&mut self, most: Duration) -> anyhow::Result<Option<bool>> {
        let mut pressed = None;
        for input in self.session.wait(Some(most)) {
            match input {
                Input::Key(key) => pressed = Some(!leaves(&key)),
                Input::Engine(_) | Input::Size(..) => {
                    let effects = self.session.take(input);
                    self.outside(effects)?;
                }
                Input::End => pressed = Some(false),
                Input::Mouse(_) | Input::Paste(_) | Input::Command(_) => {}
            }
        }
        if let Some(screen) = &mut self.screen {
            screen.draw(&mut self.session.model)?;
        }
        Ok(pressed)
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        if let Some(screen) = &mut self.screen {
            screen.draw(&mut self.session.model)?;
        }
        if let Some(cast) = &mut self.cast {
            cast.draw(&self.session.model)?;
        }
        Ok(())
    }

    fn shows(&self, text: &str) -> bool {
        let (columns, rows) = self.session.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        view(&self.session.model, &mut buffer);
        let row =
            |y: u16| (0..columns).filter_map(|x| buffer.cell((x, y))).map(|cell| cell.symbol()).collect::<String>();
        (0..rows).any(|y| row(y).contains(text))
    }

    fn picture(&mut self, path: &Path) -> Flow {
        let path = self.playing.into.join(path);
        if path.extension().is_none_or(|end| end != "svg") {
            return Flow::Fail(format!("'{}' is no picture: its name must end in .svg", path.display()));
        }
        match export(&self.session.model, &path, self.playing.overwrite) {
            Ok(words) => {
                self.written.push(words);
                Flow::On
            }
            Err(words) => Flow::Fail(words),
        }
    }
}

/// Whether a key of whoever watches means to leave.
fn leaves(key: &KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        KeyCode::Char('q') | KeyCode::Esc => true,
        _ => false,
    }
}
