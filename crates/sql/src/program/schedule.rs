//! When an event runs next.

use shoal_cluster::Schedule;
use shoal_parser::ast::IntervalUnit as Keyword;
use shoal_types::{DateTime, Interval, IntervalUnit, TimeZone, Value};

use crate::resolve::expression::interval_unit;

/// Runs that may lie between two looks, of an interval that has no fixed length.
const STEPS_MAX: i64 = 100_000;

/// The zone that the event was made in.
pub fn zone(schedule: &Schedule) -> TimeZone {
    TimeZone::parse(&schedule.zone).unwrap_or(TimeZone::UTC)
}

/// The interval of EVERY, so many times; `None`: it is none, or not above 0.
pub fn interval(amount: &str, unit: &str, times: i64) -> Option<Interval> {
    let unit: IntervalUnit = interval_unit(Keyword::from_keyword(unit)?);
    let mut interval = Interval::new(&Value::str(amount), unit)?;
    let is_positive = !interval.negative && (interval.months != 0 || interval.micros != 0);
    interval.months = interval.months.checked_mul(u64::try_from(times).ok()?)?;
    interval.micros = interval.micros.checked_mul(u64::try_from(times).ok()?)?;
    is_positive.then_some(interval)
}

/// The moment that the event is to run at, of those that have come since it ran last: `now` or before. `None`: none has.
pub fn due(schedule: &Schedule, now: i64) -> Option<i64> {
    if schedule.status != "ENABLED" {
        return None;
    }
    if let Some(at) = schedule.at_us {
        return (at <= now && schedule.last_run_us.is_none()).then_some(at);
    }
    let starts = schedule.starts_us?;
    if starts > now || schedule.ends_us.is_some_and(|ends| ends < starts) {
        return None;
    }
    let until = schedule.ends_us.map_or(now, |ends| ends.min(now));
    let latest = latest(schedule, starts, until)?;
    schedule.last_run_us.is_none_or(|last| last < latest).then_some(latest)
}

/// The last of the moments from `starts` on that is not behind `until`.
fn latest(schedule: &Schedule, starts: i64, until: i64) -> Option<i64> {
    let one = interval(&schedule.every, &schedule.unit, 1)?;
    if one.months == 0 {
        let micros = one.signed_micros()?;
        return Some(starts + (until - starts) / micros * micros);
    }
    // The clock of the zone counts: months begin there.
    let zone = zone(schedule);
    let (first, last): (DateTime, DateTime) = (zone.from_utc_micros(starts, 6), zone.from_utc_micros(until, 6));
    let step = i64::try_from(one.months).ok()?.max(1);
    let months = (i64::from(last.year()) - i64::from(first.year())) * 12 + i64::from(last.month())
        - i64::from(first.month());
    let mut times = (months / step).clamp(0, STEPS_MAX);
    loop {
        let moment = match times {
            0 => starts,
            _ => zone.to_utc_micros(first.checked_add(interval(&schedule.every, &schedule.unit, times)?)?),
        };
        if moment <= until || times == 0 {
            return Some(moment);
        }
        times -= 1;
    }
}

/// No run follows the one at `due`.
pub fn is_last(schedule: &Schedule, due: i64) -> bool {
    if schedule.at_us.is_some() {
        return true;
    }
    let Some(ends) = schedule.ends_us else { return false };
    let Some(one) = interval(&schedule.every, &schedule.unit, 1) else { return true };
    let zone = zone(schedule);
    let next = zone.from_utc_micros(due, 6).checked_add(one);
    next.is_none_or(|next| zone.to_utc_micros(next) > ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn every(amount: &str, unit: &str) -> Schedule {
        Schedule {
            every: amount.to_owned(),
            unit: unit.to_owned(),
            starts_us: Some(1_000_000_000_000_000),
            status: "ENABLED".to_owned(),
            zone: "+00:00".to_owned(),
            ..Schedule::default()
        }
    }

    #[test]
    fn a_recurring_event_is_due_once_for_all_that_was_missed() {
        let mut schedule = every("5", "MINUTE");
        let starts = 1_000_000_000_000_000;
        assert_eq!(due(&schedule, starts - 1), None);
        assert_eq!(due(&schedule, starts), Some(starts));
        schedule.last_run_us = Some(starts + 1);
        assert_eq!(due(&schedule, starts + 5 * MINUTE - 1), None);
        assert_eq!(due(&schedule, starts + 17 * MINUTE), Some(starts + 15 * MINUTE));
        schedule.last_run_us = Some(starts + 17 * MINUTE);
        assert_eq!(due(&schedule, starts + 17 * MINUTE), None);
        schedule.status = "DISABLED".to_owned();
        assert_eq!(due(&schedule, starts + 60 * MINUTE), None);
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let schedule = every("1", "MONTH");
        // 2001-09-09 01:46:40, then a month later.
        let starts = 1_000_000_000_000_000;
        let later = 1_002_592_000_000_000;
        assert_eq!(due(&schedule, later - 1), Some(starts));
        assert_eq!(due(&schedule, later), Some(later));
    }

    #[test]
    fn an_end_ends_it() {
        let mut schedule = every("1:30", "MINUTE_SECOND");
        let starts = 1_000_000_000_000_000;
        schedule.ends_us = Some(starts + 2 * MINUTE);
        assert!(!is_last(&schedule, starts));
        assert!(is_last(&schedule, starts + MINUTE * 3 / 2));
        assert_eq!(due(&schedule, starts + 60 * MINUTE), Some(starts + MINUTE * 3 / 2));
        assert!(interval("0", "DAY", 1).is_none() && interval("-1", "DAY", 1).is_none());
        assert!(interval("1", "FORTNIGHT", 1).is_none());
    }

    #[test]
    fn what_is_to_happen_once_happens_once() {
        let mut once = Schedule { at_us: Some(50), status: "ENABLED".to_owned(), ..Schedule::default() };
        assert_eq!((due(&once, 49), due(&once, 50), due(&once, 5000)), (None, Some(50), Some(50)));
        assert!(is_last(&once, 50));
        once.last_run_us = Some(51);
        assert_eq!(due(&once, 5000), None);
    }
}
