//! Table: rows of short texts, printed aligned for terminals or as Markdown. Knows neither what stands in it nor where it
//! goes.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::markup::escaped;

/// A table with a title. The first column is aligned left, the others right.
#[derive(Debug, Clone, Default)]
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Columns padded with spaces.
    Text,
    /// Pipes.
    Markdown,
}

impl Table {
    /// An empty one.
    pub fn new(title: impl Into<String>, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { title: title.into(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Add a row; what is missing stays empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Print it behind a text.
    pub fn print(&self, into: &mut String, style: Style) {
        match style {
            Style::Text => self.text(into),
            Style::Markdown => self.markdown(into),
        }
    }

    fn text(&self, into: &mut String) {
        let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                let rows = self.rows.iter().map(|row| cell(row, at).width());
                rows.chain([cell(&self.columns, at).width()]).max().unwrap_or(0)
            })
            .collect();
        let line = |into: &mut String, row: &[String]| {
            let mut text = String::new();
            for (at, width) in widths.iter().enumerate() {
                let cell = cell(row, at);
                let pad = " ".repeat(width.saturating_sub(cell.width()));
                let _ = if at == 0 { write!(text, "{cell}{pad}") } else { write!(text, "  {pad}{cell}") };
            }
            let _ = writeln!(into, "{}", text.trim_end());
        };
        if !self.title.is_empty() {
            let _ = writeln!(into, "\n{}", self.title);
        }
        line(into, &self.columns);
        self.rows.iter().for_each(|row| line(into, row));
    }

    /// As an HTML element behind a text.
    pub fn html(&self, into: &mut String) {
        let line = |into: &mut String, row: &[String], tag: &str| {
            let cells = (0..self.columns.len())
                .map(|at| format!("<{tag}>{}</{tag}>", escaped(row.get(at).map_or("", String::as_str))));
            let _ = writeln!(into, "<tr>{}</tr>", cells.collect::<String>());
        };
        let _ = writeln!(into, "<table>");
        if !self.title.is_empty() {
            let _ = writeln!(into, "<caption>{}</caption>", escaped(&self.title));
        }
        line(into, &self.columns, "th");
        self.rows.iter().for_each(|row| line(into, row, "td"));
        let _ = writeln!(into, "</table>");
    }

    fn markdown(&self, into: &mut String) {
        let plain = |cell: &str| cell.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
        let line = |into: &mut String, row: &[String]| {
            let cells = (0..self.columns.len()).map(|at| plain(row.get(at).map_or("", String::as_str)));
            let _ = writeln!(into, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        };
        if !self.title.is_empty() {
            let _ = writeln!(into, "\n### {}\n", plain(&self.title));
        }
        line(into, &self.columns);
        let rule = (0..self.columns.len()).map(|at| if at == 0 { "---" } else { "--:" });
        let _ = writeln!(into, "|{}|", rule.collect::<Vec<_>>().join("|"));
        self.rows.iter().for_each(|row| line(into, row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_signs_and_pipes_keep_their_columns() {
        let mut table = Table::new("T", ["α", "value"]);
        table.row(["漢字", "1"]);
        table.row(["a|b"]);
        let mut text = String::new();
        table.print(&mut text, Style::Text);
        assert_eq!(text, "\nT\nα     value\n漢字      1\na|b\n");
        let mut text = String::new();
        table.print(&mut text, Style::Markdown);
        assert_eq!(text, "\n### T\n\n| α | value |\n|---|--:|\n| 漢字 | 1 |\n| a\\|b |  |\n");
    }
}
