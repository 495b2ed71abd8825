//! Rows of all nodes of the cluster.

use std::sync::{Arc, Weak};

use serde_json::Value as Json;
use shoal_cluster::OperatorAnswers;
use shoal_types::{Error, NodeId, Result, Value};

use super::super::definitions::{Definition, Maker, NodeRows};
use super::definitions::DEFINITIONS;
use super::this_node::{me, members};
use crate::server::Server;

/// Rows that one node tells of a table: what comes behind them would take too much memory on the way.
const ROWS_OF_NODE_MAX: usize = 200_000;
/// The same in bytes of the answer.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Rows, and a sentence for every node whose rows are missing.
pub(crate) struct Gathered {
    pub rows: Vec<Vec<Value>>,
    pub warnings: Vec<String>,
}

/// This node's rows and those of all others, by their ids.
pub(crate) async fn rows_of_all(server: &Arc<Server>, table: &'static Definition, make: NodeRows) -> Gathered {
    let me = NodeId(me(server));
    let members = members(server);
    let others: Vec<NodeId> = members.iter().copied().filter(|&node| node != me).collect();
    let maker = Arc::clone(server);
    // It reads files of the system and holds many partitions: not on a thread that serves sessions.
    let own = tokio::task::spawn_blocking(move || make(&maker));
    let told = server.node.ask_node_rows_of(&others, table.name).await;
    let width = table.result_columns().len();
    let mut parts: Vec<(NodeId, Result<Vec<Vec<Value>>>)> = vec![(me, own.await.map_err(failed))];
    let mut gathered = Gathered { rows: Vec::new(), warnings: Vec::new() };
    for (node, text) in told {
        let told = text.and_then(|text| decoded(node, &text, width));
        let lacks_some = || format!("ndbinfo.{} lacks rows of node {node}: there are too many", table.name);
        gathered.warnings.extend(told.as_ref().ok().filter(|told| told.is_cut).map(|_| lacks_some()));
        parts.push((node, told.map(|told| told.rows)));
    }
    parts.sort_by_key(|(node, _)| *node);
    for (node, part) in parts {
        match part {
            Ok(rows) => gathered.rows.extend(rows),
            Err(error) => {
                gathered.warnings.push(format!("ndbinfo.{} lacks node {node}: {}", table.name, error.message()));
            }
        }
    }
    gathered
}

fn failed(_: tokio::task::JoinError) -> Error {
    Error::unknown("internal: its rows could not be made")
}

/// What this node tells others, as JSON: an array of rows.
pub(crate) struct NodeTables(pub Weak<Server>);

impl OperatorAnswers for NodeTables {
    fn answer(&self, table: &str) -> Result<String> {
        let server = self.0.upgrade().ok_or_else(|| Error::unknown("the node is stopping"))?;
        let found = DEFINITIONS.iter().find(|definition| definition.name == table);
        let Some(Definition { rows: Maker::Nodes(make), .. }) = found else {
            return Err(Error::unknown("its version does not know the table"));
        };
        Ok(encoded(&make(&server), ROWS_OF_NODE_MAX, ANSWER_BYTES_MAX))
    }
}

/// As many of the rows as may be told; `null` stands for the others.
fn encoded(rows: &[Vec<Value>], rows_max: usize, bytes_max: usize) -> String {
    let mut text = String::from("[");
    for (number, row) in rows.iter().enumerate() {
        let row = row.iter().map(json_of).collect::<Json>().to_string();
        let comma = if number == 0 { "" } else { "," };
        if number == rows_max || text.len() + row.len() > bytes_max {
            text.push_str(comma);
            text.push_str("null");
            break;
        }
        text.push_str(comma);
        text.push_str(&row);
    }
    text.push(']');
    text
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::UInt(number) => Json::from(*number),
        Value::Int(number) => Json::from(*number),
        other => Json::from(String::from_utf8_lossy(&other.to_text()).into_owned()),
    }
}

/// What another node has told.
#[derive(Debug, PartialEq)]
struct Told {
    rows: Vec<Vec<Value>>,
    /// There are more.
    is_cut: bool,
}

/// The rows of another node. Errors: they are not rows of this many columns.
fn decoded(node: NodeId, text: &str, width: usize) -> Result<Told> {
    let unfit = || Error::unknown(format!("node {node} answers in a way this version does not know"));
    let json: Json = serde_json::from_str(text).map_err(|_| unfit())?;
    let row = |row: &Json| {
        let cells = row.as_array().filter(|cells| cells.len() == width).ok_or_else(unfit)?;
        cells.iter().map(|cell| value_of(cell).ok_or_else(unfit)).collect()
    };
    let mut rows = json.as_array().ok_or_else(unfit)?.as_slice();
    let is_cut = rows.last().is_some_and(Json::is_null);
    if is_cut {
        rows = &rows[..rows.len() - 1];
    }
    Ok(Told { rows: rows.iter().map(row).collect::<Result<_>>()?, is_cut })
}

fn value_of(cell: &Json) -> Option<Value> {
    Some(match cell {
        Json::Null => Value::Null,
        Json::String(text) => Value::str(text.as_str()),
        Json::Number(number) => match number.as_u64() {
            Some(number) => Value::UInt(number),
            None => Value::Int(number.as_i64()?),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_arrive_as_they_were_told_and_others_are_refused() {
        let row = vec![Value::UInt(u64::MAX), Value::Int(-3), Value::Null, Value::str("a\"é")];
        let rows = vec![row.clone(), row.clone(), row];
        let all = encoded(&rows, 10, 1000);
        assert_eq!(decoded(NodeId(2), &all, 4).unwrap(), Told { rows: rows.clone(), is_cut: false });
        assert_eq!(decoded(NodeId(2), &encoded(&[], 10, 1000), 4).unwrap(), Told { rows: vec![], is_cut: false });
        // By their number and by their size.
        for (rows_max, bytes_max, kept) in [(2, 1000, 2), (10, all.len() - 3, 2), (10, 10, 0)] {
            let told = decoded(NodeId(2), &encoded(&rows, rows_max, bytes_max), 4).unwrap();
            assert_eq!(told, Told { rows: rows[..kept].to_vec(), is_cut: true }, "{rows_max} {bytes_max}");
        }
        for spoilt in ["", "{}", "[1]", "[[1,2,3]]", "[[1,2,3,[]]]", "[[1,2,3,1.5]]", "[null,null]"] {
            assert!(decoded(NodeId(2), spoilt, 4).is_err(), "{spoilt}");
        }
    }
}
