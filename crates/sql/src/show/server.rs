//! Variables, status, and what the server is made of.

use shoal_parser::ast::{EngineReport, Show, VariableScope};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::Listing;
use crate::account::{Level, Privileges};
use crate::information_schema::{self, Rows, row, show_profile, show_profiles};
use crate::session::Session;

fn rows_of(session: &Session) -> Rows<'_> {
    Rows::new(&session.server, &session.shared, &session.variables, &session.state.access)
}

pub fn listing(session: &Session, show: &Show) -> Result<Listing> {
    let source = rows_of(session);
    Ok(match show {
        Show::Variables { scope, .. } => {
            let mut list = crate::variables::read::list(session, is_global(*scope));
            list.sort();
            pairs(list)
        }
        Show::Status { scope, .. } => pairs(information_schema::status::list(&source, is_global(*scope))),
        Show::Charset { .. } => chosen(
            &source,
            "CHARACTER_SETS",
            &[0, 2, 1, 3],
            "Charset v64!, Description v2048!, Default collation v64!, Maxlen u!",
        ),
        Show::Collation { .. } => chosen(
            &source,
            "COLLATIONS",
            &[0, 1, 2, 3, 4, 5, 6],
            "Collation v64!, Charset v64!, Id U!, Default v3!, Compiled v3!, Sortlen u!, Pad_attribute v9!",
        ),
        Show::Engines => chosen(
            &source,
            "ENGINES",
            &[0, 1, 2, 3, 4, 5],
            "Engine v64!, Support v8!, Comment v80!, Transactions v3, XA v3, Savepoints v3",
        ),
        Show::Engine { engine, what } => engine_report(session, engine.as_deref(), *what)?,
        Show::Plugins => chosen(
            &source,
            "PLUGINS",
            &[0, 2, 3, 5, 9],
            "Name v64!, Status v10!, Type v80!, Library v64, License v80",
        ),
        Show::Privileges => privileges(),
        Show::ProcessList { full } => process_list(&source, *full),
        Show::BinaryLogs => {
            return Err(Error::new(ErrorCode::NoBinaryLogging, "You are not using binary logging"));
        }
        Show::BinaryLogStatus => Listing::new(
            "File v255!, Position U!, Binlog_Do_DB v255!, Binlog_Ignore_DB v255!, Executed_Gtid_Set t!",
            Vec::new(),
        ),
        Show::BinlogEvents { .. } | Show::RelaylogEvents { .. } => Listing::new(
            "Log_name v20!, Pos U!, Event_type v20!, Server_id u!, End_log_pos U!, Info v20!",
            Vec::new(),
        ),
        Show::Replicas => {
            Listing::new("Server_Id u!, Host v20!, Port u!, Source_Id u!, Replica_UUID v36!", Vec::new())
        }
        Show::ReplicaStatus { .. } => Listing::new(REPLICA_STATUS, Vec::new()),
        Show::Profiles => Listing::new("Query_ID u!, Duration f!, Query v300!", show_profiles(&source)),
        Show::Profile { kinds, query, .. } => {
            let (columns, rows) = show_profile(&source, kinds, *query);
            Listing::new(&columns, rows)
        }
        _ => return Err(Error::unsupported("this form of SHOW")),
    })
}

const REPLICA_STATUS: &str = "Replica_IO_State v14!, Source_Host v256!, Source_User v32!, Source_Port u!, \
    Connect_Retry u!, Source_Log_File v512!, Read_Source_Log_Pos U!, Relay_Log_File v512!, Relay_Log_Pos U!, \
    Relay_Source_Log_File v512!, Replica_IO_Running v3!, Replica_SQL_Running v3!, Last_Errno u!, Last_Error v20!, \
    Exec_Source_Log_Pos U!, Seconds_Behind_Source U, Retrieved_Gtid_Set t!, Executed_Gtid_Set t!, Channel_Name v64!";

fn is_global(scope: Option<VariableScope>) -> bool {
    matches!(scope, Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly))
}

fn pairs(list: Vec<(String, String)>) -> Listing {
    let rows = list.into_iter().map(|(name, value)| row![name, value]).collect();
    Listing::new("Variable_name v64!, Value v1024", rows)
}

/// Columns of a virtual table under other names.
fn chosen(source: &Rows<'_>, table: &str, places: &[usize], columns: &str) -> Listing {
    let pick = |row: Vec<Value>| places.iter().map(|&place| row.get(place).cloned().unwrap_or_default()).collect();
    Listing::new(columns, source.make_named(table).into_iter().map(pick).collect())
}

/// Characters of a statement that SHOW PROCESSLIST without FULL shows.
const SHORT_TEXT: usize = 100;

fn process_list(source: &Rows<'_>, full: bool) -> Listing {
    let make = |process: information_schema::Process| {
        let text = process.text.map(|text| match full {
            true => Value::Str(text),
            false => Value::Str(
                String::from_utf8_lossy(&text).chars().take(SHORT_TEXT).collect::<String>().into_bytes(),
            ),
        });
        row![
            process.id,
            process.user,
            process.host,
            process.database,
            process.command,
            process.seconds as i64,
            process.state,
            text,
        ]
    };
    let rows = information_schema::processes(source).into_iter().map(make).collect();
    Listing::new("Id U!, User v32!, Host v261!, db v64, Command v16!, Time i!, State v64, Info l", rows)
}

/// SHOW ENGINE name STATUS: what the store holds.
fn engine_report(session: &Session, engine: Option<&str>, what: EngineReport) -> Result<Listing> {
    crate::account::require_global(session, Privileges::PROCESS)?;
    let name = match engine {
        None => "ndbcluster",
        Some(name) => crate::ddl::engine::canonical(name).ok_or_else(|| {
            Error::new(ErrorCode::UnknownStorageEngine, format!("Unknown storage engine '{name}'"))
        })?,
    };
    let columns = "Type v10!, Name v512!, Status t!";
    if what != EngineReport::Status {
        return Ok(Listing::new(columns, Vec::new()));
    }
    let node = &session.server.node;
    let memory = node.memory_usage();
    let facts = [
        ("partitions", node.partition_count().to_string()),
        ("data memory", format!("used_bytes={}, limit_bytes={}", memory.used_bytes, memory.limit_bytes)),
        (
            "tables",
            node.catalog().databases.values().map(|database| database.tables.len()).sum::<usize>().to_string(),
        ),
        ("dictionary", format!("version={}", node.catalog_version())),
    ];
    let rows = match name {
        "InnoDB" => vec![row![name, "", super::innodb_status::report(&rows_of(session))]],
        "ndbcluster" => facts.into_iter().map(|(fact, text)| row![name, fact, text]).collect(),
        _ => {
            let lines: Vec<String> = facts.iter().map(|(fact, text)| format!("{fact}: {text}")).collect();
            vec![row![name, "", format!("Shoal memory store\n{}", lines.join("\n"))]]
        }
    };
    Ok(Listing::new(columns, rows))
}

/// Every privilege that GRANT takes.
fn privileges() -> Listing {
    let table = Privileges::all_at(Level::Table);
    let database = Privileges::all_at(Level::Database);
    let all = Privileges::all_at(Level::Global);
    let make = |name: &'static str, set: Privileges| {
        let context = match (table.contains(set), database.contains(set)) {
            (true, _) => "Databases,Tables",
            (false, true) => "Databases",
            _ => "Server Admin",
        };
        row![name, context, ""]
    };
    let mut rows = Vec::new();
    for bit in 0..u64::BITS {
        let one = Privileges(1 << bit);
        if all.contains(one) {
            rows.push(make(one.first_name(), one));
        }
    }
    rows.push(row!["GRANT OPTION", "Databases,Tables", "To give to other users those privileges you possess"]);
    Listing::new("Privilege v40!, Context v40!, Comment v100!", rows)
}
