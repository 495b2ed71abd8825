//! The packets that end a result: OK and EOF.

use shoal_sql::frontend::Summary;

use crate::constants::{Capabilities, status};
use crate::packet::{PacketWriter, append_length, append_length_bytes};

const OK: u8 = 0x00;
const END_OF_ROWS: u8 = 0xfe;
/// The kind of session-state entry that names the default database.
const TRACK_SCHEMA: u8 = 0x01;

/// The part of the status flags that belongs to the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStatus(pub u16);

impl SessionStatus {
    pub fn of(summary: &Summary) -> SessionStatus {
        let flags = [
            (summary.in_transaction, status::IN_TRANSACTION),
            (summary.autocommit, status::AUTOCOMMIT),
            (summary.no_backslash_escapes, status::NO_BACKSLASH_ESCAPES),
        ];
        SessionStatus(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum())
    }
}

/// The status flags that `summary` tells.
pub fn status_flags(summary: &Summary) -> u16 {
    let more = if summary.more_results { status::MORE_RESULTS_EXIST } else { 0 };
    let no_index = if summary.no_index_used { status::NO_INDEX_USED } else { 0 };
    SessionStatus::of(summary).0 | more | no_index
}

/// An OK packet for a statement without rows.
pub fn write_ok(summary: &Summary, capabilities: Capabilities, out: &mut PacketWriter) {
    write_ok_with(OK, summary, status_flags(summary), capabilities, out);
}

/// The end of the rows, in the form that the client understands.
pub fn write_end_of_rows(summary: &Summary, flags: u16, capabilities: Capabilities, out: &mut PacketWriter) {
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        let end =
            Summary { affected_rows: 0, last_insert_id: 0, warnings: summary.warnings, ..Summary::default() };
        write_ok_with(END_OF_ROWS, &end, flags, capabilities, out);
    } else {
        write_eof(summary.warnings, flags, out);
    }
}

pub fn write_eof(warnings: u16, flags: u16, out: &mut PacketWriter) {
    let [warnings_low, warnings_high] = warnings.to_le_bytes();
    let [flags_low, flags_high] = flags.to_le_bytes();
    out.packet(&[END_OF_ROWS, warnings_low, warnings_high, flags_low, flags_high]);
}

fn write_ok_with(
    header: u8,
    summary: &Summary,
    mut flags: u16,
    capabilities: Capabilities,
    out: &mut PacketWriter,
) {
    let changed_database =
        summary.changed_database.as_deref().filter(|_| capabilities.has(Capabilities::SESSION_TRACK));
    if changed_database.is_some() {
        flags |= status::SESSION_STATE_CHANGED;
    }
    let payload = out.begin();
    payload.push(header);
    append_length(payload, summary.affected_rows);
    append_length(payload, summary.last_insert_id);
    payload.extend_from_slice(&flags.to_le_bytes());
    payload.extend_from_slice(&summary.warnings.to_le_bytes());
    if changed_database.is_some() || !summary.info.is_empty() {
        append_length_bytes(payload, summary.info.as_bytes());
    }
    if let Some(database) = changed_database {
        let mut entry = Vec::with_capacity(database.len() + 9);
        append_length_bytes(&mut entry, database.as_bytes());
        let mut changes = vec![TRACK_SCHEMA];
        append_length_bytes(&mut changes, &entry);
        append_length_bytes(payload, &changes);
    }
    out.end();
}
