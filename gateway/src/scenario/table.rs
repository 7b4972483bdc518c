//! Markdown tables: rows of cells by their column's name.

use std::collections::HashMap;

use super::ScenarioError;

/// One data row of any table of the file.
#[derive(Debug)]
pub(super) struct Cells {
    /// Line of the file, from 1.
    pub(super) line: usize,
    by_column: HashMap<String, String>,
}

impl Cells {
    /// A cell's text; empty for a missing column, an empty cell, or a dash.
    pub(super) fn get(&self, column: &str) -> &str {
        match self.by_column.get(column).map(String::as_str) {
            None | Some("-" | "–" | "—") => "",
            Some(text) => text,
        }
    }
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner
        .split('|')
        .map(|cell| cell.trim().trim_matches('`').trim().to_owned())
        .collect()
}

fn is_rule(line: &str) -> bool {
    line.contains('-')
        && line
            .chars()
            .all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

/// Every data row, in the order of the file. Text between tables is ignored, and
/// so is a table without an `action` column.
pub(super) fn rows(text: &str, first_line: usize) -> Result<Vec<Cells>, ScenarioError> {
    let mut rows = Vec::new();
    let mut header: Option<Vec<String>> = None;
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let number = first_line + at;
        if !line.trim_start().starts_with('|') {
            header = None;
            continue;
        }
        if is_rule(line) {
            continue;
        }
        let Some(columns) = &header else {
            if lines.get(at + 1).is_some_and(|next| is_rule(next)) {
                let names = cells(line).into_iter().map(|name| name.to_lowercase());
                header = Some(names.collect());
                continue;
            }
            return Err(ScenarioError::text(
                number,
                "a table begins with its column names and a line of dashes",
            ));
        };
        if !columns.iter().any(|name| name == "action") {
            continue;
        }
        let values = cells(line);
        if values.len() != columns.len() {
            return Err(ScenarioError::text(
                number,
                format!("{} cells under {} columns", values.len(), columns.len()),
            ));
        }
        rows.push(Cells {
            line: number,
            by_column: columns.iter().cloned().zip(values).collect(),
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k38_columns_are_found_by_name_and_extra_ones_are_ignored() {
        let text = "# x\n\n| Note | Action | qty |\n|:--|---|--:|\n| a | `ORDER` | - |\n\n\
                    | other |\n|--|\n| 1 |\n";
        let rows = rows(text, 1).expect("a table");
        assert_eq!(rows.len(), 1, "a table without actions is text");
        assert_eq!(
            (rows[0].line, rows[0].get("action"), rows[0].get("qty")),
            (5, "ORDER", "")
        );
        assert_eq!(rows[0].get("absent"), "");
    }

    #[test]
    fn k38_a_broken_table_is_refused_with_its_line() {
        assert!(rows("| action |\n| ORDER |\n", 1).is_err());
        let error = rows("| action | qty |\n|--|--|\n| ORDER |\n", 1).expect_err("short");
        assert!(error.to_string().contains("line 3"));
    }
}
