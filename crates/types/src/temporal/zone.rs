//! Time zones.

use std::sync::Arc;

use super::calendar::EPOCH_DAY_NUMBER;
use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};

/// A session's time zone. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TimeZone {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Utc,
    /// Seconds east of UTC.
    Fixed(i32, Arc<str>),
    /// A zone of the tz database, or the system's, under the name it was asked for.
    Named(jiff::tz::TimeZone, Arc<str>),
}

/// '-13:59' to '+14:00', in seconds.
const OFFSET_MIN_S: i32 = -(13 * 3600 + 59 * 60);
const OFFSET_MAX_S: i32 = 14 * 3600;

/// Seconds east of UTC of '[+-]HH:MM' ('[+-]H:MM' is taken too).
pub(super) fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, rest) = text.split_first()?;
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| i32::from(byte - b'0'));
    let (hours, minutes) = match rest {
        [ten, one, b':', minutes @ ..] => (digit(ten)? * 10 + digit(one)?, minutes),
        [one, b':', minutes @ ..] => (digit(one)?, minutes),
        _ => return None,
    };
    let [ten, one] = minutes else {
        return None;
    };
    let minutes = digit(ten)? * 10 + digit(one)?;
    let offset = sign * (hours * 3600 + minutes * 60);
    (minutes < 60 && (OFFSET_MIN_S..=OFFSET_MAX_S).contains(&offset)).then_some(offset)
}

/// An offset as a setting: hours and minutes of any number of digits.
fn parse_setting(text: &str) -> Option<i32> {
    let (sign, rest) =
        if let Some(rest) = text.strip_prefix('-') { (-1, rest) } else { (1, text.strip_prefix('+')?) };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<i32>().ok()).flatten().filter(|number| *number < 60)
    };
    let offset = sign * (number(hours)? * 3600 + number(minutes)? * 60);
    (OFFSET_MIN_S..=OFFSET_MAX_S).contains(&offset).then_some(offset)
}

impl TimeZone {
    /// Coordinated Universal Time, in which TIMESTAMP columns are stored.
    pub const UTC: TimeZone = TimeZone { kind: Kind::Utc };

    /// 'SYSTEM', 'UTC', '+05:30' or a name of the tz database, without regard to case.
    pub fn parse(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::UTC);
        }
        if name.eq_ignore_ascii_case("SYSTEM") {
            let kind = match jiff::tz::TimeZone::try_system() {
                Ok(zone) => Kind::Named(zone, "SYSTEM".into()),
                Err(_) => Kind::Fixed(0, "SYSTEM".into()),
            };
            return Some(TimeZone { kind });
        }
        if name.starts_with(['+', '-']) {
            let offset = parse_setting(name)?;
            let sign = if offset < 0 { '-' } else { '+' };
            let minutes = offset.abs() / 60;
            let shown = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            return Some(TimeZone { kind: Kind::Fixed(offset, shown.into()) });
        }
        let zone = jiff::tz::TimeZone::get(name).ok()?;
        let canonical = zone.iana_name().unwrap_or(name).into();
        Some(TimeZone { kind: Kind::Named(zone, canonical) })
    }

    /// As @@time_zone shows it.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Utc => "UTC",
            Kind::Fixed(_, name) | Kind::Named(_, name) => name,
        }
    }

    /// Microseconds since 1970 UTC of a local time; 0 for the zero datetime. A time that the clocks skipped is the
    /// moment at which they did; of a time that they showed twice the first is meant.
    pub fn to_utc_micros(&self, local: DateTime) -> i64 {
        if local.is_zero() {
            return 0;
        }
        let micros = local.micros_since_year_zero() - EPOCH_DAY_NUMBER * MICROS_PER_DAY;
        match &self.kind {
            Kind::Utc => micros,
            Kind::Fixed(offset, _) => micros - i64::from(*offset) * MICROS_PER_SECOND,
            Kind::Named(zone, _) => named_to_utc_micros(zone, micros),
        }
    }

    /// The local time of a moment; the zero datetime for 0, which is what `to_utc_micros` makes of it.
    pub fn from_utc_micros(&self, micros: i64, fsp: u8) -> DateTime {
        if micros == 0 {
            return DateTime { packed: 0, fsp };
        }
        self.local_time(micros, fsp).unwrap_or(DateTime { packed: 0, fsp })
    }

    /// The local time of any moment, that of 1970 too. `None`: not within the years 1 to 9999.
    pub fn local_time(&self, micros: i64, fsp: u8) -> Option<DateTime> {
        let offset = self.offset_seconds_at(micros);
        let local = micros.checked_add(i64::from(offset) * MICROS_PER_SECOND)?;
        let day = local.div_euclid(MICROS_PER_DAY) + EPOCH_DAY_NUMBER;
        let date = Date::from_day_number(day);
        (!date.is_zero()).then(|| DateTime::from_date(date, local.rem_euclid(MICROS_PER_DAY) as u64, fsp))
    }

    /// Seconds east of UTC at a moment.
    pub fn offset_seconds_at(&self, micros: i64) -> i32 {
        match &self.kind {
            Kind::Utc => 0,
            Kind::Fixed(offset, _) => *offset,
            Kind::Named(zone, _) => timestamp(micros).map_or(0, |moment| zone.to_offset(moment).seconds()),
        }
    }

    /// The local time does not exist: the clocks were put forward over it.
    pub fn is_in_gap(&self, local: DateTime) -> bool {
        match &self.kind {
            Kind::Named(zone, _) if !local.is_zero() => {
                let micros = local.micros_since_year_zero() - EPOCH_DAY_NUMBER * MICROS_PER_DAY;
                civil(micros).is_some_and(|civil| {
                    matches!(zone.to_ambiguous_timestamp(civil).offset(), jiff::tz::AmbiguousOffset::Gap { .. })
                })
            }
            _ => false,
        }
    }
}

fn timestamp(micros: i64) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_microsecond(micros).ok()
}

/// A local time, given as the microseconds it would have in UTC.
fn civil(micros: i64) -> Option<jiff::civil::DateTime> {
    timestamp(micros).map(|moment| jiff::tz::Offset::UTC.to_datetime(moment))
}

fn named_to_utc_micros(zone: &jiff::tz::TimeZone, micros: i64) -> i64 {
    let Some(civil) = civil(micros) else {
        return micros;
    };
    let offset = match zone.to_ambiguous_timestamp(civil).offset() {
        jiff::tz::AmbiguousOffset::Unambiguous { offset } => offset,
        jiff::tz::AmbiguousOffset::Fold { before, .. } => before,
        jiff::tz::AmbiguousOffset::Gap { after, .. } => {
            // With the later offset the time lies before the transition: the next one is the one that skips it.
            let earlier = micros - i64::from(after.seconds()) * MICROS_PER_SECOND;
            let next = timestamp(earlier).and_then(|moment| zone.following(moment).next());
            return next.map_or(earlier, |transition| transition.timestamp().as_microsecond());
        }
    };
    micros - i64::from(offset.seconds()) * MICROS_PER_SECOND
}
