//! `prepared_statements_instances`.

use std::sync::PoisonError;

use shoal_types::Value;

use super::format::{picoseconds, shown_text, summed_costs, times};
use crate::information_schema::{Rows, row};
use crate::statement_events::PreparedEvents;

pub fn instances(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for session in rows.server.all_sessions() {
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let mut prepared: Vec<(&u32, &PreparedEvents)> = activity.statements.prepared.iter().collect();
        prepared.sort_unstable_by_key(|(id, _)| **id);
        for (id, events) in prepared {
            // One of a kind, as an address would be.
            let instance = u64::from(session.id) << 32 | u64::from(*id);
            let mut row = row![instance, *id, events.name.clone(), shown_text(&events.text, events.backslashes)];
            row.extend(row![session.id, 0_u64, Value::Null, Value::Null, Value::Null, "PRIMARY"]);
            row.extend(row![picoseconds(events.prepare_ns), 0_u64, events.sums.count]);
            row.extend(times(&events.sums));
            row.extend(summed_costs(&events.sums));
            found.push(row);
        }
    }
    found
}
