//! How views show times and sizes.

use shoal_types::Value;

use crate::information_schema::performance::format::picoseconds;

/// For people, or as plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::information_schema) enum Form {
    ForPeople,
    Raw,
}

impl Form {
    pub fn time(self, ns: u64) -> Value {
        match self {
            Form::ForPeople => Value::Str(format_time(ns).into_bytes()),
            Form::Raw => Value::UInt(picoseconds(ns)),
        }
    }

    /// Memory is not counted by session or statement.
    pub fn no_bytes(self) -> Value {
        match self {
            Form::ForPeople => Value::str("   0 bytes"),
            Form::Raw => Value::UInt(0),
        }
    }
}

/// As FORMAT_PICO_TIME() and sys.format_time() show times.
pub(in crate::information_schema) fn format_time(ns: u64) -> String {
    let ns = ns as f64;
    let units = [(86_400e9, "d"), (3600e9, "h"), (60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let unit = units.iter().find(|(size, _)| ns >= *size);
    unit.map_or_else(|| "  0 ps".to_owned(), |(size, name)| format!("{:.2} {name}", ns / size))
}

/// Of `part` in `whole`, in percent.
pub(super) fn percent(part: u64, whole: u64) -> Value {
    Value::Double(if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 10_000.0).round() / 100.0 })
}

#[cfg(test)]
mod tests {
    use super::format_time;

    #[test]
    fn times_are_told_in_the_largest_unit_that_fits() {
        for (ns, expected) in [
            (0, "  0 ps"),
            (7, "7.00 ns"),
            (5000, "5.00 us"),
            (1_500_000, "1.50 ms"),
            (61_000_000_000, "1.02 min"),
        ] {
            assert_eq!(format_time(ns), expected);
        }
    }
}
