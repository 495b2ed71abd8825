//! Entries of the slow query log and the general log, and how MySQL 8.4 writes them.

use std::io::Write;

use shoal_error_log::moment;

/// A statement that the slow query log keeps. Times are microseconds, moments since 1970 UTC.
#[derive(Debug)]
pub struct SlowEntry {
    pub started: i64,
    pub ended: i64,
    /// `user[user] @ host [address]`.
    pub user_host: String,
    pub connection: u32,
    pub query_time: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// With log_slow_extra.
    pub extra: Option<SlowExtra>,
    pub database: String,
    pub text: Vec<u8>,
    /// The statement's traceparent; empty: it has none, or `log_trace_context` is off.
    pub trace: String,
}

/// What log_slow_extra adds.
#[derive(Debug)]
pub struct SlowExtra {
    pub errno: u16,
    /// The error with which KILL ended it, or 0.
    pub killed: u16,
    pub bytes_received: u64,
    pub read_first: u64,
    pub read_key: u64,
    pub read_next: u64,
    pub read_rnd_next: u64,
}

/// A command that the general log keeps.
#[derive(Debug)]
pub struct GeneralEntry {
    pub at: i64,
    /// As in [`SlowEntry`].
    pub user_host: String,
    pub connection: u32,
    pub command: &'static str,
    pub text: Vec<u8>,
}

/// The lines at the beginning of a file, and wherever it was opened again.
pub fn header(program: &str, port: u16) -> String {
    format!(
        "{program}, Version: {} (Shoal). started with:\nTcp port: {port}  Unix socket: \nTime                 Id \
         Command    Argument\n",
        crate::server::VERSION
    )
}

/// Appends an entry. `database`: of the entry before it in the file, which USE is left out for.
pub fn write_slow(entry: &SlowEntry, database: &mut String, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write_slow_lines(entry, database, out);
}

fn write_slow_lines(entry: &SlowEntry, database: &mut String, out: &mut Vec<u8>) -> std::io::Result<()> {
    writeln!(out, "# Time: {}", moment(entry.ended))?;
    writeln!(out, "# User@Host: {}  Id: {:5}", entry.user_host, entry.connection)?;
    let seconds = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    write!(
        out,
        "# Query_time: {}  Lock_time: {} Rows_sent: {}  Rows_examined: {}",
        seconds(entry.query_time),
        seconds(0),
        entry.rows_sent,
        entry.rows_examined
    )?;
    if let Some(extra) = &entry.extra {
        write!(
            out,
            " Thread_id: {} Errno: {} Killed: {} Bytes_received: {} Bytes_sent: 0 Read_first: {} Read_last: 0 \
             Read_key: {} Read_next: {} Read_prev: 0 Read_rnd: 0 Read_rnd_next: {} Sort_merge_passes: 0 \
             Sort_range_count: 0 Sort_rows: 0 Sort_scan_count: 0 Created_tmp_disk_tables: 0 Created_tmp_tables: 0 \
             Start: {} End: {}",
            entry.connection,
            extra.errno,
            extra.killed,
            extra.bytes_received,
            extra.read_first,
            extra.read_key,
            extra.read_next,
            extra.read_rnd_next,
            moment(entry.started),
            moment(entry.ended)
        )?;
    }
    // On the line that programs which read such logs skip the rest of.
    if !entry.trace.is_empty() {
        write!(out, " Traceparent: {}", entry.trace)?;
    }
    out.push(b'\n');
    if !entry.database.is_empty() && entry.database != *database {
        writeln!(out, "use {};", entry.database)?;
        database.clone_from(&entry.database);
    }
    writeln!(out, "SET timestamp={};", entry.started.div_euclid(1_000_000))?;
    out.extend_from_slice(&entry.text);
    out.extend_from_slice(b";\n");
    Ok(())
}

/// Appends an entry.
pub fn write_general(entry: &GeneralEntry, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{}\t{:5} {}\t", moment(entry.at), entry.connection, entry.command).as_bytes());
    out.extend_from_slice(&entry.text);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> SlowEntry {
        SlowEntry {
            started: 1_700_000_000_000_007,
            ended: 1_700_000_001_500_008,
            user_host: "root[root] @ localhost []".to_owned(),
            connection: 7,
            query_time: 1_500_001,
            rows_sent: 2,
            rows_examined: 30,
            extra: None,
            database: "shop".to_owned(),
            text: b"SELECT 1".to_vec(),
            trace: String::new(),
        }
    }

    #[test]
    fn the_slow_query_log_reads_as_that_of_mysql() {
        let mut out = Vec::new();
        let mut database = String::new();
        write_slow(&entry(), &mut database, &mut out);
        write_slow(&entry(), &mut database, &mut out);
        let lines = "# Time: 2023-11-14T22:13:21.500008Z\n# User@Host: root[root] @ localhost []  Id:     7\n# Query_time: \
                     1.500001  Lock_time: 0.000000 Rows_sent: 2  Rows_examined: 30\n";
        let statement = "SET timestamp=1700000000;\nSELECT 1;\n";
        assert_eq!(String::from_utf8(out).unwrap(), format!("{lines}use shop;\n{statement}{lines}{statement}"));
    }

    #[test]
    fn the_general_log_reads_as_that_of_mysql() {
        let mut out = Vec::new();
        let entry = GeneralEntry {
            at: 1_700_000_000_000_007,
            user_host: String::new(),
            connection: 7,
            command: "Query",
            text: b"SELECT 1".to_vec(),
        };
        write_general(&entry, &mut out);
        assert_eq!(out, b"2023-11-14T22:13:20.000007Z\t    7 Query\tSELECT 1\n");
    }
}
