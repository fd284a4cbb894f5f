//! Gold marked by hand, in a small file of memsift's own. Knows ids and questions; knows no database, so that marks
//! outlive its path and its next import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StoreError, own_file};
use crate::history::{Conversation, Question};

/// Turns that the user marked as evidence, by conversation id and the words of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    path: PathBuf,
    gold: Gold,
    notice: Option<String>,
}

/// Conversation id, question, ids of turns.
type Gold = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    gold: Gold,
}

const VERSION: u32 = 1;

impl Marks {
    /// Read the marks kept at `path`; none when there is no such file. A file that cannot be understood is set aside
    /// as `<path>.bad` (or `.bad2` …), never overwritten; [`Marks::notice`] tells.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let other =
            |saved: &Saved| (saved.version != VERSION).then(|| format!("version {} is not known here", saved.version));
        let (saved, notice) = own_file::read(path, "marks", other)?;
        Ok(Self { path: path.to_owned(), gold: saved.map(|saved: Saved| saved.gold).unwrap_or_default(), notice })
    }

    /// What the user should know about how the marks were read.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Ids of the turns marked for a question, in order.
    pub fn gold_for(&self, conversation: &str, question: &str) -> Vec<String> {
        let found = self.gold.get(conversation).and_then(|questions| questions.get(question.trim()));
        found.map(|turns| turns.iter().cloned().collect()).unwrap_or_default()
    }

    /// Mark a turn, or take its mark away. True when it is marked afterwards.
    pub fn toggle(&mut self, conversation: &str, question: &str, turn: &str) -> bool {
        let questions = self.gold.entry(conversation.to_owned()).or_default();
        let turns = questions.entry(question.trim().to_owned()).or_default();
        let marked = !turns.remove(turn);
        if marked {
            turns.insert(turn.to_owned());
        }
        questions.retain(|_, turns| !turns.is_empty());
        self.gold.retain(|_, questions| !questions.is_empty());
        marked
    }

    /// Make exactly these turns the marks of a question.
    pub fn set(&mut self, conversation: &str, question: &str, turns: &[String]) {
        let questions = self.gold.entry(conversation.to_owned()).or_default();
        questions.insert(question.trim().to_owned(), turns.iter().cloned().collect());
        questions.retain(|_, turns| !turns.is_empty());
        self.gold.retain(|_, questions| !questions.is_empty());
    }

    /// All marks of a conversation: question to turn ids.
    pub fn of_conversation(&self, conversation: &str) -> Vec<(String, Vec<String>)> {
        let questions = self.gold.get(conversation).into_iter().flatten();
        questions.map(|(question, turns)| (question.clone(), turns.iter().cloned().collect())).collect()
    }

    /// Let marks take the place of the data set's gold, as they do on the screen. A marked question that the data set
    /// does not have is added; turns that are gone are left out.
    pub fn apply(&self, conversation: &mut Conversation) {
        for (text, ids) in self.of_conversation(&conversation.id) {
            let mut gold: Vec<usize> = ids.iter().filter_map(|id| conversation.turn_by_id(id)).collect();
            gold.sort_unstable();
            match conversation.questions.iter_mut().find(|known| known.text.trim() == text) {
                Some(known) => known.gold = gold,
                None => conversation.questions.push(Question {
                    id: "marked".to_owned(),
                    text,
                    answer: None,
                    category: None,
                    gold,
                    evidence: ids,
                    dirty: Vec::new(),
                }),
            }
        }
    }

    /// Write the marks. The old file is there until the new one is complete.
    pub fn save(&self) -> Result<(), StoreError> {
        own_file::write(&self.path, &Saved { version: VERSION, gold: self.gold.clone() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn marks_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/marks.json");
        let mut marks = Marks::load(&path).unwrap();
        assert!(marks.toggle("c", "Who? ", "D1:2"));
        assert!(marks.toggle("c", "Who?", "D1:1"));
        assert!(marks.toggle("c", "Where?", "D2:1"));
        assert!(!marks.toggle("c", "Where?", "D2:1"));
        marks.save().unwrap();
        let again = Marks::load(&path).unwrap();
        assert_eq!(again, marks);
        assert_eq!(again.gold_for("c", " Who?"), ["D1:1", "D1:2"]);
        assert!(again.gold_for("c", "Where?").is_empty());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside the marks");
    }

    #[test]
    fn a_broken_file_is_set_aside_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks.json");
        for (round, content) in ["{\"version\": 1, \"gold", "{\"version\": 9, \"gold\": {}}"].iter().enumerate() {
            fs::write(&path, content).unwrap();
            let marks = Marks::load(&path).unwrap();
            let name = if round == 0 { "marks.json.bad" } else { "marks.json.bad2" };
            assert!(marks.notice().unwrap().contains(name), "{:?}", marks.notice());
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), *content);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut marks = Marks { path: file.join("marks.json"), gold: Gold::new(), notice: None };
        marks.toggle("c", "q", "t");
        assert!(marks.save().is_err());
    }
}
