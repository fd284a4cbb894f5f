//! Recall of gold over a grid of two knobs. Every cell is fused and cut by the same code as the screen; knows no model.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use crate::scored::Scored;
use crate::settings::{Knob, Settings, Stage};
use crate::trace::Trace;

/// A cell is as good as the best one when it keeps at most this share of the gold less.
pub const AS_GOOD: f64 = 0.005;

/// One knob and the values that it takes in the grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Name of the knob.
    pub knob: String,
    /// Its values, in order.
    pub values: Vec<f64>,
}

/// What came of the grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// The knob of the rows.
    pub rows: Axis,
    /// The knob of the columns.
    pub columns: Axis,
    /// By row and column.
    pub cells: Vec<Vec<Cell>>,
    /// Questions.
    pub questions: usize,
    /// Their gold passages.
    pub gold: usize,
}

/// One setting over all questions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// Gold passages kept.
    pub kept: usize,
    /// Share of all gold passages that is kept.
    pub recall: f64,
    /// Mean words of the context.
    pub words: f64,
}

/// An axis or its knob cannot be swept; one sentence.
#[derive(Debug, thiserror::Error)]
pub enum AxisError {
    /// Not of the form `knob=from:to:step`.
    #[error("'{0}' is no axis: write it as knob=from:to:step, for example budget=500:4000:250")]
    Form(String),
    /// There is no such knob.
    #[error("there is no knob '{0}'")]
    NoKnob(String),
    /// The knob acts before the rankers.
    #[error("'{0}' acts before the rankers, so each value would need the models again: sweep a knob of fusion or cut")]
    TooEarly(String),
    /// A value is out of range.
    #[error("{0}")]
    Value(String),
    /// Too many values.
    #[error("'{0}' has {1} values and at most {MOST} are swept: take a larger step")]
    TooMany(String, usize),
}

/// Most values of an axis.
pub const MOST: usize = 200;

impl Axis {
    /// Reads `knob=from:to:step`.
    ///
    /// # Errors
    /// [`AxisError`] in one sentence.
    pub fn read(text: &str) -> Result<Self, AxisError> {
        let form = || AxisError::Form(text.to_owned());
        let (knob, range) = text.split_once('=').ok_or_else(form)?;
        let found = Knob::named(knob).ok_or_else(|| AxisError::NoKnob(knob.to_owned()))?;
        if found.stage < Stage::Fuse {
            return Err(AxisError::TooEarly(knob.to_owned()));
        }
        let numbers: Vec<f64> = range.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| form())?;
        let &[from, to, step] = numbers.as_slice() else { return Err(form()) };
        if !(from.is_finite() && to.is_finite() && step.is_finite() && step > 0.0 && to >= from) {
            return Err(form());
        }
        let count = ((to - from) / step + 1e-9).floor() as usize + 1;
        if count > MOST {
            return Err(AxisError::TooMany(text.to_owned(), count));
        }
        let values: Vec<f64> = (0..count).map(|at| ((from + at as f64 * step) * 1e6).round() / 1e6).collect();
        let axis = Self { knob: knob.to_owned(), values };
        for value in &axis.values {
            axis.set(&mut Settings::default(), *value)?;
        }
        Ok(axis)
    }

    /// Give the knob one value.
    ///
    /// # Errors
    /// [`AxisError::Value`] when it does not take it.
    pub fn set(&self, settings: &mut Settings, value: f64) -> Result<(), AxisError> {
        settings.set(&self.knob, &value.to_string()).map_err(AxisError::Value)
    }
}

/// Fuse and cut every question in every cell, on all cores. O(cells x candidates).
///
/// # Errors
/// [`AxisError::Value`] when a value does not fit its knob, which [`Axis::read`] rules out.
pub fn sweep(scored: &[Arc<Scored>], settings: &Settings, rows: Axis, columns: Axis) -> Result<Sweep, AxisError> {
    let gold: usize = scored.iter().map(|one| one.gold.len()).sum();
    let cell = |row: f64, column: f64| -> Result<Cell, AxisError> {
        let mut settings = settings.clone();
        rows.set(&mut settings, row)?;
        columns.set(&mut settings, column)?;
        let (mut kept, mut words) = (0, 0.0);
        for one in scored {
            let trace = Trace::new(Arc::clone(one), settings.clone());
            kept += trace.gold().kept as usize;
            words += f64::from(trace.cut.used);
        }
        let recall = if gold == 0 { 0.0 } else { kept as f64 / gold as f64 };
        Ok(Cell { kept, recall, words: words / scored.len().max(1) as f64 })
    };
    let cells = rows
        .values
        .par_iter()
        .map(|row| columns.values.par_iter().map(|column| cell(*row, *column)).collect())
        .collect::<Result<Vec<Vec<Cell>>, AxisError>>()?;
    Ok(Sweep { questions: scored.len(), gold, rows, columns, cells })
}

impl Sweep {
    /// A grid over no question.
    pub fn empty(rows: Axis, columns: Axis) -> Self {
        let none = Cell { kept: 0, recall: 0.0, words: 0.0 };
        let cells = vec![vec![none; columns.values.len()]; rows.values.len()];
        Self { rows, columns, cells, questions: 0, gold: 0 }
    }

    /// Count the questions of another sweep over the same grid in.
    pub fn add(&mut self, other: &Self) {
        let (before, more) = (self.questions as f64, other.questions as f64);
        self.questions += other.questions;
        self.gold += other.gold;
        for (cell, more_cell) in self.cells.iter_mut().flatten().zip(other.cells.iter().flatten()) {
            cell.kept += more_cell.kept;
            cell.recall = if self.gold == 0 { 0.0 } else { cell.kept as f64 / self.gold as f64 };
            cell.words = (cell.words * before + more_cell.words * more) / (before + more).max(1.0);
        }
    }

    /// Row and column of the cell with the fewest words among those that are as good as the best.
    pub fn cheapest(&self) -> Option<(usize, usize)> {
        let all = || {
            let row = |(row, cells): (usize, &Vec<Cell>)| {
                cells.iter().enumerate().map(move |(column, cell)| ((row, column), *cell)).collect::<Vec<_>>()
            };
            self.cells.iter().enumerate().flat_map(row)
        };
        let best = all().map(|(_, cell)| cell.recall).max_by(f64::total_cmp)?;
        let good = all().filter(|(_, cell)| cell.recall >= best - AS_GOOD);
        good.min_by(|(_, a), (_, b)| a.words.total_cmp(&b.words).then(b.recall.total_cmp(&a.recall))).map(|(at, _)| at)
    }
}
