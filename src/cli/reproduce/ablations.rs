//! `memsift reproduce smartsearch --ablations`: the first paper's pipeline with one thing changed at a time. Knows the two
//! tables and how they are printed; what is changed is listed elsewhere.

use std::time::Instant;

use super::super::chart::Chart;
use super::super::document::Document;
use super::super::measure::measure;
use super::super::questions::QuestionArgs;
use super::super::table::Table;
use super::super::{pipeline, say_what_is_missing};
use super::smartsearch::ADVERSARIAL;
use super::{ReproduceArgs, without_ce};
use crate::eval::ablation::{Ablation, ORDER, SEARCH};
use crate::eval::figure::Figure;
use crate::eval::report::{Report, System};
use crate::eval::smartsearch::settings;
use crate::explain::fate::thousands;
use crate::settings::{Fusion, Settings};

/// Orders under which the first table tells what is kept.
const ORDERS: [Fusion; 2] = [Fusion::Match, Fusion::Colbert];

/// Measure and print.
pub(super) fn run(args: &ReproduceArgs) -> anyhow::Result<Document> {
    let rankers = args.rankers.choice()?;
    let store = args.reading.open(&args.db)?;
    let questions = QuestionArgs {
        conversation: args.conversation.clone(),
        category: Vec::new(),
        skip_category: vec![ADVERSARIAL.to_owned()],
        every: args.every,
    };
    let questions = questions.choose_any(&store, &args.db)?;
    let mut pipeline = pipeline(&rankers)?;
    let began = Instant::now();
    let mut report = Report { evidence: questions.evidence.clone(), ..Report::default() };
    for one in &questions.asked {
        report.add(&one.conversation.id, one.questions());
    }
    // The first table asks for no cross-encoder: other candidates would have to be scored for every row.
    let searches = SEARCH.iter().flat_map(|one| ORDERS.map(|fusion| (one, Some(fusion))));
    let orders = ORDER.iter().map(|one| (one, None));
    let settings: Vec<Settings> =
        searches.chain(orders).map(|(one, fusion)| changed(one, fusion)).collect::<Result<_, _>>()?;
    report.systems = settings.into_iter().enumerate().map(|(at, settings)| System::new(at, settings)).collect();
    let ce = pipeline.models().ce.clone();
    if !args.with_ce {
        without_ce(&mut pipeline, "not asked for: --with-ce adds it");
    }
    let count = report.systems.len();
    let mut outcomes = vec![vec![None; count]; report.records.len()];
    // Where the systems of the second table begin.
    let second = SEARCH.len() * ORDERS.len();
    let (searches, orders) = report.systems.split_at(second);
    for (systems, from) in [(searches, 0), (orders, second)] {
        measure(&mut pipeline, &questions.asked, systems, &mut |one| {
            let slot = outcomes.get_mut(one.number).and_then(|row: &mut Vec<_>| row.get_mut(from + one.system));
            if let Some(slot) = slot {
                *slot = Some(one.outcome);
            }
        });
    }
    report.fill(outcomes);
    say_what_is_missing(&pipeline);
    let mut document = Document::new("Ablations of the first paper's pipeline");
    document.lines(format!(
        "{} questions, {} gold passages, {} configurations, {:.1} s\nin brackets: measured before on LoCoMo-10 with \
         all-MiniLM-L6-v2\n",
        thousands(report.records.len() as u64),
        thousands(report.evidence.gold as u64),
        SEARCH.len() + ORDER.len(),
        began.elapsed().as_secs_f64()
    ));
    document.table(search_table(&report));
    document.table(order_table(&report, second, ce.is_ok() && !args.with_ce));
    let bars = ORDER.iter().enumerate().map(|(number, one)| {
        let outcomes = report.outcomes(second + number, |_| true);
        (one.name.to_owned(), Figure::Kept.over(outcomes).map(|share| share * 100.0))
    });
    document.chart(Chart::Bars { title: "% of the gold that is kept".to_owned(), bars: bars.collect() });
    Ok(document)
}

fn changed(one: &Ablation, fusion: Option<Fusion>) -> anyhow::Result<Settings> {
    let mut changed = settings().with(one.knobs)?;
    if let Some(fusion) = fusion {
        changed.fusion = fusion;
    }
    Ok(changed)
}

/// A figure of one system with the earlier one in brackets.
fn beside(report: &Report, at: usize, figure: Figure, reference: f64) -> String {
    let value = figure.over(report.outcomes(at, |_| true));
    let digits = if figure.is_share() { 2 } else { 0 };
    let scale = if figure.is_share() { 100.0 } else { 1.0 };
    let before = if reference.is_nan() { String::new() } else { format!(" ({:.digits$})", reference * scale) };
    match value {
        Some(value) => format!("{:.digits$}{before}", value * scale),
        None => format!("not measured{before}"),
    }
}

fn search_table(report: &Report) -> Table {
    let columns = ["search", "paper", "% ranked", "candidates", "first gold", "% kept by match", "% kept by MaxSim"];
    let mut table = Table::new("What is found, and what 2,000 words keep of it", columns);
    for (number, one) in SEARCH.iter().enumerate() {
        let at = number * ORDERS.len();
        let reference = &one.reference;
        table.row([
            one.name.to_owned(),
            one.paper.to_owned(),
            beside(report, at, Figure::Ranked, reference.found),
            beside(report, at, Figure::Candidates, reference.candidates),
            beside(report, at, Figure::FirstFound, reference.first_found),
            beside(report, at, Figure::Kept, reference.by_match),
            beside(report, at + 1, Figure::Kept, reference.by_maxsim),
        ]);
    }
    table
}

fn order_table(report: &Report, from: usize, could_have_ce: bool) -> Table {
    let title = "Orders and cuts of the candidates as published";
    let more = if could_have_ce { " (orders of the cross-encoder: add --with-ce)" } else { "" };
    let columns = ["order and cut", "paper", "% kept", "% by question", "passages", "words"];
    let mut table = Table::new(format!("{title}{more}"), columns);
    for (number, one) in ORDER.iter().enumerate() {
        let at = from + number;
        table.row([
            one.name.to_owned(),
            one.paper.to_owned(),
            beside(report, at, Figure::Kept, one.reference.by_maxsim),
            beside(report, at, Figure::KeptByQuestion, f64::NAN),
            beside(report, at, Figure::Passages, f64::NAN),
            beside(report, at, Figure::Words, f64::NAN),
        ]);
    }
    table
}
