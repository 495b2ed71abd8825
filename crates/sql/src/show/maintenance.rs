//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE and FLUSH.
//!
//! Row counts are always exact and deleted rows' memory is reused at once, so most of these have nothing to do and say
//! so. CHECK and CHECKSUM read the table.

use std::hash::{BuildHasher, Hasher};
use std::sync::PoisonError;

use shoal_parser::ast::{self, FlushOption, MaintenanceKind, ObjectName, Statement};
use shoal_types::{Error, Result, Value};

use super::Listing;
use super::objects::{Found, find_named};
use crate::account::{self, Privileges};
use crate::execute::{Flow, RowConsumer};
use crate::frontend::{ResultColumn, ResultSink};
use crate::information_schema::{row, types_of};
use crate::query_log::Log;
use crate::session::Session;
use crate::session::plans::PlanKind;

pub fn columns(kind: MaintenanceKind) -> Vec<ResultColumn> {
    types_of(match kind {
        MaintenanceKind::Checksum => "Table v128!, Checksum U",
        _ => "Table v128!, Op v10!, Msg_type v10!, Msg_text l!",
    })
}

pub async fn maintenance<S: ResultSink>(
    session: &mut Session,
    maintenance: &ast::TableMaintenance,
    more: bool,
    sink: &mut S,
) -> Result<()> {
    session.clear_conditions();
    if maintenance.histogram.is_some() {
        return Err(Error::unsupported("histograms"));
    }
    let mut rows = Vec::new();
    for name in &maintenance.tables {
        let full_name = qualified(session, name)?;
        match maintenance.kind {
            MaintenanceKind::Checksum => {
                let sum =
                    if find_named(session, name).is_ok() { Some(checksum(session, name).await?) } else { None };
                rows.push(row![full_name, sum]);
            }
            kind => rows.extend(look_after(session, kind, name, &full_name).await?),
        }
    }
    let listing = Listing { columns: columns(maintenance.kind), rows, ..Listing::default() };
    session.send_rows(&listing.columns, &listing.rows, more, sink)
}

fn qualified(session: &Session, name: &ObjectName) -> Result<String> {
    let database = match &name.schema {
        Some(schema) => schema.value.clone(),
        None => super::objects::current_database(session)?,
    };
    Ok(format!("{database}.{}", name.name.value))
}

async fn look_after(
    session: &mut Session,
    kind: MaintenanceKind,
    name: &ObjectName,
    full_name: &str,
) -> Result<Vec<Vec<Value>>> {
    let operation = match kind {
        MaintenanceKind::Analyze => "analyze",
        MaintenanceKind::Check => "check",
        MaintenanceKind::Optimize => "optimize",
        MaintenanceKind::Repair => "repair",
        MaintenanceKind::Checksum => "checksum",
    };
    let line = |kind: &str, text: &str| row![full_name, operation, kind, text];
    let table = match find_named(session, name) {
        Ok(found) => found,
        Err(error) => return Ok(vec![line("Error", error.message()), line("status", "Operation failed")]),
    };
    let fine = line("status", "OK");
    Ok(match (kind, table) {
        (MaintenanceKind::Check, Found::Base(table)) => {
            let counts = index_counts(session, name, &table.schema).await?;
            let wrong = counts.iter().find(|(_, count)| *count != counts[0].1);
            match wrong {
                Some((index, count)) => {
                    let text = format!("Index {index} has {count} entries, the table has {} rows", counts[0].1);
                    vec![line("error", &text), line("error", "Corrupt")]
                }
                None => vec![fine],
            }
        }
        (MaintenanceKind::Optimize, _) => {
            vec![line("note", "Memory of deleted rows is reused at once; nothing was moved"), fine]
        }
        (MaintenanceKind::Repair, _) => {
            vec![line("note", "The storage engine for the table doesn't support repair")]
        }
        _ => vec![fine],
    })
}

/// Entries of the primary key and of every ordered index, each counted by reading it in one snapshot.
async fn index_counts(
    session: &mut Session,
    name: &ObjectName,
    schema: &shoal_types::TableSchema,
) -> Result<Vec<(String, u64)>> {
    let visible = schema.indexes.iter().enumerate();
    let wanted = visible.filter(|(place, index)| match place {
        0 => !index.invisible && !schema.has_hidden_key(),
        _ => !index.invisible && index.method != shoal_types::IndexMethod::Hash,
    });
    let mut counts = Vec::new();
    let begun = !session.explicit_transaction;
    if begun {
        session.begin_statement(false, true)?;
    }
    let mut outcome = Ok(());
    for (_, index) in wanted {
        let force = format!("FORCE INDEX ({})", shoal_parser::quote_identifier(&index.name));
        match read_table(session, name, "1", &force).await {
            Ok(summed) => counts.push((index.name.clone(), summed.rows)),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    if begun {
        session.commit_statement(true).await?;
    }
    outcome?;
    if counts.is_empty() {
        counts.push(("PRIMARY".to_owned(), 0));
    }
    Ok(counts)
}

/// A number that depends on the rows alone, not on their order or place.
async fn checksum(session: &mut Session, name: &ObjectName) -> Result<u64> {
    let begun = !session.explicit_transaction;
    if begun {
        session.begin_statement(false, true)?;
    }
    let summed = read_table(session, name, "*", "").await;
    if begun {
        session.commit_statement(true).await?;
    }
    Ok(summed?.sum & u64::from(u32::MAX))
}

#[derive(Default)]
struct Summed {
    rows: u64,
    sum: u64,
}

impl RowConsumer for Summed {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        let mut hasher = foldhash::quality::FixedState::default().build_hasher();
        for value in row {
            match value {
                Value::Null => hasher.write_u8(0),
                value => {
                    let text = value.to_text();
                    hasher.write_u64(text.len() as u64 + 1);
                    hasher.write(&text);
                }
            }
        }
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
        Ok(Flow::Continue)
    }
}

/// Reads a whole table within the running statement's transaction.
async fn read_table(session: &mut Session, name: &ObjectName, items: &str, hint: &str) -> Result<Summed> {
    let quote = shoal_parser::quote_identifier;
    let schema = name.schema.as_ref().map(|schema| format!("{}.", quote(&schema.value))).unwrap_or_default();
    let text = format!("SELECT {items} FROM {schema}{} {hint}", quote(&name.name.value));
    let parsed = shoal_parser::parse_first(text.as_bytes(), 0, shoal_parser::ParserMode::NONE)
        .map_err(|error| crate::syntax_error::syntax_error(&error))?;
    let plan = session.make_plan(&parsed.statement, 0, Some(&[]))?;
    account::check_plan(&session.asking(), &plan)?;
    let mut summed = Summed::default();
    if let PlanKind::Select { query, .. } | PlanKind::PointSelect { query, .. } = &plan.kind {
        session.with_context(&[], &[], false, async |ctx| ctx.run_query(query, &mut summed).await).await?;
    }
    Ok(summed)
}

/// FLUSH. What it would write or reread is always in step already, but for the files of the logs; STATUS moves the session's
/// counts to the server's.
pub async fn flush(session: &mut Session, statement: &Statement) -> Result<()> {
    let Statement::Flush(flush) = statement else { return Ok(()) };
    account::require_global(session, Privileges::RELOAD)?;
    for option in &flush.what {
        match option {
            FlushOption::Tables { with_read_lock: true, .. } => {
                return Err(Error::unsupported("FLUSH TABLES WITH READ LOCK"));
            }
            FlushOption::Tables { for_export: true, .. } => {
                return Err(Error::unsupported("FLUSH TABLES ... FOR EXPORT"));
            }
            FlushOption::Logs => {
                for log in Log::ALL {
                    session.server.query_logs.reopen(log).await;
                }
                crate::error_log::reopen().await;
            }
            FlushOption::SlowLogs => session.server.query_logs.reopen(Log::Slow).await,
            FlushOption::GeneralLogs => session.server.query_logs.reopen(Log::General).await,
            FlushOption::ErrorLogs => crate::error_log::reopen().await,
            FlushOption::UserResources => session.server.account_use.begin_hour(None),
            FlushOption::Status => {
                let counters = &session.shared.counters;
                let mut past = session.server.past.lock().unwrap_or_else(PoisonError::into_inner);
                for (sum, value) in past.iter_mut().zip(counters.values()) {
                    *sum += value;
                }
                counters.reset();
            }
            _ => {}
        }
    }
    Ok(())
}
