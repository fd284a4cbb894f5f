//! `memsift oracle`: the cheapest searches that would have found the gold, a question or all of them. Knows what is asked
//! and how it is printed; the planning is elsewhere.

use std::fmt::Write;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::Serialize;

use super::ask::question;
use super::destination::DestinationArgs;
use super::document::{Document, Form};
use super::knobs::KnobArgs;
use super::questions::{Asked, QuestionArgs};
use super::reading::ReadingArgs;
use super::table::Table;
use super::{BadInput, dirs, output};
use crate::engine::models::load_tagger;
use crate::engine::{Models, Pipeline};
use crate::eval::oracle::{Oracle, Plan, Rules, Step, plan};
use crate::explain::export::quoted;
use crate::explain::fate::thousands;
use crate::history::Question;
use crate::models::models_dir;
use crate::passage::{PassageSet, Shape};
use crate::rank::Cache;
use crate::settings::Settings;
use crate::store::clean::clean_line;

/// Arguments of `oracle`.
#[derive(Debug, clap::Args)]
pub struct OracleArgs {
    /// Only this question, with its steps; without it, all questions with gold.
    question: Option<String>,
    /// A database with questions and gold, or with gold marked on the screen.
    #[arg(long)]
    db: PathBuf,
    /// One gold passage is enough; else all of them must be found.
    #[arg(long)]
    any: bool,
    /// A search returns its first N hits in conversation order only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    hits: Option<u32>,
    /// Names in what a search returned may be searched next; needs the tagger.
    #[arg(long)]
    learned: bool,
    /// How to print it: csv has a row a question, json everything; else as the end of the name after --output says, else
    /// text.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "markdown", "html", "csv", "json"])]
    format: Option<String>,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    destination: DestinationArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    knobs: KnobArgs,
}

/// A question with its plan.
#[derive(Serialize)]
struct Planned {
    conversation: String,
    id: String,
    question: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    gold: Vec<String>,
    plan: Plan,
    /// Ids of the passages that the plan names.
    #[serde(skip)]
    names: Vec<(u32, String)>,
}

#[derive(Serialize)]
struct Whole<'a> {
    rules: Rules,
    totals: &'a Oracle,
    questions: &'a [Planned],
}

/// Plan, add up, print.
pub fn run(args: &OracleArgs) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    args.knobs.apply(&mut settings)?;
    let wanted = args.question.as_deref().map(question).transpose()?;
    let rules = Rules { any: args.any, hits: args.hits, learned: args.learned };
    let destination = args.destination.open()?;
    let store = args.reading.open(&args.db)?;
    let questions = args.questions.choose(&store, &args.db)?;
    // Search needs the tagger alone.
    let models = Models { tagger: load_tagger(&models_dir()?), ..Models::none("it plays no part in search") };
    if let Err(reason) = &models.tagger {
        if args.learned {
            return Err(BadInput(format!("--learned needs the tagger: {reason}")).into());
        }
        output::say(&format!("memsift: {reason}"));
    }
    let mut pipeline = Pipeline::new(models, Cache::open(&dirs()?.cache_db()));
    let bar = output::bar(false);
    bar.set_length(questions.len() as u64);
    bar.set_message("questions");
    let mut planned = Vec::new();
    for one in &questions.asked {
        let set = pipeline.passages(&one.conversation, Shape::of(&settings));
        let asked: Vec<&Question> = one
            .questions()
            .filter(|known| wanted.as_deref().is_none_or(|wanted| known.text.trim() == wanted))
            .collect();
        let plans = asked.par_iter().map(|known| {
            bar.inc(1);
            solve(&pipeline, &set, one, known, &settings, rules)
        });
        planned.extend(plans.collect::<Vec<_>>());
    }
    bar.finish_and_clear();
    if planned.is_empty() {
        let text = wanted.as_deref().unwrap_or_default();
        return Err(BadInput(format!("'{}' has no question '{text}' with gold", args.db.display())).into());
    }
    let mut totals = Oracle::default();
    planned.iter().for_each(|one| totals.add(&one.plan));
    let text = match args.format.as_deref().unwrap_or(&args.destination.ending()) {
        "json" => format!("{}\n", serde_json::to_string(&Whole { rules, totals: &totals, questions: &planned })?),
        "csv" => csv(&planned),
        other => document(&planned, &totals, rules, wanted.is_some()).print(Form::named(other).unwrap_or(Form::Text)),
    };
    destination.put(text.as_bytes())
}

fn solve(
    pipeline: &Pipeline,
    set: &PassageSet,
    asked: &Asked,
    known: &Question,
    settings: &Settings,
    rules: Rules,
) -> Planned {
    let text = known.text.trim();
    let query = pipeline.read(text, settings);
    let gold = set.of_turns(&known.gold);
    let plan = plan(set, &query, &gold, pipeline.reader(), settings, rules);
    let id = |passage: &u32| set.passages.get(*passage as usize).map_or_else(String::new, |found| found.id.clone());
    let named: Vec<u32> = match &plan {
        Plan::Solved(steps) => steps.iter().flat_map(|step| step.finds.iter().copied().chain(step.taught_by)).collect(),
        Plan::Unsolved(found) => found.clone(),
        Plan::TooLarge => Vec::new(),
    };
    Planned {
        conversation: asked.conversation.id.clone(),
        id: known.id.clone(),
        question: text.to_owned(),
        category: known.category.clone(),
        gold: gold.iter().map(id).collect(),
        names: named.iter().map(|passage| (*passage, id(passage))).collect(),
        plan,
    }
}

impl Planned {
    fn name(&self, passage: u32) -> &str {
        self.names.iter().find(|(at, _)| *at == passage).map_or("?", |(_, id)| id)
    }

    /// A step in words.
    fn words(&self, step: &Step) -> String {
        let taught = step.taught_by.map(|at| format!(", learned from {}", self.name(at))).unwrap_or_default();
        let finds: Vec<&str> = step.finds.iter().map(|at| self.name(*at)).collect();
        let finds = if finds.is_empty() { "no gold, but a name".to_owned() } else { finds.join(", ") };
        format!("search '{}'{taught}: {} hits, finds {finds}", step.term, step.hits)
    }
}

/// Totals, or the steps of the plan when one question was asked.
fn document(planned: &[Planned], totals: &Oracle, rules: Rules, one: bool) -> Document {
    let mut document = Document::new("memsift oracle");
    let goal = if rules.any { "any gold passage" } else { "all gold" };
    let limit = rules.hits.map(|hits| format!(", a search returns {hits} hits at most")).unwrap_or_default();
    let learned = if rules.learned { ", names that were found may be searched" } else { "" };
    let mut text = format!("the cheapest searches that find {goal}{limit}{learned}\n");
    if one {
        for one in planned {
            let _ = writeln!(text, "\n{}  {}", clean_line(&one.id, &mut 0), one.question);
            for line in lines(one) {
                let _ = writeln!(text, "    {line}");
            }
        }
        document.lines(text);
        return document;
    }
    document.lines(text);
    let share = |count: usize, of: usize| {
        if of == 0 { "-".to_owned() } else { format!("{:.1} %", count as f64 / of as f64 * 100.0) }
    };
    let mut table =
        Table::new("", ["figure (the references are for LoCoMo-10)", "paper", "reference", "here", "count"]);
    let solved = totals.solved();
    let count = |count: usize| thousands(count as u64);
    let plain = rules == Rules::default();
    let of = |known: &'static str| if plain { known } else { "" };
    let mut row = |what: &str, paper: &str, reference: &str, number: usize, of: usize| {
        table.row([what.to_owned(), paper.to_owned(), reference.to_owned(), share(number, of), count(number)]);
    };
    row("questions with gold", "", "", totals.questions, totals.questions);
    row("solvable", of("85.7 %"), of("98.9 %"), solved, totals.questions);
    for (steps, number) in &totals.steps {
        let (what, paper, reference) = match steps {
            1 => ("1 step, of the solved".to_owned(), of("97 %"), of("97.7 %")),
            many => (format!("{many} steps, of the solved"), "", ""),
        };
        row(&what, paper, reference, *number, solved);
    }
    if rules.learned {
        row("needs a learned name, of the solved", "", "", totals.learned, solved);
    }
    row("not solvable", "", "", totals.unsolved, totals.questions);
    if totals.too_large > 0 {
        row("too many ways to look at all", "", "", totals.too_large, totals.questions);
    }
    document.table(table);
    let hits = totals.hits as f64 / solved.max(1) as f64;
    document.lines(format!("\nthe searches of a cheapest plan return {hits:.1} passages on average\n"));
    document
}

/// A plan in words.
fn lines(one: &Planned) -> Vec<String> {
    match &one.plan {
        Plan::Solved(steps) => {
            (1..).zip(steps).map(|(number, step)| format!("{number}  {}", one.words(step))).collect()
        }
        Plan::Unsolved(found) => {
            let found: Vec<&str> = found.iter().map(|at| one.name(*at)).collect();
            let of = one.gold.len();
            vec![match found.len() {
                0 => format!("not solvable: no search finds any of {of} gold passages"),
                many => format!("not solvable: all searches together find {many} of {of} gold: {}", found.join(", ")),
            }]
        }
        Plan::TooLarge => {
            vec!["there are more ways than were looked at: limit --hits or leave --learned out".to_owned()]
        }
    }
}

fn csv(planned: &[Planned]) -> String {
    let mut text = "conversation,question,category,gold,steps,hits,plan,text\n".to_owned();
    for one in planned {
        let (steps, hits) = match &one.plan {
            Plan::Solved(steps) => {
                (steps.len().to_string(), steps.iter().map(|step| step.hits).sum::<u32>().to_string())
            }
            _ => (String::new(), String::new()),
        };
        let fields = [
            one.conversation.clone(),
            one.id.clone(),
            one.category.clone().unwrap_or_default(),
            one.gold.len().to_string(),
            steps,
            hits,
            lines(one).join("; "),
            one.question.clone(),
        ];
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        let _ = writeln!(text, "{}", fields.join(","));
    }
    text
}
