//! What a server answers, in a form that can be compared.

use std::collections::BTreeMap;

use crate::{Client, Error, Reply, Rows, Value};

/// The type of a result's column: its number on the wire, its flags of interest, its decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnType {
    pub kind: u8,
    pub is_unsigned: bool,
    pub decimals: u8,
    pub collation: u16,
}

impl ColumnType {
    /// Integers of all sizes are one class, and so are texts: how large a result's type is made differs between versions.
    pub fn class(&self) -> u8 {
        match self.kind {
            1 | 2 | 3 | 8 | 9 => 8,
            249..=254 => 253,
            other => other,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Rows {
        columns: Vec<ColumnType>,
        rows: Vec<Vec<String>>,
    },
    Done {
        affected: u64,
    },
    Failed(u16),
    /// The server does not answer any more.
    Lost(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub outcome: Outcome,
    /// Numbers of warnings and how often each was given.
    pub warnings: BTreeMap<u16, usize>,
    /// What the server says of an error, for people.
    pub message: String,
}

/// Errors of single values: which rows a plan looks at decides whether they occur.
const OF_VALUES: [u16; 17] =
    [1242, 1264, 1265, 1292, 1365, 1366, 1406, 1411, 1441, 1525, 1690, 1918, 3020, 3140, 3141, 3143, 3146];

impl Answer {
    pub fn fails_by_value(&self) -> bool {
        self.errno().is_some_and(|errno| OF_VALUES.contains(&errno))
    }

    pub fn errno(&self) -> Option<u16> {
        match self.outcome {
            Outcome::Failed(errno) => Some(errno),
            _ => None,
        }
    }

    /// The rows, whatever order they came in.
    pub fn sorted_rows(&self) -> Option<Vec<Vec<String>>> {
        match &self.outcome {
            Outcome::Rows { rows, .. } => {
                let mut rows = rows.clone();
                rows.sort();
                Some(rows)
            }
            _ => None,
        }
    }
}

const FLAG_UNSIGNED: u16 = 32;

/// Runs a statement, with its parameters if it has some.
pub fn run(client: &mut Client, sql: &str, parameters: Option<&[Value]>) -> Answer {
    let reply = match parameters {
        None => client.send_query(sql).and_then(|()| client.receive_reply()),
        Some(values) => client.prepare(sql).and_then(|statement| {
            let reply = client.run_statement(&statement, values);
            client.close_statement(&statement)?;
            reply
        }),
    };
    let mut message = String::new();
    let (outcome, has_warnings) = match reply {
        Ok(Reply::Rows(rows)) => {
            let has_warnings = rows.warnings > 0;
            (rows_outcome(rows), has_warnings)
        }
        Ok(Reply::Done(done)) => (Outcome::Done { affected: done.affected_rows }, done.warnings > 0),
        Err(Error::Server { errno, message: text, .. }) => {
            message = text;
            (Outcome::Failed(errno), false)
        }
        Err(error) => (Outcome::Lost(error.to_string()), false),
    };
    let warnings = if has_warnings { warnings(client) } else { BTreeMap::new() };
    Answer { outcome, warnings, message }
}

fn rows_outcome(rows: Rows) -> Outcome {
    let columns = rows
        .columns
        .iter()
        .map(|column| ColumnType {
            kind: column.kind,
            is_unsigned: column.flags & FLAG_UNSIGNED != 0,
            decimals: column.decimals,
            collation: column.collation,
        })
        .collect();
    let rows = rows.rows.iter().map(|row| row.iter().map(printed).collect()).collect();
    Outcome::Rows { columns, rows }
}

fn printed(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => format!("'{}'", bytes.escape_ascii()),
        other => other.to_string(),
    }
}

fn warnings(client: &mut Client) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    if let Ok(rows) = client.query("SHOW WARNINGS") {
        for row in rows.rows {
            let number = row.get(1).map(ToString::to_string).and_then(|text| text.parse().ok());
            *counts.entry(number.unwrap_or(0)).or_default() += 1;
        }
    }
    counts
}
