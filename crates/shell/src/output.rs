//! Results as text: tables, tab-separated lines, a line for each value.
//!
//! What a server sends reaches the terminal without control characters: tables show them escaped. What is no text is shown in hexadecimal.
//! Tab-separated lines are for programs: they are as MySQL's client writes them.

use std::borrow::Cow;
use std::io::{self, Write};

use shoal_mysql_client::{Column, Rows, Value};
use unicode_width::UnicodeWidthStr;

/// How rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With lines around them, as wide as the widest values.
    Table,
    /// For programs.
    TabSeparated,
    /// A line for each value.
    Vertical,
}

/// What a table shows of NULL.
const NULL: &str = "NULL";
/// Kinds of columns whose values are numbers: from TINY to DOUBLE, the larger integers, YEAR, DECIMAL.
const NUMBERS: [u8; 10] = [0, 1, 2, 3, 4, 5, 8, 9, 13, 246];

/// Writes the rows. `goes_on` is asked between them: a user may have seen enough.
pub fn write_rows(
    out: &mut dyn Write,
    rows: &Rows,
    format: Format,
    skip_column_names: bool,
    goes_on: &dyn Fn() -> bool,
) -> io::Result<()> {
    match format {
        Format::Table if rows.rows.is_empty() => Ok(()),
        Format::Table => write_table(out, rows, skip_column_names, goes_on),
        Format::TabSeparated => write_lines(out, rows, skip_column_names, goes_on),
        Format::Vertical => write_vertical(out, rows, goes_on),
    }
}

fn write_table(
    out: &mut dyn Write,
    rows: &Rows,
    skip_column_names: bool,
    goes_on: &dyn Fn() -> bool,
) -> io::Result<()> {
    let names: Vec<Cow<'_, str>> = rows.columns.iter().map(|column| shown(column.name.as_bytes(), "")).collect();
    let cells = |row: &[Value]| row.iter().map(|value| cell(value, "").into_owned()).collect::<Vec<_>>();
    let mut widths: Vec<usize> =
        names.iter().map(|name| if skip_column_names { 0 } else { name.width() }).collect();
    for row in &rows.rows {
        for (width, value) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell(value, "").width());
        }
    }
    let line: String = widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect();
    writeln!(out, "{line}+")?;
    if !skip_column_names {
        write_row(out, &names, &widths, |_| false)?;
        writeln!(out, "{line}+")?;
    }
    for row in &rows.rows {
        if !goes_on() {
            break;
        }
        write_row(out, &cells(row), &widths, |number| is_number(&rows.columns[number]))?;
    }
    writeln!(out, "{line}+")
}

fn write_row(
    out: &mut dyn Write,
    cells: &[impl AsRef<str>],
    widths: &[usize],
    is_right: impl Fn(usize) -> bool,
) -> io::Result<()> {
    for (number, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cell.as_ref();
        let padding = " ".repeat(width - cell.width().min(*width));
        match is_right(number) {
            true => write!(out, "| {padding}{cell} ")?,
            false => write!(out, "| {cell}{padding} ")?,
        }
    }
    writeln!(out, "|")
}

fn write_vertical(out: &mut dyn Write, rows: &Rows, goes_on: &dyn Fn() -> bool) -> io::Result<()> {
    let names: Vec<Cow<'_, str>> = rows.columns.iter().map(|column| shown(column.name.as_bytes(), "")).collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let stars = "*".repeat(27);
    for (number, row) in rows.rows.iter().enumerate() {
        if !goes_on() {
            break;
        }
        writeln!(out, "{stars} {}. row {stars}", number + 1)?;
        for (name, value) in names.iter().zip(row) {
            let padding = " ".repeat(widest - name.width());
            writeln!(out, "{padding}{name}: {}", cell(value, "\n\t"))?;
        }
    }
    Ok(())
}

fn write_lines(
    out: &mut dyn Write,
    rows: &Rows,
    skip_column_names: bool,
    goes_on: &dyn Fn() -> bool,
) -> io::Result<()> {
    if !skip_column_names && !rows.rows.is_empty() {
        let names: Vec<&[u8]> = rows.columns.iter().map(|column| column.name.as_bytes()).collect();
        write_line(out, &names)?;
    }
    for row in &rows.rows {
        if !goes_on() {
            break;
        }
        let texts: Vec<Cow<'_, [u8]>> = row.iter().map(bytes).collect();
        write_line(out, &texts)?;
    }
    Ok(())
}

fn write_line(out: &mut dyn Write, values: &[impl AsRef<[u8]>]) -> io::Result<()> {
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            out.write_all(b"\t")?;
        }
        for piece in value.as_ref().split_inclusive(|byte| matches!(byte, 0 | b'\t' | b'\n' | b'\\')) {
            let escape: &[u8] = match piece.last() {
                Some(0) => b"\\0",
                Some(b'\t') => b"\\t",
                Some(b'\n') => b"\\n",
                Some(b'\\') => b"\\\\",
                _ => b"",
            };
            out.write_all(&piece[..piece.len() - escape.len().min(1)])?;
            out.write_all(escape)?;
        }
    }
    out.write_all(b"\n")
}

fn bytes(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Bytes(bytes) => Cow::Borrowed(bytes),
        other => Cow::Owned(other.to_string().into_bytes()),
    }
}

fn cell<'value>(value: &'value Value, kept: &str) -> Cow<'value, str> {
    match value {
        Value::Null => Cow::Borrowed(NULL),
        Value::Bytes(bytes) => shown(bytes, kept),
        other => Cow::Owned(other.to_string()),
    }
}

/// A text without control characters, but for those in `kept`; in hexadecimal what is no text.
fn shown<'bytes>(bytes: &'bytes [u8], kept: &str) -> Cow<'bytes, str> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        return Cow::Owned(format!("0x{digits}"));
    };
    let is_escaped = |one: char| one.is_control() && !kept.contains(one);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for one in text.chars() {
        match one {
            one if !is_escaped(one) => escaped.push(one),
            '\0' => escaped.push_str("\\0"),
            one => escaped.extend(one.escape_default()),
        }
    }
    Cow::Owned(escaped)
}

fn is_number(column: &Column) -> bool {
    NUMBERS.contains(&column.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: u8) -> Column {
        Column { table: String::new(), name: name.into(), collation: 45, length: 0, kind, flags: 0, decimals: 0 }
    }

    fn written(rows: &Rows, format: Format, skip_column_names: bool) -> String {
        let mut out = Vec::new();
        write_rows(&mut out, rows, format, skip_column_names, &|| true).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn sample() -> Rows {
        Rows {
            columns: vec![column("id", 3), column("名前", 253)],
            rows: vec![
                vec![Value::text("7"), Value::text("鯉 🐟")],
                vec![Value::text("1000"), Value::Null],
                vec![Value::Null, Value::text("a\tb\u{1b}[31m\n")],
                vec![Value::text("-1"), Value::Bytes(vec![0xff, 0, 0x0a])],
            ],
            ..Rows::default()
        }
    }

    #[test]
    fn tables_are_as_wide_as_what_is_seen() {
        let lines = [
            "+------+------------------+",
            "| id   | 名前             |",
            "+------+------------------+",
            "|    7 | 鯉 🐟            |",
            "| 1000 | NULL             |",
            "| NULL | a\\tb\\u{1b}[31m\\n |",
            "|   -1 | 0xFF000A         |",
            "+------+------------------+\n",
        ];
        assert_eq!(written(&sample(), Format::Table, false), lines.join("\n"));
        assert!(written(&sample(), Format::Table, true).starts_with("+------+"));
        assert_eq!(written(&Rows::default(), Format::Table, false), "");
    }

    #[test]
    fn lines_for_programs_have_one_line_a_row() {
        let mut rows = sample();
        rows.rows.truncate(3);
        let text = written(&rows, Format::TabSeparated, false);
        assert_eq!(text, "id\t名前\n7\t鯉 🐟\n1000\tNULL\nNULL\ta\\tb\u{1b}[31m\\n\n");
        assert_eq!(written(&rows, Format::TabSeparated, true).lines().count(), 3);
    }

    #[test]
    fn a_line_a_value_keeps_the_lines_of_texts() {
        let mut rows = sample();
        rows.rows.drain(..2);
        let stars = "*".repeat(27);
        let first = format!("{stars} 1. row {stars}\n  id: NULL\n名前: a\tb\\u{{1b}}[31m\n\n");
        let second = format!("{stars} 2. row {stars}\n  id: -1\n名前: 0xFF000A\n");
        assert_eq!(written(&rows, Format::Vertical, false), first + &second);
    }

    #[test]
    fn a_user_who_has_seen_enough_gets_no_more_rows() {
        let mut out = Vec::new();
        write_rows(&mut out, &sample(), Format::TabSeparated, true, &|| false).unwrap();
        assert!(out.is_empty());
    }
}
