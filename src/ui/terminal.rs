//! The loop around model and screen: reads the terminal, starts the engine, carries out effects, and puts the terminal
//! back whatever happens.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};

use super::background::{self, Filter};
use super::clipboard::osc52;
use super::export::export;
use super::journal::{self, Journal};
use super::model::{Model, Start};
use super::update::{Effect, Input, update};
use super::view::view;
use crate::engine::{Engine, EngineOptions, Job, Replay};
use crate::trace::Trace;

/// Where the answers come from.
pub enum Source {
    /// A database, with models.
    Database(Box<EngineOptions>),
    /// One trace from a file.
    Trace {
        /// The trace.
        trace: Box<Trace>,
        /// Fingerprint of the database that it was made from.
        fingerprint: String,
    },
}

/// What jobs are sent to.
enum Answers {
    Engine(Engine),
    Replay(Replay),
}

impl Answers {
    fn send(&self, job: Job) {
        journal::job(&job);
        match self {
            Self::Engine(engine) => engine.send(job),
            Self::Replay(replay) => replay.send(&job),
        }
    }
}

/// Open the screen and stay until the user leaves.
///
/// # Errors
/// When the terminal or the engine's thread cannot be had, or the terminal goes away.
pub fn run(start: &Start, source: Source) -> anyhow::Result<()> {
    let (inputs, inbox) = channel();
    let engine_inputs = inputs.clone();
    // The receiver outlives the engine; when it is gone nobody listens any more.
    let heard = Journal::default();
    let say = move |event| {
        heard.event(&event);
        drop(engine_inputs.send(Input::Engine(event)));
    };
    let engine = match source {
        Source::Database(options) => Answers::Engine(Engine::start(*options, say)?),
        Source::Trace { trace, fingerprint } => Answers::Replay(Replay::new(&trace, fingerprint, say)),
    };
    engine.send(Job::Open(start.database.clone()));
    let mut model = Model::new(start);
    let mut screen = Screen::open(model.mouse)?;
    let size = screen.terminal.size()?;
    model.size = (size.width, size.height);
    let mut filter = None;
    if let Some(light) = &start.light {
        // Before anybody else reads the terminal; a terminal that cannot be asked is dark.
        if let Ok((background, typed, late)) = background::ask() {
            if background.light {
                model.theme = light.clone();
            }
            typed.into_iter().filter_map(input).for_each(|input| drop(inputs.send(input)));
            filter = Some(late);
        }
    }
    read_terminal(inputs, filter)?;
    let result = turn(&mut model, &mut screen, &inbox, &engine);
    // Leave the screen first: the engine may take a moment to finish its batch.
    drop(screen);
    drop(engine);
    result
}

/// Draw, wait, take everything in, do what follows from it; until the user leaves.
fn turn(model: &mut Model, screen: &mut Screen, inbox: &Receiver<Input>, engine: &Answers) -> anyhow::Result<()> {
    loop {
        screen.terminal.draw(|frame| view(model, frame.buffer_mut()))?;
        let Ok(first) = inbox.recv() else { return Ok(()) };
        let mut waiting = vec![first];
        waiting.extend(inbox.try_iter());
        // Of several results of one question only the last is worth a frame.
        let is_scored = |input: &Input| matches!(input, Input::Engine(crate::engine::Event::Scored { .. }));
        let last = waiting.iter().rposition(is_scored);
        for (at, input) in waiting.into_iter().enumerate() {
            if is_scored(&input) && Some(at) != last {
                continue;
            }
            for effect in update(model, input) {
                if !carry_out(effect, model, screen, engine)? {
                    return Ok(());
                }
            }
        }
    }
}

/// Do what an effect says; false to leave.
fn carry_out(effect: Effect, model: &mut Model, screen: &mut Screen, engine: &Answers) -> anyhow::Result<bool> {
    match effect {
        Effect::Send(job) => engine.send(job),
        Effect::Quit => return Ok(false),
        Effect::Copy(text) => copy(&text)?,
        Effect::Mouse(on) => screen.mouse(on)?,
        Effect::Export { path, overwrite } => match export(model, &path, overwrite) {
            Ok(words) => {
                journal::info(&words);
                model.say(words);
            }
            Err(words) => {
                journal::error(&words);
                model.fail(words);
            }
        },
        Effect::SavePin(name) => match model.pins.save(&name) {
            Ok(notice) => notice.into_iter().for_each(|notice| model.fail(notice)),
            Err(error) => model.fail(format!("pin '{name}' stays until the program ends only: {error}")),
        },
        Effect::Suspend => screen.suspend(model.mouse)?,
    }
    Ok(true)
}

/// One thread that does nothing but wait for the terminal.
fn read_terminal(inputs: Sender<Input>, mut filter: Option<Filter>) -> io::Result<()> {
    std::thread::Builder::new().name("terminal".into()).spawn(move || {
        while let Ok(event) = event::read() {
            let events = match &mut filter {
                Some(filter) => filter.pass(event),
                None => vec![event],
            };
            for input in events.into_iter().filter_map(input) {
                if inputs.send(input).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(())
}

/// What an event means, where it means something.
fn input(event: event::Event) -> Option<Input> {
    Some(match event {
        event::Event::Key(key) => Input::Key(key),
        event::Event::Mouse(mouse) if mouse.kind != event::MouseEventKind::Moved => Input::Mouse(mouse),
        event::Event::Paste(text) => Input::Paste(text),
        event::Event::Resize(columns, rows) => Input::Size(columns, rows),
        _ => return None,
    })
}

/// Put text on the clipboard of the terminal.
fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(osc52(text).as_bytes())?;
    out.flush()
}

/// The terminal while it belongs to the program. Dropping it gives it back, and so does a panic.
struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    fn open(mouse: bool) -> io::Result<Self> {
        let before = std::panic::take_hook();
        let screen_thread = std::thread::current().id();
        std::panic::set_hook(Box::new(move |info| {
            // Faults of other threads are caught there and shown; words here would tear the screen.
            journal::error(&info.to_string());
            if std::thread::current().id() == screen_thread {
                restore();
                before(info);
            }
        }));
        enter(mouse)?;
        match Terminal::new(CrosstermBackend::new(io::stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    fn mouse(&mut self, on: bool) -> io::Result<()> {
        if on { execute!(io::stdout(), EnableMouseCapture) } else { execute!(io::stdout(), DisableMouseCapture) }
    }

    /// Stop like any program at Ctrl-z, and come back with the same screen.
    fn suspend(&mut self, mouse: bool) -> io::Result<()> {
        restore();
        stop_self();
        enter(mouse)?;
        // Not `clear`: that asks the terminal where its cursor is, and the reading thread would take the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        drop(std::panic::take_hook());
    }
}

fn enter(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    let entered = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)
        .and_then(|()| if mouse { execute!(io::stdout(), EnableMouseCapture) } else { Ok(()) });
    if entered.is_err() {
        restore();
    }
    entered
}

/// Give the terminal back. Failing changes nothing: there is no terminal any more then.
fn restore() {
    let _ = execute!(io::stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// Ask the system to stop this process. Where it knows no such thing, the screen is simply drawn again.
fn stop_self() {
    let _ = std::process::Command::new("kill").args(["-TSTP", &std::process::id().to_string()]).status();
}
