//! Document: what a measurement has to say, in order, as text, Markdown or one HTML page that needs nothing else. Knows its
//! parts; nothing of what was measured.

use std::fmt::Write;

use super::chart::Chart;
use super::table::{Style, Table};
use crate::markup::escaped;

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For a terminal, without charts.
    Text,
    /// Without charts, too.
    Markdown,
    /// With charts.
    Html,
}

impl Form {
    /// Names of `--format` and ends of file names.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "text" | "txt" => Some(Self::Text),
            "markdown" | "md" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

/// Some lines, then tables and charts.
#[derive(Debug, Clone, Default)]
pub struct Document {
    title: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Lines(String),
    Table(Table),
    Chart(Chart),
}

impl Document {
    /// Without anything yet. The title stands on the page only.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), parts: Vec::new() }
    }

    /// Add lines of text.
    pub fn lines(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Lines(text.into()));
    }

    /// Add a table, unless it is empty.
    pub fn table(&mut self, table: Table) {
        if !table.is_empty() {
            self.parts.push(Part::Table(table));
        }
    }

    /// Add a chart.
    pub fn chart(&mut self, chart: Chart) {
        self.parts.push(Part::Chart(chart));
    }

    /// Print it.
    pub fn print(&self, form: Form) -> String {
        let mut text = String::new();
        match form {
            Form::Html => self.html(&mut text),
            Form::Text => self.plain(&mut text, Style::Text),
            Form::Markdown => self.plain(&mut text, Style::Markdown),
        }
        text
    }

    fn plain(&self, text: &mut String, style: Style) {
        for part in &self.parts {
            match part {
                // A line end is one in Markdown only after two spaces.
                Part::Lines(lines) if style == Style::Markdown => text.push_str(&lines.replace('\n', "  \n")),
                Part::Lines(lines) => text.push_str(lines),
                Part::Table(table) => table.print(text, style),
                Part::Chart(_) => {}
            }
        }
    }

    fn html(&self, text: &mut String) {
        let title = escaped(&self.title);
        let _ = write!(
            text,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{title}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        for part in &self.parts {
            match part {
                Part::Lines(lines) => {
                    let lines: Vec<String> = lines.trim_end().lines().map(escaped).collect();
                    let _ = writeln!(text, "<p>{}</p>", lines.join("<br>\n"));
                }
                Part::Table(table) => table.html(text),
                Part::Chart(chart) => text.push_str(&chart.svg()),
            }
        }
        let _ = writeln!(text, "<p class=\"from\">memsift {}</p>\n</body>\n</html>", env!("CARGO_PKG_VERSION"));
    }
}

/// Readable on light and dark pages.
const CSS: &str = "
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: .5em 0 2em; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3em 0; }
th, td { text-align: right; padding: .15em .8em; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
figure { margin: 1em 0 2em; }
figcaption { font-weight: 600; }
svg { width: 100%; max-width: 60em; font: 12px system-ui, sans-serif; fill: currentColor; }
.grid { stroke: currentColor; stroke-opacity: .15; }
.line { fill: none; stroke-width: 2; }
.from { opacity: .6; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_alone_and_text_has_no_charts() {
        let mut document = Document::new("Figures");
        document.lines("1 question <1>\n");
        let mut table = Table::new("T", ["a", "b"]);
        table.row(["<x>", "1"]);
        document.table(table);
        document.table(Table::new("empty", ["a"]));
        document.chart(Chart::Bars { title: "bars".to_owned(), bars: vec![("x".to_owned(), Some(1.0))] });
        assert_eq!(document.print(Form::Text), "1 question <1>\n\nT\na    b\n<x>  1\n");
        let page = document.print(Form::Html);
        assert!(page.contains("<td>&lt;x&gt;</td><td>1</td>") && page.contains("<svg"), "{page}");
        assert!(!page.contains("src=") && !page.contains("href") && !page.contains("<script"), "{page}");
        assert!(!page.contains("empty"));
    }
}
