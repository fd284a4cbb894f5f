//! What is new in a database that was read again: turns and conversations that came or went. Knows lists of conversations;
//! reads no database.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::history::{Conversation, ConversationSummary};

/// How what a database holds differs from what it held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Turns that were not there.
    pub new_turns: usize,
    /// Turns that are no longer there.
    pub gone_turns: usize,
    /// Conversations of which turns came or went.
    pub touched: usize,
    /// Those of them that were not there.
    pub new_conversations: usize,
    /// Conversations that are no longer there.
    pub gone_conversations: usize,
    /// Something else than the number of turns differs: words, times, questions.
    pub edited: bool,
}

impl Change {
    /// Between two lists of conversations. Of the open conversation, which is given as it was and as it is, turns are told
    /// apart by their ids; of others only how many there are is known.
    pub fn between(
        before: &[ConversationSummary],
        after: &[ConversationSummary],
        open: Option<(&Conversation, &Conversation)>,
    ) -> Self {
        let known: HashMap<&str, &ConversationSummary> = before.iter().map(|row| (row.id.as_str(), row)).collect();
        let there: HashSet<&str> = after.iter().map(|row| row.id.as_str()).collect();
        let mut change = Self::default();
        for row in after {
            let old = known.get(row.id.as_str());
            let (came, went) = match (open.filter(|(_, now)| now.id == row.id), old) {
                (Some((was, now)), _) => by_ids(was, now),
                (None, Some(old)) => (row.turns.saturating_sub(old.turns), old.turns.saturating_sub(row.turns)),
                (None, None) => (row.turns, 0),
            };
            change.new_turns += came;
            change.gone_turns += went;
            change.touched += usize::from(came + went > 0);
            change.new_conversations += usize::from(old.is_none());
            change.edited |= came + went == 0 && old.is_some_and(|old| *old != row);
        }
        change.gone_conversations = before.iter().filter(|row| !there.contains(row.id.as_str())).count();
        change.edited |= change.is_empty() && open.is_some_and(|(was, now)| was != now);
        change
    }

    /// True when no turn and no conversation came or went and nothing was edited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn by_ids(was: &Conversation, now: &Conversation) -> (usize, usize) {
    fn ids(talk: &Conversation) -> HashSet<&str> {
        talk.turns.iter().map(|turn| turn.id.as_str()).collect()
    }
    let (old, new) = (ids(was), ids(now));
    (new.difference(&old).count(), old.difference(&new).count())
}

fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Change {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let place = |words: String| match self.touched {
            0 => words,
            _ => format!("{words} in {}", counted(self.touched, "conversation")),
        };
        match (self.new_turns, self.gone_turns) {
            (0, 0) => {}
            (came, 0) => parts.push(place(counted(came, "new turn"))),
            (0, went) => parts.push(place(format!("{} fewer", counted(went, "turn")))),
            (came, went) => parts.push(place(format!("{} and {went} fewer", counted(came, "new turn")))),
        }
        if self.new_conversations > 0 {
            parts.push(counted(self.new_conversations, "new conversation"));
        }
        if self.gone_conversations > 0 {
            parts.push(format!("{} gone", counted(self.gone_conversations, "conversation")));
        }
        match (parts.is_empty(), self.edited) {
            (false, _) => to.write_str(&parts.join(", ")),
            (true, true) => to.write_str("no new turns, but words, times or questions are others than before"),
            (true, false) => to.write_str("nothing new"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, turns: usize) -> ConversationSummary {
        ConversationSummary { id: id.to_owned(), turns, ..Default::default() }
    }

    #[test]
    fn what_came_and_went_is_counted() {
        let before = [row("a", 3), row("b", 5), row("c", 1)];
        let rows = [
            (vec![row("a", 3), row("b", 5), row("c", 1)], "nothing new"),
            (vec![row("a", 10), row("b", 10), row("c", 1)], "12 new turns in 2 conversations"),
            (vec![row("a", 4), row("b", 5), row("c", 1)], "1 new turn in 1 conversation"),
            (vec![row("a", 3), row("b", 4), row("c", 1)], "1 turn fewer in 1 conversation"),
            (vec![row("a", 4), row("b", 3)], "1 new turn and 2 fewer in 2 conversations, 1 conversation gone"),
            (
                vec![row("a", 3), row("b", 5), row("c", 1), row("d", 2)],
                "2 new turns in 1 conversation, 1 new conversation",
            ),
        ];
        for (after, words) in rows {
            assert_eq!(Change::between(&before, &after, None).to_string(), words);
        }
    }
}
