//! What TREC tools read: the gold of every question (qrels) and the order under every setting (run). Knows those formats.

use std::fmt::Write;
use std::path::Path;

use super::super::BadInput;
use crate::eval::report::System;
use crate::explain::export::{trec_run, trec_word};
use crate::explain::fate::id_of;
use crate::history::Question;
use crate::output_file::{OutputError, OutputFile};
use crate::trace::Trace;

/// The lines, as far as questions were asked.
pub(super) struct Lines {
    qrels: String,
    /// By system.
    runs: Vec<String>,
}

impl Lines {
    /// None yet, for so many systems.
    pub(super) fn new(systems: usize) -> Self {
        Self { qrels: String::new(), runs: vec![String::new(); systems] }
    }

    /// Add a question under one system. The gold is that of the first one.
    pub(super) fn add(&mut self, system: usize, trace: &Trace, question: &Question) {
        let topic = trec_word(&format!("{}.{}", trace.scored.passages.conversation.id, question.id));
        if system == 0 {
            for passage in trace.scored.gold.iter() {
                let _ = writeln!(self.qrels, "{topic} 0 {} 1", trec_word(id_of(trace, *passage)));
            }
        }
        if let Some(run) = self.runs.get_mut(system) {
            run.push_str(&trec_run(trace, &topic, &format!("memsift-{}", System::letter(system))));
        }
    }
}

/// Where they go.
pub(super) struct Trec {
    qrels: OutputFile,
    runs: Vec<OutputFile>,
}

impl Trec {
    /// Looks at the places before anything is asked.
    ///
    /// # Errors
    /// One sentence when one of them cannot be written; files that are there stay.
    pub(super) fn open(prefix: &Path, systems: &[System]) -> Result<Self, BadInput> {
        let file = |end: &str| {
            let mut path = prefix.as_os_str().to_owned();
            path.push(end);
            OutputFile::new(Path::new(&path), false).map_err(|error| BadInput(format!("--trec: {error}")))
        };
        let runs = systems.iter().map(|system| file(&format!(".{}.run", system.name))).collect::<Result<_, _>>()?;
        Ok(Self { qrels: file(".qrels")?, runs })
    }

    /// Writes them. Systems whose order was not measured get no run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn write(&self, lines: &Lines) -> Result<(), OutputError> {
        self.qrels.write(lines.qrels.as_bytes())?;
        let measured = self.runs.iter().zip(&lines.runs).filter(|(_, lines)| !lines.is_empty());
        measured.into_iter().try_for_each(|(file, lines)| file.write(lines.as_bytes()))
    }
}
