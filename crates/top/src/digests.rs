//! The kinds of statements on which most time was spent: what the server tells of them, as rows.

use serde_json::Value;

use crate::readable::{micros, text};

/// How they are ordered, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestOrder {
    #[default]
    Total,
    Average,
    Percentile,
    Count,
    RowsExamined,
    Errors,
}

const ORDERS: [(DigestOrder, &str, &str); 6] = [
    (DigestOrder::Total, "time in all", "sum_us"),
    (DigestOrder::Average, "time on average", "avg_us"),
    (DigestOrder::Percentile, "time at 95 %", "p95_us"),
    (DigestOrder::Count, "count", "count"),
    (DigestOrder::RowsExamined, "rows examined", "rows_examined"),
    (DigestOrder::Errors, "errors", "errors"),
];

impl DigestOrder {
    fn place(self) -> usize {
        ORDERS.iter().position(|(order, ..)| *order == self).unwrap_or(0)
    }

    pub fn name(self) -> &'static str {
        ORDERS[self.place()].1
    }

    pub fn next(self) -> DigestOrder {
        ORDERS[(self.place() + 1) % ORDERS.len()].0
    }
}

/// One of them.
pub struct DigestRow {
    /// In the order of `ORDERS`.
    values: [u64; ORDERS.len()],
    database: String,
    /// Time spent within the last minutes, the oldest first.
    trend: Vec<u64>,
    text: String,
}

pub const DIGEST_COLUMNS: [&str; 9] =
    ["COUNT", "IN ALL", "AVERAGE", "95% BELOW", "EXAMINED", "ERRORS", "OF LATE", "DATABASE", "STATEMENT"];
const BARS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
/// Minutes that are shown of a trend.
const TREND_WIDTH: usize = 15;

impl DigestRow {
    pub fn cells(&self) -> [String; DIGEST_COLUMNS.len()] {
        let [sum, average, p95, count, examined, errors] = self.values;
        let time = |us: u64| micros(us as f64);
        [
            count.to_string(),
            time(sum),
            time(average),
            time(p95),
            examined.to_string(),
            errors.to_string(),
            bars(&self.trend),
            self.database.clone(),
            self.text.clone(),
        ]
    }
}

/// The newest at the right.
fn bars(trend: &[u64]) -> String {
    let shown = &trend[trend.len().saturating_sub(TREND_WIDTH)..];
    let most = shown.iter().copied().max().unwrap_or(0).max(1);
    let bar = |us: &u64| match *us {
        0 => ' ',
        us => {
            BARS[((us as u128 * BARS.len() as u128).div_ceil(u128::from(most)) as usize).clamp(1, BARS.len()) - 1]
        }
    };
    format!("{:>TREND_WIDTH$}", shown.iter().map(bar).collect::<String>())
}

/// The rows of an answer, in the order of time in all.
pub fn digest_rows(told: &Value) -> Vec<DigestRow> {
    let row = |one: &Value| DigestRow {
        values: ORDERS.map(|(.., field)| one[field].as_u64().unwrap_or(0)),
        database: text(&one["database"]),
        trend: one["trend"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect(),
        text: text(&one["text"]),
    };
    told["digests"].as_array().into_iter().flatten().map(row).collect()
}

/// The same in another order.
pub fn ordered(rows: &[DigestRow], order: DigestOrder) -> Vec<&DigestRow> {
    let mut rows: Vec<&DigestRow> = rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.values[order.place()]));
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_come_in_any_order_and_without_control_characters() {
        let told = json!({ "digests": [
            { "database": "d", "text": "SELECT \u{1b}[2J", "count": 10, "sum_us": 5_000_000, "avg_us": 500_000, "p95_us": 9, "rows_examined": 3, "errors": 0, "trend": [0, 1, 8] },
            { "database": "", "text": "INSERT", "count": 900, "sum_us": 90_000, "avg_us": 100, "p95_us": 8, "rows_examined": 0, "errors": 2, "trend": [] },
        ] });
        let rows = digest_rows(&told);
        let texts = |order| ordered(&rows, order).iter().map(|row| row.cells()[8].clone()).collect::<Vec<_>>();
        assert_eq!(texts(DigestOrder::Total), ["SELECT  [2J", "INSERT"]);
        assert_eq!(texts(DigestOrder::Count), ["INSERT", "SELECT  [2J"]);
        let cells = rows[0].cells();
        assert_eq!(cells[..6], ["10", "5.0s", "500.0ms", "9us", "3", "0"]);
        assert_eq!(cells[6].trim_end(), format!("{:>15}", " \u{2581}\u{2588}"));
        assert_eq!(DigestOrder::Errors.next(), DigestOrder::Total);
        assert!(digest_rows(&json!({ "error": "no" })).is_empty());
    }
}
