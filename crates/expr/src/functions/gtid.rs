//! GTID_SUBSET and GTID_SUBTRACT: sets of global transaction identifiers as text (manual, "GTID Format and Storage").
//!
//! `uuid[:tag]:interval[:interval]...`, several of them with commas between; an interval is a number or two.

use std::collections::BTreeMap;

use shoal_types::{Error, ErrorCode, Result, Value};

use super::Function;
use super::argument::text;
use crate::context::{EvalContext, printable};
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("GTID_SUBSET", 2, 2, |d| Ok(d.boolean()?.nullable()), subset),
    Function::new(
        "GTID_SUBTRACT",
        2,
        2,
        |d| {
            let length = d.length_of(0).saturating_mul(2);
            Ok(d.ascii_text(length)?.nullable())
        },
        subtract,
    ),
];

/// Numbers from the first to the last, by the source that gave them and its tag.
type Gtids = BTreeMap<(String, String), Vec<(u64, u64)>>;

fn subset(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (inner, outer) = (parse(&text(call, values, 0))?, parse(&text(call, values, 1))?);
    Ok(Value::from(difference(&inner, &outer).is_empty()))
}

fn subtract(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (from, what) = (parse(&text(call, values, 0))?, parse(&text(call, values, 1))?);
    Ok(Value::str(written(&difference(&from, &what))))
}

/// Errors: 1772.
fn parse(text: &[u8]) -> Result<Gtids> {
    let malformed = || {
        let message = format!("Malformed GTID set specification '{}'.", printable(text));
        Error::new(ErrorCode::MalformedGtidSetSpecification, message)
    };
    let source = std::str::from_utf8(text).map_err(|_| malformed())?;
    let mut gtids = Gtids::new();
    for set in source.split(',').map(str::trim).filter(|set| !set.is_empty()) {
        let mut parts = set.split(':').map(str::trim);
        let uuid = parts.next().and_then(uuid).ok_or_else(malformed)?;
        let (mut tag, mut has_interval) = (String::new(), false);
        for part in parts {
            if let Some(interval) = interval(part) {
                has_interval = true;
                // An interval of nothing is none.
                gtids.entry((uuid.clone(), tag.clone())).or_default().extend(interval);
            } else if is_tag(part) {
                (tag, has_interval) = (part.to_ascii_lowercase(), false);
            } else {
                return Err(malformed());
            }
        }
        if !has_interval {
            return Err(malformed());
        }
    }
    for intervals in gtids.values_mut() {
        *intervals = merged(std::mem::take(intervals));
    }
    gtids.retain(|_, intervals| !intervals.is_empty());
    Ok(gtids)
}

fn uuid(text: &str) -> Option<String> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_hex = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (is_hex && lengths == [8, 4, 4, 4, 12]).then(|| text.to_ascii_lowercase())
}

fn is_tag(text: &str) -> bool {
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    starts && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `None`: it is none; `Some(None)`: its end is before its start.
fn interval(text: &str) -> Option<Option<(u64, u64)>> {
    let number = |text: &str| -> Option<u64> {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_number && (1..i64::MAX as u64).contains(number))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    Some((first <= last).then_some((first, last)))
}

/// In order, none touching another.
fn merged(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
    for (first, last) in intervals {
        match merged.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn difference(from: &Gtids, what: &Gtids) -> Gtids {
    let mut left = Gtids::new();
    for (source, intervals) in from {
        let gone = what.get(source).map_or(&[][..], Vec::as_slice);
        let mut kept = Vec::new();
        for &(first, last) in intervals {
            let mut next = first;
            for &(gone_first, gone_last) in gone.iter().filter(|gone| gone.1 >= first && gone.0 <= last) {
                if gone_first > next {
                    kept.push((next, gone_first - 1));
                }
                next = gone_last + 1;
            }
            if next <= last {
                kept.push((next, last));
            }
        }
        if !kept.is_empty() {
            left.insert(source.clone(), kept);
        }
    }
    left
}

/// As MySQL writes a set: each source once, its tags behind it.
fn written(gtids: &Gtids) -> String {
    let mut text = String::new();
    let mut last_source = "";
    for ((uuid, tag), intervals) in gtids {
        if last_source != uuid {
            if !text.is_empty() {
                text.push_str(",\n");
            }
            text.push_str(uuid);
            last_source = uuid;
        }
        if !tag.is_empty() {
            text.push(':');
            text.push_str(tag);
        }
        for (first, last) in intervals {
            match first == last {
                true => text.push_str(&format!(":{first}")),
                false => text.push_str(&format!(":{first}-{last}")),
            }
        }
    }
    text
}
