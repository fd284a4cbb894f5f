//! The oracle over many questions: reads each, plans its cheapest searches, and says so. Knows the pipeline's reader and the
//! planning; draws nothing.

use rayon::prelude::*;

use super::job::{Event, OracleAsk};
use super::pipeline::Pipeline;
use crate::eval::oracle::{Plan, plan};
use crate::passage::Shape;

/// The answer to [`super::Job::Oracle`]. O(questions x terms x text): milliseconds a question.
pub(super) fn answer(pipeline: &mut Pipeline, ask: &OracleAsk) -> Event {
    let set = pipeline.passages(&ask.conversation, Shape::of(&ask.settings));
    let pipeline = &*pipeline;
    let solve = |(text, gold): &(String, Vec<usize>)| {
        let query = pipeline.read(text, &ask.settings);
        plan(&set, &query, &set.of_turns(gold), pipeline.reader(), &ask.settings, ask.rules)
    };
    let plans: Vec<Plan> = ask.questions.par_iter().map(solve).collect();
    Event::Planned { number: ask.number, plans }
}
