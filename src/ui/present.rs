//! Presenting to an audience: the answer is revealed stage by stage, lists have more air, and no path of this machine is
//! shown. Knows how far the answer is revealed; computes nothing.

use ratatui::crossterm::event::KeyCode;

use super::model::Model;
use super::pane::Pane;

/// What is revealed together, in the order of the pipeline.
const STAGES: [(&[Pane], &str); 5] = [
    (&[Pane::Terms], "the words that are searched, and their weights"),
    (&[Pane::Hops], "what they match, hop by hop"),
    (&[Pane::Ranks], "how two models rank that"),
    (&[Pane::Fused], "the fused order and the cut"),
    (&[Pane::Passage, Pane::Why], "one passage, and why it was kept or dropped"),
];

/// Empty columns and rows inside a pane's frame while presenting.
pub const AIR: (u16, u16) = (2, 1);

/// Take Space while something is hidden: the next stage appears and is focused. False for every other key.
pub fn key(model: &mut Model, code: KeyCode) -> bool {
    let Some(revealed) = &mut model.present else { return false };
    match (code, STAGES.get(*revealed)) {
        (KeyCode::Char(' '), Some((panes, _))) if model.trace.is_some() => {
            *revealed += 1;
            if let Some(pane) = panes.last() {
                model.focus = *pane;
            }
            true
        }
        _ => false,
    }
}

/// Hide everything again: another question was asked.
pub fn again(model: &mut Model) {
    if let Some(revealed) = &mut model.present {
        *revealed = 0;
    }
}

/// What stands in the place of a pane that is not revealed yet; `None` when it is shown.
pub fn hidden(model: &Model, pane: Pane) -> Option<String> {
    let revealed = model.present?;
    let at = STAGES.iter().position(|(panes, _)| panes.contains(&pane))?;
    let (_, words) = STAGES.get(at)?;
    match at.cmp(&revealed) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(format!("Space reveals {words}")),
        std::cmp::Ordering::Greater => Some(String::new()),
    }
}

/// True when how much gold is kept may be shown.
pub fn shows_gold(model: &Model) -> bool {
    hidden(model, Pane::Fused).is_none()
}

/// A sentence for the audience: of every path only the last part is left.
pub fn discreet(model: &Model, sentence: &str) -> String {
    if model.present.is_none() {
        return sentence.to_owned();
    }
    let last = |word: &str| {
        let bare = word.trim_end_matches(['/', '\\']);
        match bare.rfind(['/', '\\']) {
            // A ratio as 3/4 is no path; neither is a word with one slash in its middle.
            Some(at) if word.starts_with(['/', '\\', '~', '\'', '.']) || bare.matches(['/', '\\']).count() > 1 => {
                let quote = if word.starts_with('\'') { "'" } else { "" };
                format!("{quote}{}", bare.get(at + 1..).unwrap_or_default())
            }
            _ => word.to_owned(),
        }
    };
    sentence.split(' ').map(last).collect::<Vec<_>>().join(" ")
}
