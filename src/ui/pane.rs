//! The panes, by number. The number never changes with the size of the screen.

/// One pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    /// Weighted terms.
    Terms,
    /// Hop by hop.
    Hops,
    /// The rankings side by side.
    Ranks,
    /// The fused order with the cut.
    Fused,
    /// The passage in its session.
    Passage,
    /// Why it was kept or dropped.
    Why,
}

impl Pane {
    /// All panes in order.
    pub const ALL: [Self; 6] = [Self::Terms, Self::Hops, Self::Ranks, Self::Fused, Self::Passage, Self::Why];

    /// Its number, which is also its key.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terms => "Terms",
            Self::Hops => "Hops",
            Self::Ranks => "Ranks",
            Self::Fused => "Fused",
            Self::Passage => "Passage",
            Self::Why => "Why",
        }
    }

    /// The pane so many places further, around the end.
    pub fn step(self, by: i32) -> Self {
        let at = (self as i32 + by).rem_euclid(Self::ALL.len() as i32) as usize;
        Self::ALL.get(at).copied().unwrap_or(self)
    }
}
