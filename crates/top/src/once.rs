//! The state as text, for scripts and pipes.

use std::fmt::Write;

use crate::state::{NODE_COLUMNS, SESSION_COLUMNS, SessionRow, State};

/// Statements are cut here.
const TEXT_CHARACTERS: usize = 120;

pub fn text(state: &State) -> String {
    let mut out = format!("{}\n", state.title);
    for warning in &state.warnings {
        let _ = writeln!(out, "{}: {}\n    {}", warning.severity, warning.text, warning.advice);
    }
    out.push('\n');
    let nodes = state.nodes.iter().map(|node| node.cells.clone());
    table(&mut out, &NODE_COLUMNS, nodes);
    out.push('\n');
    let sessions = state.sessions.iter().filter(|session| session.is_running || session.transaction.is_some());
    table(&mut out, &SESSION_COLUMNS, sessions.map(session_cells));
    if !state.waits.is_empty() {
        out.push('\n');
        state.waits.iter().for_each(|wait| out.extend([wait, "\n"]));
    }
    out
}

pub fn session_cells(session: &SessionRow) -> Vec<String> {
    let text: String = session.text.chars().take(TEXT_CHARACTERS).collect();
    let (user, state) = (session.user.clone(), session.state.clone());
    vec![session.node.to_string(), session.id.to_string(), user, state, session.time(), text]
}

/// Columns as wide as what is in them; the last one ends with its text.
fn table(out: &mut String, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<Vec<String>> = rows.collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([columns[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let head = columns.iter().map(|name| (*name).to_owned()).collect();
    for row in std::iter::once(&head).chain(&rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::state;

    #[test]
    fn columns_line_up_and_idle_connections_are_left_out() {
        let expected = "\
Shoal, cluster dev: 1 of 4 partitions have no leader
critical: node 2: Bad  [0m
    Mend it

NODE  ROLES     STATE         LEADS  MEMORY     READS/S  WRITES/S  READ P99  WRITE P99  CLIENTS
1     data,sql  STARTED       2      1.0M/1.0G  812      3         96us      2.5ms      3 (1 at work)
2     data      STARTING 25%  0      -          -        -         -         -          -

NODE  ID  USER     STATE              TIME   STATEMENT
1     7   ann@h/d  waits for lock     1m01s  SELECT ' [2J '
1     8   ann@h/d  idle, holds locks  1.5s   SELECT ' [2J '

1:7 (ann@h/d, waits for lock) has waited 1m00s for 1:8 (ann@h/d, idle, holds locks) and transaction 99
";
        assert_eq!(text(&state()), expected);
    }
}
