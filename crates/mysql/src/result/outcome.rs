//! The packets that end a result: OK and EOF.

use shoal_sql::frontend::{Summary, Tracked};

use crate::constants::{Capabilities, status};
use crate::packet::{PacketWriter, append_length, append_length_bytes};

const OK: u8 = 0x00;
const END_OF_ROWS: u8 = 0xfe;
/// The kinds of session-state entries.
const TRACK_VARIABLE: u8 = 0;
const TRACK_SCHEMA: u8 = 1;
const TRACK_CHANGE: u8 = 2;
const TRACK_CHARACTERISTICS: u8 = 4;
const TRACK_TRANSACTION: u8 = 5;

/// The part of the status flags that belongs to the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStatus(pub u16);

impl SessionStatus {
    pub fn of(summary: &Summary) -> SessionStatus {
        let flags = [
            (summary.in_transaction, status::IN_TRANSACTION),
            (summary.autocommit, status::AUTOCOMMIT),
            (summary.in_read_only_transaction, status::IN_READ_ONLY_TRANSACTION),
            (summary.no_backslash_escapes, status::NO_BACKSLASH_ESCAPES),
        ];
        SessionStatus(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum())
    }
}

/// The status flags that `summary` tells.
pub fn status_flags(summary: &Summary) -> u16 {
    let more = if summary.more_results { status::MORE_RESULTS_EXIST } else { 0 };
    let no_index = if summary.no_index_used { status::NO_INDEX_USED } else { 0 };
    let out = if summary.has_out_parameters { status::PS_OUT_PARAMS } else { 0 };
    SessionStatus::of(summary).0 | more | no_index | out
}

/// An OK packet for a statement without rows.
pub fn write_ok(summary: &Summary, capabilities: Capabilities, out: &mut PacketWriter) {
    write_ok_with(OK, summary, status_flags(summary), capabilities, out);
}

/// The end of the rows, in the form that the client understands.
pub fn write_end_of_rows(summary: &Summary, flags: u16, capabilities: Capabilities, out: &mut PacketWriter) {
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        let tracked = summary.tracked.clone();
        let end = Summary { warnings: summary.warnings, tracked, ..Summary::default() };
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
    let tracked = summary.tracked.as_deref().filter(|_| capabilities.has(Capabilities::SESSION_TRACK));
    if tracked.is_some() {
        flags |= status::SESSION_STATE_CHANGED;
    }
    let payload = out.begin();
    payload.push(header);
    append_length(payload, summary.affected_rows);
    append_length(payload, summary.last_insert_id);
    payload.extend_from_slice(&flags.to_le_bytes());
    payload.extend_from_slice(&summary.warnings.to_le_bytes());
    if tracked.is_some() || !summary.info.is_empty() {
        append_length_bytes(payload, summary.info.as_bytes());
    }
    if let Some(tracked) = tracked {
        append_length_bytes(payload, &state_changes(tracked));
    }
    out.end();
}

/// Entries of a kind and a length each, in MySQL's order.
fn state_changes(tracked: &Tracked) -> Vec<u8> {
    let mut changes = Vec::new();
    let mut add = |kind: u8, texts: &[&str]| {
        let mut entry = Vec::new();
        for text in texts {
            append_length_bytes(&mut entry, text.as_bytes());
        }
        changes.push(kind);
        append_length_bytes(&mut changes, &entry);
    };
    for (name, value) in &tracked.variables {
        add(TRACK_VARIABLE, &[name, value]);
    }
    if let Some(schema) = &tracked.schema {
        add(TRACK_SCHEMA, &[schema]);
    }
    if tracked.is_changed {
        add(TRACK_CHANGE, &["1"]);
    }
    if let Some(state) = &tracked.transaction_state {
        add(TRACK_TRANSACTION, &[state]);
    }
    if let Some(characteristics) = &tracked.transaction_characteristics {
        add(TRACK_CHARACTERISTICS, &[characteristics]);
    }
    changes
}
