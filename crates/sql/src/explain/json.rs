//! FORMAT=JSON: the rows grouped by query block.

use std::fmt::Write;

use super::rows::ExplainRow;
use super::windows::WindowFacts;

/// The whole text, indented.
pub fn text(rows: &[ExplainRow]) -> String {
    let mut blocks: Vec<(Option<u64>, &str, Vec<&ExplainRow>)> = Vec::new();
    for row in rows {
        match blocks.iter_mut().find(|(id, ..)| *id == row.id && row.id.is_some()) {
            Some((.., members)) => members.push(row),
            None => blocks.push((row.id, &row.select_type, vec![row])),
        }
    }
    let mut out = String::from("{\n  \"query_block\": ");
    if let Some((id, kind, members)) = blocks.first() {
        block(&mut out, *id, kind, members, 2);
    } else {
        out.push_str("{}");
    }
    if blocks.len() > 1 {
        out.push_str(",\n  \"other_query_blocks\": [\n");
        for (position, (id, kind, members)) in blocks[1..].iter().enumerate() {
            out.push_str(if position > 0 { ",\n    " } else { "    " });
            block(&mut out, *id, kind, members, 4);
        }
        out.push_str("\n  ]");
    }
    out.push_str("\n}");
    out
}

fn block(out: &mut String, id: Option<u64>, kind: &str, rows: &[&ExplainRow], indent: usize) {
    let pad = " ".repeat(indent);
    out.push_str("{\n");
    if let Some(id) = id {
        let _ = writeln!(out, "{pad}  \"select_id\": {id},");
    }
    let _ = writeln!(out, "{pad}  \"select_type\": {},", quoted(kind));
    match rows.first() {
        Some(first) if !first.windows.is_empty() => {
            let _ = writeln!(out, "{pad}  \"windowing\": {{");
            windows(out, &first.windows, indent + 4);
            tables(out, rows, indent + 2);
            let _ = writeln!(out, "{pad}  }}");
        }
        _ => tables(out, rows, indent),
    }
    let _ = write!(out, "{pad}}}");
}

fn windows(out: &mut String, windows: &[WindowFacts], indent: usize) {
    let pad = " ".repeat(indent);
    let _ = writeln!(out, "{pad}\"windows\": [");
    for (number, window) in windows.iter().enumerate() {
        let list = |items: &[String]| list(items.iter().map(String::as_str));
        let mut members = vec![format!("\"name\": {}", quoted(&window.name))];
        if !window.sort_keys.is_empty() {
            members.push("\"using_filesort\": true".to_owned());
            members.push(format!("\"filesort_key\": {}", list(&window.sort_keys)));
        }
        if window.uses_frame_buffer {
            members.push("\"frame_buffer\": {\"using_temporary_table\": true}".to_owned());
        }
        members.push(format!("\"functions\": {}", list(&window.functions)));
        let end = if number + 1 < windows.len() { "," } else { "" };
        let _ = writeln!(out, "{pad}  {{\n{pad}    {}\n{pad}  }}{end}", members.join(&format!(",\n{pad}    ")));
    }
    let _ = writeln!(out, "{pad}],");
}

/// The tables of a block, as a member or two of the object that they stand in.
fn tables(out: &mut String, rows: &[&ExplainRow], indent: usize) {
    let pad = " ".repeat(indent);
    match rows {
        [single] if single.table.is_none() => {
            let _ = writeln!(out, "{pad}  \"message\": {}", quoted(&single.extra.join("; ")));
        }
        [single] => {
            let _ = write!(out, "{pad}  \"table\": ");
            table(out, single, indent + 2);
            out.push('\n');
        }
        several => {
            let _ = writeln!(out, "{pad}  \"nested_loop\": [");
            for (position, row) in several.iter().enumerate() {
                let _ = write!(out, "{pad}    {{\n{pad}      \"table\": ");
                table(out, row, indent + 6);
                let _ = write!(out, "\n{pad}    }}{}\n", if position + 1 < several.len() { "," } else { "" });
            }
            let _ = writeln!(out, "{pad}  ]");
        }
    }
}

fn table(out: &mut String, row: &ExplainRow, indent: usize) {
    let pad = " ".repeat(indent);
    let mut members: Vec<(&str, String)> = Vec::new();
    let list = |text: &str| list(text.split(','));
    if let Some(name) = &row.table {
        members.push(("table_name", quoted(name)));
    }
    if let Some(partitions) = &row.partitions {
        members.push(("partitions", list(partitions)));
    }
    if let Some(access) = row.access {
        members.push(("access_type", quoted(access)));
    }
    if let Some(keys) = &row.possible_keys {
        members.push(("possible_keys", list(keys)));
    }
    if let Some(key) = &row.key {
        members.push(("key", quoted(key)));
    }
    if let Some(length) = &row.key_length {
        members.push(("key_length", quoted(length)));
    }
    if let Some(reference) = &row.reference {
        members.push(("ref", list(reference)));
    }
    if let Some(rows) = row.rows {
        members.push(("rows_examined_per_scan", rows.to_string()));
    }
    if let Some(filtered) = row.filtered {
        members.push(("filtered", quoted(filtered)));
    }
    if let Some(condition) = &row.condition {
        members.push(("attached_condition", quoted(condition)));
    }
    if !row.extra.is_empty() {
        members.push(("extra", quoted(&row.extra.join("; "))));
    }
    let lines: Vec<String> = members.iter().map(|(name, value)| format!("{pad}  \"{name}\": {value}")).collect();
    let _ = write!(out, "{{\n{}\n{pad}}}", lines.join(",\n"));
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.map(quoted).collect();
    format!("[{}]", items.join(", "))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
