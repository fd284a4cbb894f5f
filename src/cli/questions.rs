//! Which questions of a database a command asks: flags that choose among those with gold, and why there are none. Knows
//! histories; asks nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::ask::conversation_id;
use super::{BadInput, load};
use crate::eval::evidence::Evidence;
use crate::history::{Conversation, Question};
use crate::settings::unknown_name;
use crate::store::Store;
use crate::store::clean::clean_line;

/// Flags that choose questions.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Questions")]
pub struct QuestionArgs {
    /// Only these conversations.
    #[arg(long)]
    pub(super) conversation: Vec<String>,
    /// Only questions of these categories.
    #[arg(long, value_name = "NAME")]
    pub(super) category: Vec<String>,
    /// No questions of these categories.
    #[arg(long, value_name = "NAME", conflicts_with = "category")]
    pub(super) skip_category: Vec<String>,
    /// Only every Nth question with gold, from the first one on.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) every: u32,
}

/// The questions that were chosen.
#[derive(Default)]
pub struct Questions {
    /// By conversation; those without a chosen question are left out.
    pub asked: Vec<Asked>,
    /// What the evidence of all questions is worth, with and without gold.
    pub evidence: Evidence,
    /// All categories of the conversations that were looked at.
    categories: BTreeSet<String>,
}

/// A conversation with the questions that are asked about it.
pub struct Asked {
    /// The conversation.
    pub conversation: Arc<Conversation>,
    numbers: Vec<usize>,
}

impl Asked {
    /// The questions.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.numbers.iter().filter_map(|at| self.conversation.questions.get(*at))
    }
}

impl Questions {
    /// How many.
    pub fn len(&self) -> usize {
        self.asked.iter().map(|one| one.numbers.len()).sum()
    }
}

/// Its category as flags name it.
fn category(question: &Question) -> &str {
    question.category.as_deref().unwrap_or("none")
}

impl QuestionArgs {
    /// The chosen questions with gold.
    ///
    /// # Errors
    /// One sentence when there are none, or a conversation or a category is not there.
    pub fn choose(&self, store: &Store, db: &Path) -> anyhow::Result<Questions> {
        let chosen = self.collect(store)?;
        // A category that is not there would silently choose other questions than those that were meant.
        let mut named = self.category.iter().chain(&self.skip_category);
        let is_there = |name: &&String| chosen.categories.is_empty() || chosen.categories.contains(*name);
        if let Some(unknown) = named.find(|name| !is_there(name)) {
            let known = chosen.categories.iter().map(String::as_str);
            return Err(BadInput(unknown_name("category", &clean_line(unknown, &mut 0), known)).into());
        }
        self.or_nothing(chosen, db)
    }

    /// As [`Self::choose`], with categories that need not be there.
    ///
    /// # Errors
    /// One sentence when there are no questions, or a conversation is not there.
    pub fn choose_any(&self, store: &Store, db: &Path) -> anyhow::Result<Questions> {
        self.or_nothing(self.collect(store)?, db)
    }

    fn or_nothing(&self, chosen: Questions, db: &Path) -> anyhow::Result<Questions> {
        if chosen.asked.is_empty() { Err(self.nothing(&chosen.evidence, db).into()) } else { Ok(chosen) }
    }

    fn collect(&self, store: &Store) -> anyhow::Result<Questions> {
        for id in &self.conversation {
            conversation_id(store, Some(id))?;
        }
        let mut chosen = Questions::default();
        let mut with_gold = 0;
        for row in store.summaries()? {
            if !self.conversation.is_empty() && !self.conversation.contains(&row.id) {
                continue;
            }
            let conversation = Arc::new(load(store, &row.id)?);
            chosen.categories.extend(conversation.questions.iter().map(|one| category(one).to_owned()));
            let mut numbers = Vec::new();
            for (number, question) in conversation.questions.iter().enumerate().filter(|(_, one)| self.wants(one)) {
                if question.gold.is_empty() {
                    chosen.evidence.add(&conversation, question);
                    continue;
                }
                with_gold += 1;
                if (with_gold - 1_u32).is_multiple_of(self.every) {
                    chosen.evidence.add(&conversation, question);
                    numbers.push(number);
                }
            }
            if !numbers.is_empty() {
                chosen.asked.push(Asked { conversation, numbers });
            }
        }
        Ok(chosen)
    }

    fn wants(&self, question: &Question) -> bool {
        let is = |name: &String| name == category(question);
        !self.skip_category.iter().any(is) && (self.category.is_empty() || self.category.iter().any(is))
    }

    /// Why there is nothing to measure.
    fn nothing(&self, evidence: &Evidence, db: &Path) -> BadInput {
        let db = db.display();
        let all = self.category.is_empty() && self.skip_category.is_empty();
        let chosen = if all { "" } else { " in these categories" };
        BadInput(match (evidence.questions, evidence.not_measurable) {
            (0, _) => format!(
                "'{db}' has no questions{chosen}: import a data set that has some, or ask on the screen and mark gold \
                 with m"
            ),
            (all, 0) => format!(
                "none of the {all} questions{chosen} of '{db}' has gold: import a data set that names the evidence, or \
                 mark gold on the screen with m"
            ),
            (all, lost) => format!(
                "none of the {all} questions{chosen} of '{db}' has gold that is in the history: the evidence of {lost} \
                 leads to no turn"
            ),
        })
    }
}
