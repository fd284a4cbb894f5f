//! The oracle: the cheapest searches to the gold of the question, and how many questions need how many.

use ratatui::buffer::Buffer;

use super::{Piece, bar, overlay, put, text};
use crate::eval::oracle::{Plan, Step};
use crate::explain::fate::id_of;
use crate::trace::Trace;
use crate::ui::model::Model;
use crate::ui::oracle::Planned;
use crate::ui::theme::Role;

pub(super) fn draw(model: &Model, from: usize, buf: &mut Buffer) {
    let theme = &model.theme;
    let screen = (buf.area.width.min(100), buf.area.height);
    let title = "Oracle: the cheapest searches to the gold; a any or all, h hits a search, Esc closes";
    let inside = overlay(model, title, screen, buf);
    let width = usize::from(inside.width);
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let Some(planned) = &model.oracle else { return };
    let rules = planned.rules();
    let goal = if rules.any { "any gold passage is enough" } else { "all gold must be found" };
    let limit = rules
        .hits
        .map_or("a search returns all its hits".to_owned(), |hits| format!("a search returns its first {hits} hits"));
    lines.push(vec![(format!(" {goal}; {limit}"), theme.style(Role::Title))]);
    lines.push(Vec::new());
    question(model, planned, width, &mut lines);
    lines.push(Vec::new());
    totals(model, planned, width, &mut lines);
    let most = lines.len().saturating_sub(inside.height.into());
    for (at, pieces) in lines.iter().skip(from.min(most)).take(inside.height.into()).enumerate() {
        put(buf, inside, at as u16, pieces);
    }
}

/// The plan of the question on the screen.
fn question(model: &Model, planned: &Planned, width: usize, lines: &mut Vec<Vec<Piece>>) {
    let theme = &model.theme;
    let notice = |words: &str| vec![(text::clip(&format!(" {words}"), width), theme.style(Role::Notice))];
    let Some(trace) = &model.trace else {
        lines.push(notice(&model.keys.fill("no question is asked: {edit} types one")));
        return;
    };
    let asked = text::one_line(&trace.scored.query.text, 0, width.saturating_sub(1));
    lines.push(vec![(format!(" {asked}"), theme.style(Role::Text))]);
    match (&planned.plans, planned.plan(&trace.scored.query.text)) {
        (None, _) => lines.push(notice("planning")),
        (_, None) => lines.push(notice(&model.keys.fill("this question has no gold: {mark} marks a passage"))),
        (_, Some(Plan::TooLarge)) => lines.push(notice("more ways than were looked at: h limits the hits")),
        (_, Some(Plan::Unsolved(found))) => {
            let gold = trace.scored.gold.len();
            let found: Vec<&str> = found.iter().map(|passage| id_of(trace, *passage)).collect();
            let reach = if found.is_empty() { String::new() } else { format!(": {}", found.join(", ")) };
            let words = format!("not solvable: all searches together find {} of {gold} gold{reach}", found.len());
            lines.push(vec![(text::clip(&format!(" {words}"), width), theme.style(Role::Cut))]);
        }
        (_, Some(Plan::Solved(steps))) => {
            for (number, step) in (1..).zip(steps) {
                lines.push(step_line(model, trace, number, step, width));
            }
            let cost = if steps.len() == 1 { "1 search".to_owned() } else { format!("{} searches", steps.len()) };
            let hits: u32 = steps.iter().map(|step| step.hits).sum();
            let words = format!(" cost {cost}, which return {hits} passages");
            lines.push(vec![(words, theme.style(Role::Faint))]);
        }
    }
}

fn step_line(model: &Model, trace: &Trace, number: usize, step: &Step, width: usize) -> Vec<Piece> {
    let theme = &model.theme;
    let finds: Vec<&str> = step.finds.iter().map(|passage| id_of(trace, *passage)).collect();
    let head = format!(" {number}  {}", text::pad(&step.term, 16));
    let hits = format!(" {:>5} hits  ", step.hits);
    let used = text::width(&head) + text::width(&hits);
    let finds = text::clip(&format!("{} {}", theme.glyphs.gold, finds.join(" ")), width.saturating_sub(used));
    vec![(head, theme.style(Role::Text)), (hits, theme.style(Role::Faint)), (finds, theme.style(Role::Gold))]
}

/// How many questions need how many searches.
fn totals(model: &Model, planned: &Planned, width: usize, lines: &mut Vec<Vec<Piece>>) {
    let theme = &model.theme;
    let Some(totals) = planned.totals() else { return };
    let share = |count: usize, of: usize| format!("{:>5.1} %", count as f64 / of.max(1) as f64 * 100.0);
    let solved = totals.solved();
    let head = format!(
        " {} questions with gold, {} solvable ({})",
        totals.questions,
        solved,
        share(solved, totals.questions).trim()
    );
    lines.push(vec![(text::clip(&head, width), theme.style(Role::Title))]);
    let mut row = |what: String, count: usize, of: usize, role: Role| {
        let words = format!(" {} {count:>5} {} ", text::pad(&what, 26), share(count, of));
        let room = width.saturating_sub(text::width(&words)).min(30);
        let filled = bar(theme, count as f64 / of.max(1) as f64, room);
        lines.push(vec![(words, theme.style(Role::Text)), (filled, theme.style(role))]);
    };
    for (steps, count) in &totals.steps {
        let what =
            if *steps == 1 { "1 search, of the solved".to_owned() } else { format!("{steps} searches, of the solved") };
        row(what, *count, solved, Role::Bar);
    }
    row("not solvable, of all".to_owned(), totals.unsolved, totals.questions, Role::Cut);
    if totals.too_large > 0 {
        row("too many ways, of all".to_owned(), totals.too_large, totals.questions, Role::Cut);
    }
    let hits = totals.hits as f64 / solved.max(1) as f64;
    lines.push(vec![(format!(" a cheapest plan returns {hits:.1} passages on average"), theme.style(Role::Faint))]);
}
