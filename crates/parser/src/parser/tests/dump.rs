//! A compact text of a tree for golden files: the debug form without what is absent, empty or false, and with bytes as text.

use std::fmt::Debug;

pub(super) fn dump(tree: &impl Debug) -> String {
    let pretty = format!("{tree:#?}");
    let lines: Vec<&str> = pretty.lines().collect();
    let mut kept: Vec<String> = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim();
        if let Some((text, length)) = byte_list(&lines[index..]) {
            kept.push(text);
            index += length;
            continue;
        }
        if !says_nothing(line) {
            kept.push(line.to_owned());
        }
        index += 1;
    }
    join(&kept)
}

fn says_nothing(line: &str) -> bool {
    [": None,", ": [],", ": false,"].iter().any(|end| line.ends_with(end))
}

/// `name: [` followed by numbers and `]` is a byte string: its text, and its lines.
fn byte_list(lines: &[&str]) -> Option<(String, usize)> {
    let head = lines[0].trim().strip_suffix('[')?;
    let numbers: Vec<u8> =
        lines[1..].iter().map_while(|line| line.trim().strip_suffix(',')?.parse().ok()).collect();
    if numbers.is_empty() || lines.get(numbers.len() + 1)?.trim().trim_end_matches(',') != "]" {
        return None;
    }
    let text = format!("{head}b\"{}\",", numbers.escape_ascii());
    Some((text, numbers.len() + 2))
}

fn join(lines: &[String]) -> String {
    let mut joined = lines.join(" ");
    for (from, to) in
        [(", }", " }"), (", )", ")"), (", ]", "]"), ("( ", "("), ("[ ", "["), ("Ident(`", "("), ("`)", ")")]
    {
        joined = joined.replace(from, to);
    }
    joined.trim_end_matches(',').to_owned()
}
