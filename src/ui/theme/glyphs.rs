//! The shapes on the screen, once for any modern terminal and once in ASCII. Knows no colour and no pane.

/// The shapes on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// Gold.
    pub gold: &'static str,
    /// The selected row.
    pub selected: &'static str,
    /// A full bar cell.
    pub bar: &'static str,
    /// Model ready.
    pub ready: &'static str,
    /// Model loading.
    pub loading: &'static str,
    /// Model absent.
    pub absent: &'static str,
    /// A passage on a rank axis.
    pub dot: &'static str,
    /// A passage that only one ranker would keep.
    pub mover: &'static str,
    /// Dashes of the cut line.
    pub cut: &'static str,
    /// Slider: left end, line, knob, right end.
    pub slider: [&'static str; 4],
    /// Chart lines: horizontal, vertical, down from the left, up from the left, from above to the right, from below to
    /// the right, crossing.
    pub lines: [&'static str; 7],
    /// The same two directions, dashed.
    pub dashes: [&'static str; 2],
    /// Enters the context between A and B.
    pub enters: &'static str,
    /// Leaves it.
    pub leaves: &'static str,
    /// The move between A and B, as the head of a column.
    pub delta: &'static str,
    /// Dropped by α.
    pub alpha: &'static str,
    /// From where a name was learnt.
    pub from: &'static str,
    /// What is found on the other side.
    pub to: &'static str,
    /// Shades of a matrix, nothing first.
    pub shades: [&'static str; 5],
    /// True when only ASCII may be drawn.
    pub ascii: bool,
}

impl Glyphs {
    /// Shapes of any modern terminal.
    pub const UNICODE: Self = Self {
        gold: "★",
        selected: "▸",
        bar: "▇",
        ready: "●",
        loading: "◌",
        absent: "○",
        dot: "·",
        mover: "o",
        cut: "╌",
        slider: ["├", "─", "●", "┤"],
        lines: ["─", "│", "╮", "╯", "╰", "╭", "┼"],
        dashes: ["╌", "╎"],
        enters: "▴",
        leaves: "▾",
        delta: "Δ",
        alpha: "α",
        from: "←",
        to: "→",
        shades: ["·", "░", "▒", "▓", "█"],
        ascii: false,
    };
    /// Shapes of every terminal.
    pub const ASCII: Self = Self {
        gold: "*",
        selected: ">",
        bar: "#",
        ready: "+",
        loading: "~",
        absent: "-",
        dot: ".",
        mover: "o",
        cut: "-",
        slider: ["|", "-", "O", "|"],
        lines: ["-", "|", ".", "'", "`", ",", "+"],
        dashes: ["~", ":"],
        enters: "^",
        leaves: "v",
        delta: "+/-",
        alpha: "a",
        from: "<-",
        to: ">",
        shades: [".", "-", "=", "%", "#"],
        ascii: true,
    };
}
