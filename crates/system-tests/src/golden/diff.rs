//! A unified diff of two texts, line by line.

use std::fmt::Write as _;

enum Line<'a> {
    Same(&'a str),
    Missing(&'a str),
    Surplus(&'a str),
}

/// The differences with `context` lines around each, or None when the texts are equal.
pub fn unified(label: &str, expected: &str, actual: &str, context: usize) -> Option<String> {
    if expected == actual {
        return None;
    }
    let lines = compare(&expected.lines().collect::<Vec<_>>(), &actual.lines().collect::<Vec<_>>());
    let mut out = format!("--- {label}, expected\n+++ {label}, actual\n");
    let near_change = |number: usize| {
        let from = number.saturating_sub(context);
        let to = (number + context + 1).min(lines.len());
        lines[from..to].iter().any(|line| !matches!(line, Line::Same(_)))
    };
    let (mut left, mut right, mut in_hunk) = (1, 1, false);
    for (number, line) in lines.iter().enumerate() {
        let shown = near_change(number);
        if shown && !in_hunk {
            let _ = writeln!(out, "@@ -{left} +{right} @@");
        }
        in_hunk = shown;
        let (mark, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Missing(text) => ('-', text),
            Line::Surplus(text) => ('+', text),
        };
        if shown {
            let _ = writeln!(out, "{mark}{text}");
        }
        left += usize::from(mark != '+');
        right += usize::from(mark != '-');
    }
    Some(out)
}

/// The longest common subsequence, after the equal head and tail are set aside.
fn compare<'a>(expected: &[&'a str], actual: &[&'a str]) -> Vec<Line<'a>> {
    let head = expected.iter().zip(actual).take_while(|(left, right)| left == right).count();
    let (common_head, expected) = expected.split_at(head);
    let actual = &actual[head..];
    let tails = expected.iter().rev().zip(actual.iter().rev());
    let tail = tails.take_while(|(left, right)| left == right).count();
    let left = &expected[..expected.len() - tail];
    let right = &actual[..actual.len() - tail];
    let width = right.len() + 1;
    let mut longest = vec![0u32; (left.len() + 1) * width];
    for row in (0..left.len()).rev() {
        for column in (0..right.len()).rev() {
            longest[row * width + column] = if left[row] == right[column] {
                longest[(row + 1) * width + column + 1] + 1
            } else {
                longest[(row + 1) * width + column].max(longest[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut lines: Vec<Line> = Vec::new();
    while row < left.len() || column < right.len() {
        if row < left.len() && column < right.len() && left[row] == right[column] {
            lines.push(Line::Same(left[row]));
            row += 1;
            column += 1;
        } else if column == right.len()
            || (row < left.len() && longest[(row + 1) * width + column] >= longest[row * width + column + 1])
        {
            lines.push(Line::Missing(left[row]));
            row += 1;
        } else {
            lines.push(Line::Surplus(right[column]));
            column += 1;
        }
    }
    let same = |text: &[&'a str]| text.iter().map(|line| Line::Same(line)).collect::<Vec<_>>();
    let mut all = same(common_head);
    all.extend(lines);
    all.extend(same(&expected[expected.len() - tail..]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified("x", "a\nb\n", "a\nb\n", 3), None);
    }

    #[test]
    fn a_changed_line_is_shown_with_its_neighbours() {
        let expected = "1\n2\n3\n4\n5\n6\n7\n";
        let actual = "1\n2\n3\nfour\n5\n6\n7\n8\n";
        let diff = unified("x", expected, actual, 1).unwrap();
        let shown = "--- x, expected\n+++ x, actual\n@@ -3 +3 @@\n 3\n-4\n+four\n 5\n@@ -7 +7 @@\n 7\n+8\n";
        assert_eq!(diff, shown);
    }
}
