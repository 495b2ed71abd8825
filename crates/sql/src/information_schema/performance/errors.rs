//! `events_errors_summary_global_by_error`: errors that statements have ended with. Those that there were none of are left out, as are
//! warnings.

use shoal_types::{ErrorCode, Value};

use crate::error_counts::ErrorCount;
use crate::information_schema::{Rows, row};

/// Errors that MySQL names otherwise than by the words of `ErrorCode`.
const NAMES: &[(ErrorCode, &str)] = &[
    (ErrorCode::AccessDenied, "ER_ACCESS_DENIED_ERROR"),
    (ErrorCode::BadDb, "ER_BAD_DB_ERROR"),
    (ErrorCode::BadField, "ER_BAD_FIELD_ERROR"),
    (ErrorCode::BadHost, "ER_BAD_HOST_ERROR"),
    (ErrorCode::BadNull, "ER_BAD_NULL_ERROR"),
    (ErrorCode::BadTable, "ER_BAD_TABLE_ERROR"),
    (ErrorCode::ColumnAccessDenied, "ER_COLUMNACCESS_DENIED_ERROR"),
    (ErrorCode::ConCount, "ER_CON_COUNT_ERROR"),
    (ErrorCode::DbAccessDenied, "ER_DBACCESS_DENIED_ERROR"),
    (ErrorCode::Handshake, "ER_HANDSHAKE_ERROR"),
    (ErrorCode::KillDenied, "ER_KILL_DENIED_ERROR"),
    (ErrorCode::NoDb, "ER_NO_DB_ERROR"),
    (ErrorCode::NonUniq, "ER_NON_UNIQ_ERROR"),
    (ErrorCode::OutOfMemory, "ER_OUTOFMEMORY"),
    (ErrorCode::Parse, "ER_PARSE_ERROR"),
    (ErrorCode::SpecificAccessDenied, "ER_SPECIFIC_ACCESS_DENIED_ERROR"),
    (ErrorCode::TableAccessDenied, "ER_TABLEACCESS_DENIED_ERROR"),
    (ErrorCode::TableExists, "ER_TABLE_EXISTS_ERROR"),
    (ErrorCode::UnknownCom, "ER_UNKNOWN_COM_ERROR"),
];

/// MySQL's name of an error: `DupEntry` is ER_DUP_ENTRY.
fn name_of(code: ErrorCode) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == code) {
        return (*name).to_owned();
    }
    let mut name = String::from("ER");
    for letter in format!("{code:?}").chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

pub fn by_error(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |(errno, count): (u16, ErrorCount)| {
        let code = ErrorCode::from_errno(errno);
        let moment = |micros: i64| rows.moment(u64::try_from(micros / 1_000_000).unwrap_or(0));
        row![
            i64::from(errno),
            code.map(name_of),
            code.map(|code| Value::Str(code.sqlstate().to_vec())),
            count.raised,
            0_u64,
            moment(count.first_seen),
            moment(count.last_seen),
        ]
    };
    rows.server.error_counts.list().into_iter().map(make).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_mysql() {
        for (code, name) in [
            (ErrorCode::DupEntry, "ER_DUP_ENTRY"),
            (ErrorCode::BadDb, "ER_BAD_DB_ERROR"),
            (ErrorCode::NoSuchThread, "ER_NO_SUCH_THREAD"),
        ] {
            assert_eq!(name_of(code), name);
        }
    }
}
