//! What a key, a click or a command can ask for. Plain data; knows no key and no screen.

use super::pane::Pane;

/// Something the user wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Leave the program.
    Quit,
    /// One level back: close what is open, stop scoring, drop a filter. Never leaves the program.
    Back,
    /// Edit the question.
    Edit,
    /// What Enter means in the focused pane.
    Enter,
    /// Focus a pane.
    Focus(Pane),
    /// Focus the next pane.
    NextPane,
    /// Focus the pane before.
    PreviousPane,
    /// Move the selection by rows.
    Move(i32),
    /// Move by half a screen.
    HalfPage(i32),
    /// Move by a screen.
    Page(i32),
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// Scroll long lines sideways.
    Sideways(i32),
    /// Turn a knob by steps.
    Knob {
        /// Its name in the table of knobs.
        name: &'static str,
        /// How many steps.
        steps: i32,
        /// Small steps.
        fine: bool,
    },
    /// All knobs back to their defaults.
    Defaults,
    /// Undo the last change of a knob.
    Undo,
    /// Redo it.
    Redo,
    /// Filter rows by words.
    Filter,
    /// Next or previous row that the filter keeps.
    NextMatch(i32),
    /// Type a command.
    Command,
    /// Help.
    Help,
    /// Show why for the selection.
    Why,
    /// Mark or unmark the selection as gold.
    Mark,
    /// List the gold.
    Gold,
    /// Next gold, or next gold that is dropped.
    NextGold {
        /// Only gold that is dropped.
        dropped: bool,
    },
    /// Show the context as it would be sent.
    Context,
    /// Show the recall of gold over two knobs.
    Sweep,
    /// Pin the settings as A, or clear the pin.
    Pin,
    /// Swap the pinned settings and the present ones.
    Swap,
    /// Compare the pinned settings with the present ones.
    Compare,
    /// Show what the models saw of the selection.
    Tokens,
    /// Next or previous question of the set.
    Question(i32),
    /// List the questions of the set.
    Questions,
    /// List the conversations.
    Conversations,
    /// Make the focused pane as large as the screen, or undo that.
    Zoom,
    /// Copy the passage.
    CopyPassage,
    /// Copy the whole explanation.
    CopyWhy,
    /// Write the trace to a file.
    Export,
    /// Give the mouse to the terminal, or take it back.
    Mouse,
    /// Put the program to the background.
    Suspend,
    /// Change the weight of a term.
    Weight,
    /// Silence a term, or give it back its voice.
    Mute,
    /// Order rows by time instead of rank, or hops by weight instead of time.
    Order,
    /// Show one kind of fate only: the next kind.
    Fates,
    /// What the rank chart joins: the next choice.
    Joined,
    /// Go on scoring.
    Resume,
    /// Read the database again.
    Reload,
    /// Read the database again whenever it is written, or no longer.
    Follow,
}
