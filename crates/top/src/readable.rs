//! Numbers and texts as people read them: with units, and without control characters.

use serde_json::Value;

/// Nothing of it may move a terminal's cursor, or do worse.
pub fn plain(text: &str) -> String {
    let is_bad = |one: char| {
        one.is_control()
            || matches!(one, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|one| if is_bad(one) { ' ' } else { one }).collect()
}

pub fn text(value: &Value) -> String {
    plain(value.as_str().unwrap_or_default())
}

pub fn bytes(value: f64) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= 1024.0 && unit < 4 {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    format!("{value:.*}{}", usize::from(value < 100.0 && unit > 0), ["B", "K", "M", "G", "T"][unit])
}

pub fn micros(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{:.1}s", value / 1e6),
        _ if value >= 1e3 => format!("{:.1}ms", value / 1e3),
        _ => format!("{value:.0}us"),
    }
}

pub fn duration(millis: u64) -> String {
    match millis / 1000 {
        seconds @ 0..=59 => format!("{seconds}.{}s", millis % 1000 / 100),
        seconds @ 60..=3599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
