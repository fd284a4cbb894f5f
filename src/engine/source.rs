//! The open database of the engine: its list, the conversation that is open, and the same again when it was written. Knows
//! the store; knows no question and no model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::change::Change;
use super::job::{Event, Reloaded};
use crate::history::{Conversation, ConversationSummary};
use crate::store::{Mapping, Reading, Store, StoreError};

/// A database and what was last read from it.
pub(super) struct Source {
    path: PathBuf,
    reading: Reading,
    store: Store,
    conversations: Vec<ConversationSummary>,
    open: Option<Arc<Conversation>>,
}

/// What came of reading it again.
pub(super) enum Renewed {
    /// Nothing worth saying.
    Same,
    /// This.
    Other(Box<Reloaded>),
}

impl Source {
    /// Open a database; with it comes what is said of it.
    pub fn open(path: PathBuf, reading: Reading) -> Result<(Self, Event), StoreError> {
        let store = Store::open_as(&path, &reading)?;
        let conversations = store.summaries()?;
        let opened = Event::Opened {
            path: path.clone(),
            fingerprint: store.fingerprint(),
            notices: store.notices().to_vec(),
            copied: store.copied().cloned(),
            conversations: conversations.clone(),
        };
        Ok((Self { path, reading, store, conversations, open: None }, opened))
    }

    /// The mapping by which this database is read, when it is the open one; `Some(None)` when its tables are known.
    pub fn mapping(&self, path: &Path) -> Option<Option<&Mapping>> {
        (self.path == path).then(|| self.store.mapping())
    }

    /// One conversation, which is the open one from now on.
    pub fn load(&mut self, id: &str) -> Result<Arc<Conversation>, StoreError> {
        let conversation = Arc::new(self.store.load(id)?);
        self.open = Some(Arc::clone(&conversation));
        Ok(conversation)
    }

    /// Whether somebody wrote to it since it was read.
    pub fn has_changed(&self) -> bool {
        self.store.has_changed()
    }

    /// Read it again. Of a database that is followed, only what is new is worth saying.
    pub fn renew(&mut self, followed: bool) -> Result<Renewed, StoreError> {
        let store = Store::open_as(&self.path, &self.reading)?;
        let conversations = store.summaries()?;
        let was = self.open.clone();
        let now = match was.as_ref().map(|open| store.load(&open.id)) {
            None | Some(Err(StoreError::NoSuchConversation { .. })) => None,
            Some(Ok(conversation)) => Some(Arc::new(conversation)),
            Some(Err(error)) => return Err(error),
        };
        let gone = was.is_some() && now.is_none();
        let both = was.as_deref().zip(now.as_deref());
        let mut change = Change::between(&self.conversations, &conversations, both);
        change.edited |= change.is_empty() && store.fingerprint() != self.store.fingerprint();
        let other = now.filter(|now| was.as_deref() != Some(now));
        if let Some(other) = &other {
            self.open = Some(Arc::clone(other));
        } else if gone {
            self.open = None;
        }
        let reloaded = Reloaded {
            fingerprint: store.fingerprint(),
            notices: store.notices().to_vec(),
            copied: store.copied().cloned(),
            conversations: conversations.clone(),
            conversation: other,
            gone,
            change,
            followed,
        };
        (self.store, self.conversations) = (store, conversations);
        if followed && reloaded.change.is_empty() && !gone {
            return Ok(Renewed::Same);
        }
        Ok(Renewed::Other(Box::new(reloaded)))
    }
}
