use proptest::prelude::*;

use super::*;
use crate::{Converted, Value};

fn context() -> TemporalContext {
    TemporalContext::default()
}

fn datetime(text: &str) -> DateTime {
    let parsed = DateTime::parse(text.as_bytes(), &context());
    assert!(!parsed.truncated, "{text}");
    parsed.value.unwrap()
}

fn date(text: &str) -> Date {
    datetime(text).date()
}

fn time(text: &str) -> Time {
    Time::parse(text.as_bytes()).value.unwrap()
}

#[test]
fn datetimes_are_read_in_all_the_forms_of_the_manual() {
    let cases = [
        ("2012-12-31 11:30:45", "2012-12-31 11:30:45"),
        ("2012^12^31 11+30+45", "2012-12-31 11:30:45"),
        ("2012/12/31 11*30*45", "2012-12-31 11:30:45"),
        ("2012@12@31 11^30^45", "2012-12-31 11:30:45"),
        ("2012-12-31T11:30:45", "2012-12-31 11:30:45"),
        ("20070523091528", "2007-05-23 09:15:28"),
        ("070523091528", "2007-05-23 09:15:28"),
        ("20070523", "2007-05-23 00:00:00"),
        ("070523", "2007-05-23 00:00:00"),
        ("98-12-31 11:30:45", "1998-12-31 11:30:45"),
        ("69-1-2", "2069-01-02 00:00:00"),
        ("70-1-2", "1970-01-02 00:00:00"),
        ("2015-6-9 1:2:3", "2015-06-09 01:02:03"),
        ("10:11:12", "2010-11-12 00:00:00"),
        ("  2024-01-31  ", "2024-01-31 00:00:00"),
        ("2024-01-31 10:20", "2024-01-31 10:20:00"),
        ("2024-01-31 10:20:30.25", "2024-01-31 10:20:30.25"),
        ("20240131102030.123456", "2024-01-31 10:20:30.123456"),
        ("2024-01-31 10:20:30.1234565", "2024-01-31 10:20:30.123457"),
        ("2024-12-31 23:59:59.9999999", "2025-01-01 00:00:00.000000"),
        ("0000-00-00", "0000-00-00 00:00:00"),
        ("2024-00-10", "2024-00-10 00:00:00"),
        ("1-1-1", "0001-01-01 00:00:00"),
    ];
    for (text, expected) in cases {
        assert_eq!(datetime(text).to_string(), expected, "{text}");
    }
}

#[test]
fn texts_that_are_no_datetimes_are_refused() {
    for text in ["", "abc", "2024-13-01", "2024-02-30", "2024-01-32", "2024", "2024-01", "2024-01-01 24:00:00"] {
        let parsed = DateTime::parse(text.as_bytes(), &context());
        assert!(parsed.truncated && parsed.value.is_none(), "{text}");
    }
    for text in ["2024-01-01 10:60:00", "1071332", "2024 -01-01", "9999-12-31 23:59:59.9999999"] {
        assert_eq!(DateTime::parse(text.as_bytes(), &context()).value, None, "{text}");
    }
}

#[test]
fn what_follows_a_datetime_is_reported() {
    for text in ["2024-01-31abc", "2024-01-31 x", "2024-01-31 10:20:30 +05:30x", "2024-01-31 10:20:30+99:00"] {
        let parsed = DateTime::parse(text.as_bytes(), &context());
        assert!(parsed.truncated && parsed.value.is_some(), "{text}");
    }
}

#[test]
fn an_offset_is_turned_into_the_zone_of_the_context() {
    assert_eq!(datetime("2020-01-01 10:10:10+05:30").to_string(), "2020-01-01 04:40:10");
    assert_eq!(datetime("2020-01-01 10:10:10.5-08:00").to_string(), "2020-01-01 18:10:10.5");
    let berlin = TemporalContext { zone: TimeZone::parse("Europe/Berlin").unwrap(), ..context() };
    let parsed = DateTime::parse(b"2020-07-01 10:00:00+00:00", &berlin);
    assert_eq!(parsed.value.unwrap().to_string(), "2020-07-01 12:00:00");
}

#[test]
fn the_rules_decide_about_zeros_and_invalid_days() {
    let strict = DateRules { no_zero_date: true, no_zero_in_date: true, allow_invalid_dates: false };
    assert_eq!(Date::new(0, 0, 0, strict), None);
    assert_eq!(Date::new(2024, 0, 1, strict), None);
    assert_eq!(Date::new(2024, 2, 30, strict), None);
    assert!(Date::new(2024, 2, 29, strict).is_some());
    let lax = DateRules { allow_invalid_dates: true, ..DateRules::default() };
    assert!(Date::new(2023, 2, 31, lax).is_some());
    assert_eq!(Date::new(2023, 2, 32, lax), None);
    assert_eq!(Date::new(10_000, 1, 1, lax), None);
}

#[test]
fn times_are_read_in_all_the_forms_of_the_manual() {
    let cases = [
        ("10:11:12", "10:11:12"),
        ("11:12", "11:12:00"),
        ("1112", "00:11:12"),
        ("12", "00:00:12"),
        ("-101112", "-10:11:12"),
        ("2 10:20:30.5", "58:20:30.5"),
        ("1 10", "34:00:00"),
        ("1 10:20", "34:20:00"),
        ("838:59:59", "838:59:59"),
        ("2024-01-31 10:11:12", "10:11:12"),
        ("20240131101112", "10:11:12"),
        ("10:11:12.9999999", "10:11:13.000000"),
        ("8:5", "08:05:00"),
        (".5", "00:00:00.5"),
    ];
    for (text, expected) in cases {
        let parsed = Time::parse(text.as_bytes());
        assert!(!parsed.truncated && !parsed.out_of_range, "{text}");
        assert_eq!(parsed.value.unwrap().to_string(), expected, "{text}");
    }
}

#[test]
fn times_out_of_range_are_clamped_and_impossible_ones_refused() {
    let clamped = Time::parse(b"850:00:00");
    assert!(clamped.out_of_range);
    assert_eq!(clamped.value.unwrap().to_string(), "838:59:59");
    assert_eq!(Time::parse(b"-850:00:00").value.unwrap().to_string(), "-838:59:59");
    for text in ["", "abc", "10:60:00", "10:00:60", "-", "1e5"] {
        assert_eq!(Time::parse(text.as_bytes()).value, None, "{text}");
    }
    let cut = Time::parse(b"10:11:12x");
    assert!(cut.truncated);
    assert_eq!(cut.value.unwrap().to_string(), "10:11:12");
}

#[test]
fn numbers_are_datetimes_by_their_size() {
    let cases = [
        (20240131, "2024-01-31 00:00:00"),
        (240131, "2024-01-31 00:00:00"),
        (700101, "1970-01-01 00:00:00"),
        (20240131235959, "2024-01-31 23:59:59"),
        (240131235959, "2024-01-31 23:59:59"),
        (101, "2000-01-01 00:00:00"),
        (0, "0000-00-00 00:00:00"),
    ];
    for (number, expected) in cases {
        assert_eq!(DateTime::from_number(number, DateRules::default()).unwrap().to_string(), expected);
    }
    for number in [1, 100, 20241301, -1, 100_000_000_000_000, 20240131246060, 691_232] {
        assert_eq!(DateTime::from_number(number, DateRules::default()), None, "{number}");
    }
    assert_eq!(Time::from_number(101112).value.unwrap().to_string(), "10:11:12");
    assert_eq!(Time::from_number(-8385959).value.unwrap().to_string(), "-838:59:59");
    assert_eq!(Time::from_number(20240131101112).value.unwrap().to_string(), "10:11:12");
    assert!(Time::from_number(9_000_000).out_of_range);
    assert_eq!(Time::from_number(106000).value, None);
}

#[test]
fn temporal_values_become_numbers() {
    let moment = datetime("2024-01-31 23:59:59.50");
    assert_eq!(moment.to_decimal().to_string(), "20240131235959.50");
    assert_eq!(moment.to_number(), 20240201000000);
    assert_eq!(moment.to_f64(), 20240131235959.5);
    assert_eq!(time("-10:11:12.25").to_decimal().to_string(), "-101112.25");
    assert_eq!(time("10:11:12.5").to_number(), 101113);
    assert_eq!(date("2024-01-31").to_number(), 20240131);
}

#[test]
fn day_numbers_are_those_of_to_days() {
    assert_eq!(date("2007-10-07").day_number(), 733321);
    assert_eq!(Date::from_day_number(730669), date("2000-07-03"));
    assert_eq!(date("9999-12-31").day_number(), 3652424);
    assert_eq!(Date::from_day_number(365), Date::ZERO);
    assert_eq!(Date::from_day_number(366), date("0001-01-01"));
    assert_eq!(Date::from_day_number(3652425), Date::ZERO);
}

#[test]
fn weekdays_and_weeks_are_those_of_the_manual() {
    assert_eq!(date("2008-02-03").weekday(), 6);
    assert_eq!(date("2007-02-03").day_of_year(), 34);
    assert_eq!(date("2008-02-20").week(0), 7);
    assert_eq!(date("2008-02-20").week(1), 8);
    assert_eq!(date("2008-12-31").week(1), 53);
    assert_eq!(date("2000-01-01").week(0), 0);
    assert_eq!(date("2000-01-01").week(2), 52);
    assert_eq!(date("1987-01-01").year_week(0), 198652);
    assert_eq!(date("2024-02-10").last_day(), Some(date("2024-02-29")));
    // Modes 0 to 7 as MySQL and MariaDB answer them.
    let weeks = |text: &str| (0..8).map(|mode| date(text).week(mode)).collect::<Vec<_>>();
    assert_eq!(weeks("2021-01-03"), [1, 0, 1, 53, 1, 0, 1, 52]);
    assert_eq!(weeks("2018-12-31"), [52, 53, 52, 1, 53, 53, 1, 53]);
    assert_eq!(weeks("2016-01-01"), [0, 0, 52, 53, 0, 0, 52, 52]);
}

#[test]
fn every_day_number_is_one_date() {
    let mut previous = Date::ZERO;
    for number in 366..=3652424 {
        let date = Date::from_day_number(number);
        assert!(date > previous);
        assert_eq!(i64::from(date.day_number()), number);
        previous = date;
    }
}

#[test]
fn intervals_are_added_as_in_the_manual() {
    let add = |start: &str, amount: &str, unit| {
        let interval = Interval::new(&Value::str(amount), unit).unwrap();
        datetime(start).checked_add(interval).map(|sum| sum.to_string())
    };
    use IntervalUnit::*;
    let cases = [
        ("2018-12-31 23:59:59", "1", Second, "2019-01-01 00:00:00"),
        ("2018-12-31 23:59:59", "1", Day, "2019-01-01 23:59:59"),
        ("2100-12-31 23:59:59", "1:1", MinuteSecond, "2101-01-01 00:01:00"),
        ("2025-01-01 00:00:00", "-1 1:1:1", DaySecond, "2024-12-30 22:58:59"),
        ("1900-01-01 00:00:00", "-1 10", DayHour, "1899-12-30 14:00:00"),
        ("2024-01-30", "1", Month, "2024-02-29 00:00:00"),
        ("2024-02-29", "1", Year, "2025-02-28 00:00:00"),
        ("2024-03-31", "-1", Quarter, "2023-12-31 00:00:00"),
        ("2024-01-01", "1-2", YearMonth, "2025-03-01 00:00:00"),
        ("2024-01-01", "1.5", Second, "2024-01-01 00:00:01"),
        ("2024-01-01", "2", Week, "2024-01-15 00:00:00"),
        ("2024-01-01", "10", DaySecond, "2024-01-01 00:00:10"),
    ];
    for (start, amount, unit, expected) in cases {
        assert_eq!(add(start, amount, unit).as_deref(), Some(expected), "{start} {amount} {unit:?}");
    }
    assert_eq!(add("9999-12-31", "1", Day), None);
    assert_eq!(add("2024-00-10", "1", Day), None);
    assert_eq!(add("2024-01-01", "8000", Year), None);
    let fraction = Interval::new(&Value::str("1.999999"), SecondMicrosecond).unwrap();
    let sum = DateTime { fsp: 6, ..datetime("1992-12-31 23:59:59.000002") }.checked_add(fraction).unwrap();
    assert_eq!(sum.to_string(), "1993-01-01 00:00:01.000001");
}

#[test]
fn amounts_beyond_every_range_are_no_intervals() {
    assert_eq!(Interval::new(&Value::Int(i64::MAX), IntervalUnit::Day), None);
    assert_eq!(Interval::new(&Value::str("1 2 3 4"), IntervalUnit::DayHour), None);
    assert_eq!(Interval::new(&Value::Null, IntervalUnit::Day), None);
    let second = Interval::new(&Value::Decimal(crate::Decimal::new(-15, 1)), IntervalUnit::Second).unwrap();
    assert_eq!(second.signed_micros(), Some(-1_500_000));
    let huge = Interval { months: u64::MAX, ..Interval::default() };
    assert_eq!(datetime("2024-01-01").checked_add(huge), None);
}

#[test]
fn differences_count_whole_units() {
    use IntervalUnit::*;
    let diff = |unit, from, to| datetime(from).diff(datetime(to), unit);
    assert_eq!(diff(Month, "2003-02-01", "2003-05-01"), 3);
    assert_eq!(diff(Year, "2002-05-01", "2001-01-01"), -1);
    assert_eq!(diff(Minute, "2003-02-01", "2003-05-01 12:05:55"), 128885);
    assert_eq!(diff(Month, "2024-01-31", "2024-02-29"), 0);
    assert_eq!(diff(Month, "2024-01-31 10:00:00", "2024-03-31 09:59:59"), 1);
    assert_eq!(diff(Day, "2024-01-02 12:00:00", "2024-01-01"), -1);
    assert_eq!(diff(Quarter, "2024-01-01", "2024-12-31"), 3);
}

#[test]
fn periods_are_months() {
    assert_eq!(period_add(200801, 2), Some(200803));
    assert_eq!(period_add(9902, -2), Some(199812));
    assert_eq!(period_diff(200802, 200703), Some(11));
    assert_eq!(period_add(200813, 1), None);
}

#[test]
fn rounding_carries_into_the_next_day() {
    assert_eq!(datetime("2024-02-28 23:59:59.5").round(0).unwrap().to_string(), "2024-02-29 00:00:00");
    assert_eq!(datetime("9999-12-31 23:59:59.5").round(0), None);
    assert_eq!(datetime("2024-01-01 00:00:00.126").truncate(2).to_string(), "2024-01-01 00:00:00.12");
    assert_eq!(time("-00:00:00.55").round(1).to_string(), "-00:00:00.6");
    assert_eq!(time("838:59:59.0").round(0).to_string(), "838:59:59");
}

#[test]
fn zones_know_their_offsets() {
    let utc = |zone: &str, local: &str| TimeZone::parse(zone).unwrap().to_utc_micros(datetime(local)) / 1_000_000;
    assert_eq!(utc("UTC", "1970-01-01 00:00:01"), 1);
    assert_eq!(utc("+05:30", "1970-01-01 05:30:01"), 1);
    assert_eq!(utc("Europe/Berlin", "2024-07-01 12:00:00"), 1719828000);
    // Twice shown: the first. Never shown: the moment of the change. (As MariaDB's UNIX_TIMESTAMP answers.)
    assert_eq!(utc("Europe/Berlin", "2024-10-27 02:30:00"), 1729989000);
    assert_eq!(utc("Europe/Berlin", "2024-03-31 02:30:00"), 1711846800);
    assert_eq!(utc("America/New_York", "2024-11-03 01:30:00"), 1730611800);
    assert_eq!(utc("America/New_York", "2024-03-10 02:30:00"), 1710054000);
    let berlin = TimeZone::parse("europe/berlin").unwrap();
    assert_eq!(berlin.name(), "Europe/Berlin");
    assert!(berlin.is_in_gap(datetime("2024-03-31 02:30:00")));
    assert!(!berlin.is_in_gap(datetime("2024-03-31 03:30:00")));
    assert_eq!(berlin.from_utc_micros(1_719_828_000_000_000, 0).to_string(), "2024-07-01 12:00:00");
    assert_eq!(berlin.to_utc_micros(DateTime::ZERO), 0);
    assert!(berlin.from_utc_micros(0, 0).is_zero());
    assert_eq!(berlin.local_time(0, 0).unwrap().to_string(), "1970-01-01 01:00:00");
}

#[test]
fn unknown_zones_and_offsets_out_of_range_are_refused() {
    for name in ["", "Nowhere/Land", "+15:00", "-14:00", "+5", "05:30", "+05:60", "+5:", "+x:00"] {
        assert!(TimeZone::parse(name).is_none(), "{name}");
    }
    for name in ["SYSTEM", "system", "+14:00", "-13:59", "+5:30", "+5:3"] {
        assert!(TimeZone::parse(name).is_some(), "{name}");
    }
}

proptest! {
    #[test]
    fn a_printed_datetime_reads_back(micros in 366 * MICROS_PER_DAY..3_652_425 * MICROS_PER_DAY) {
        let moment = DateTime::from_micros_since_year_zero(micros, 6).unwrap();
        prop_assert_eq!(moment.micros_since_year_zero(), micros);
        let parsed = DateTime::parse(moment.to_string().as_bytes(), &context());
        prop_assert_eq!(parsed, Converted::exact(Some(moment)));
        prop_assert_eq!(TimeZone::UTC.local_time(TimeZone::UTC.to_utc_micros(moment), 6), Some(moment));
    }

    #[test]
    fn a_printed_time_reads_back(micros in -Time::MAX_MICROS..=Time::MAX_MICROS) {
        let time = Time { micros, fsp: 6 };
        prop_assert_eq!(Time::parse(time.to_string().as_bytes()), Converted::exact(Some(time)));
    }

    #[test]
    fn no_bytes_make_parsing_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = (DateTime::parse(&bytes, &context()), Time::parse(&bytes), TimeZone::parse(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn time_like_text_never_panics(text in "[-+ ]?[0-9]{0,22}[-:T. ]{0,2}[0-9]{0,8}[-:. ]{0,2}[0-9]{0,8}[-: .+]{0,2}[0-9:.]{0,20}") {
        for value in [DateTime::parse(text.as_bytes(), &context()).value].into_iter().flatten() {
            let _ = (value.to_string(), value.round(3), value.to_decimal(), value.date().week(3), value.date().last_day());
        }
        if let Some(value) = Time::parse(text.as_bytes()).value {
            let _ = (value.to_string(), value.to_decimal(), value.round(0));
        }
        let _ = Interval::new(&Value::str(text.as_str()), IntervalUnit::DayMicrosecond);
    }

    #[test]
    fn any_number_and_any_stored_word_are_survived(number in any::<i64>(), packed in any::<u64>()) {
        let _ = (DateTime::from_number(number, DateRules::default()), Time::from_number(number), Date::from_day_number(number));
        let damaged = DateTime { packed, fsp: 9 };
        let _ = (damaged.to_string(), damaged.to_number(), damaged.round(2), damaged.date().weekday());
        let _ = (TimeZone::UTC.from_utc_micros(number, 6), TimeZone::UTC.to_utc_micros(damaged));
        let _ = Date(packed as u32).to_string();
    }
}
