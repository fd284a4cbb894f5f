//! When to look whether a database was written: at most once a second, never while nothing is followed. Knows the clock;
//! knows no database.

use std::time::{Duration, Instant};

/// The shortest time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Reading again takes at most this share of the time, so that a large database that is always written leaves room.
const SHARE: u32 = 4;

/// When the next look is due.
#[derive(Debug, Default)]
pub(super) struct Follower {
    next: Option<Instant>,
    /// Something went wrong with the last look and was said.
    pub troubled: bool,
}

impl Follower {
    /// Begin or end.
    pub fn follow(&mut self, on: bool) {
        self.next = on.then(|| Instant::now() + PAUSE);
        self.troubled = false;
    }

    /// How long nothing is to do; `None` while nothing is followed.
    pub fn rest(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        self.rest() == Some(Duration::ZERO)
    }

    /// It was looked, which took so long.
    pub fn looked(&mut self, took: Duration) {
        self.next = self.next.map(|_| Instant::now() + PAUSE.max(took * SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_due_while_nothing_is_followed() {
        let mut follower = Follower::default();
        assert!(follower.rest().is_none() && !follower.is_due());
        follower.looked(Duration::ZERO);
        assert!(follower.rest().is_none(), "a look by hand follows nothing");
        follower.follow(true);
        assert!(follower.rest() > Some(Duration::from_millis(900)));
        follower.looked(Duration::from_secs(10));
        assert!(follower.rest() > Some(Duration::from_secs(39)), "a long reading is followed by a longer pause");
        follower.follow(false);
        assert!(follower.rest().is_none());
    }
}
