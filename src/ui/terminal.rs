//! The loop around session and screen: reads the terminal, draws, and puts the terminal back whatever happens.

use std::io::{self, Write};
use std::sync::mpsc::Sender;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use ratatui::{Frame, Terminal};

use super::background::{self, Filter};
use super::clipboard::osc52;
use super::journal;
use super::model::{Model, Start};
use super::session::{Session, Source};
use super::update::{Effect, Input};
use super::view::view;

/// Open the screen and stay until the user leaves.
///
/// # Errors
/// When the terminal or the engine's thread cannot be had, or the terminal goes away.
pub fn run(start: &Start, source: Source) -> anyhow::Result<()> {
    let mut session = Session::start(start, source)?;
    let mut screen = Screen::take(&mut session, start)?;
    let result = turn(&mut session, &mut screen);
    // Leave the screen first: the engine may take a moment to finish its batch.
    drop(screen);
    drop(session);
    result
}

/// Draw, wait, take everything in, do what follows from it; until the user leaves.
fn turn(session: &mut Session, screen: &mut Screen) -> anyhow::Result<()> {
    loop {
        screen.draw(&mut session.model)?;
        let waiting = session.wait(None);
        if waiting.is_empty() {
            return Ok(());
        }
        for input in waiting {
            for effect in session.take(input) {
                if !screen.carry_out(effect, session.model.mouse)? {
                    return Ok(());
                }
            }
        }
    }
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

/// One thread that waits for the system to ask for the end: the terminal is given back before. Who asks twice does not wait.
#[cfg(unix)]
fn hear_signals(inputs: Sender<Input>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked = false;
        for signal in &mut signals {
            if asked || inputs.send(Input::End).is_err() {
                restore();
                // Failing changes nothing: the default is to end.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            asked = true;
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
pub(super) struct Screen {
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

    /// Take the terminal for a session: its size, its ground where that decides between two themes, and what is typed.
    ///
    /// # Errors
    /// When the terminal cannot be had.
    pub(super) fn take(session: &mut Session, start: &Start) -> io::Result<Self> {
        let screen = Self::open(session.model.mouse)?;
        session.model.size = screen.size()?;
        let mut filter = None;
        if let Some(light) = &start.light {
            // Before anybody else reads the terminal; a terminal that cannot be asked is dark.
            if let Ok((background, typed, late)) = background::ask() {
                if background.light {
                    session.model.theme = light.clone();
                }
                let inputs = session.inputs();
                typed.into_iter().filter_map(input).for_each(|input| drop(inputs.send(input)));
                filter = Some(late);
            }
        }
        read_terminal(session.inputs(), filter)?;
        #[cfg(unix)]
        hear_signals(session.inputs())?;
        Ok(screen)
    }

    /// Columns and rows.
    fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Show the model. It learns the size of the frame first: while a window is dragged, the terminal has another size than the
    /// last that was heard of.
    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let draw = |frame: &mut Frame| {
            model.size = (frame.area().width, frame.area().height);
            view(model, frame.buffer_mut());
        };
        self.terminal.draw(draw).map(drop)
    }

    /// Do what an effect says, as far as it is one for the terminal; false to leave. `mouse` says whether the mouse is in use.
    pub(super) fn carry_out(&mut self, effect: Effect, mouse: bool) -> io::Result<bool> {
        match effect {
            Effect::Quit => return Ok(false),
            Effect::Copy(text) => copy(&text)?,
            Effect::Mouse(on) => self.mouse(on)?,
            Effect::Suspend => self.suspend(mouse)?,
            Effect::Send(_) | Effect::Export { .. } | Effect::SavePin(_) => {}
        }
        Ok(true)
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
        // While a panic is under way its hook cannot be changed any more.
        if !std::thread::panicking() {
            drop(std::panic::take_hook());
        }
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
