//! A recording of frames in the asciicast format, version 2: a header line, then a line for every frame. Knows a clock of
//! its own, so that the same script gives the same recording.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::model::Model;
use super::view::view;

/// Bytes that a terminal would get, kept by whoever holds a copy.
#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A recording under way.
pub struct Cast {
    terminal: Terminal<CrosstermBackend<Kept>>,
    bytes: Kept,
    clock: Duration,
    text: String,
}

impl Cast {
    /// An empty recording of a screen of this size, columns and rows.
    ///
    /// # Errors
    /// Never in practice: nothing is written to a device.
    pub fn new((columns, rows): (u16, u16), title: &str) -> io::Result<Self> {
        let bytes = Kept::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
        let terminal = Terminal::with_options(CrosstermBackend::new(bytes.clone()), TerminalOptions { viewport })?;
        let header = serde_json::json!({ "version": 2, "width": columns, "height": rows, "title": title });
        let mut cast = Self { terminal, bytes, clock: Duration::ZERO, text: format!("{header}\n") };
        cast.put("\u{1b}[?25l\u{1b}[2J");
        Ok(cast)
    }

    /// Time goes by.
    pub fn rest(&mut self, time: Duration) {
        self.clock += time;
    }

    /// What the model looks like now; nothing where it looks as before.
    ///
    /// # Errors
    /// Never in practice: nothing is written to a device.
    pub fn draw(&mut self, model: &Model) -> io::Result<()> {
        self.terminal.draw(|frame| view(model, frame.buffer_mut()))?;
        let bytes = std::mem::take(&mut *self.bytes.0.borrow_mut());
        self.put(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    fn put(&mut self, words: &str) {
        if !words.is_empty() {
            let line = serde_json::json!([self.clock.as_millis() as f64 / 1000.0, "o", words]);
            self.text.push_str(&format!("{line}\n"));
        }
    }

    /// The recording as a text; the cursor comes back at its end.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.put("\u{1b}[0m\u{1b}[?25h");
        self.text
    }
}
