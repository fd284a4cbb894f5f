//! The terminal UI: one [`Model`], changed by [`update`], drawn by [`view`]. One way: keys, mouse and engine events go
//! in, effects come out, and drawing changes nothing. Nothing here touches a database or a model.

pub mod action;
pub mod background;
pub mod cast;
pub mod clipboard;
pub mod command;
pub mod context;
mod contrast;
pub mod edit;
pub mod export;
pub mod form;
pub mod fuzzy;
pub mod journal;
pub mod keymap;
pub mod keys;
pub mod knob;
pub mod layout;
pub mod list;
pub mod live;
mod look;
pub mod model;
pub mod mouse;
pub mod oracle;
pub mod pane;
pub mod picker;
pub mod picture;
pub mod pin;
pub mod pins;
pub mod play;
pub mod present;
pub mod script;
pub mod select;
pub mod session;
pub mod sweep;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod tokens;
pub mod tour;
pub mod update;
pub mod view;

pub use action::Action;
pub use keymap::Keymap;
pub use model::{Model, Start};
pub use pane::Pane;
pub use session::{Session, Source};
pub use terminal::run;
pub use theme::{Glyphs, Theme, Themes};
pub use update::{Effect, Input, update};

/// A position moved by some steps, kept within a list of this length.
fn step(at: usize, by: i32, length: usize) -> usize {
    let last = length.saturating_sub(1) as i64;
    (at as i64 + i64::from(by)).clamp(0, last.max(0)) as usize
}
