//! Day numbers, weeks and periods.

/// Two-digit years below this belong to the 21st century, the others to the 20th.
const CENTURY_PIVOT: u32 = 70;
/// Day number of 1970-01-01.
pub(super) const EPOCH_DAY_NUMBER: i64 = 719_528;
/// Day number of 9999-12-31.
pub(super) const DAY_NUMBER_MAX: i64 = 3_652_424;
/// Day number of 0001-01-01.
pub(super) const DAY_NUMBER_MIN: i64 = 366;

/// The full year that two digits mean.
pub(crate) fn full_year(two_digits: u32) -> u32 {
    two_digits + if two_digits < CENTURY_PIVOT { 2000 } else { 1900 }
}

/// 365 or 366, by the Gregorian calendar. Year 0 has 365, as in MySQL.
pub fn days_in_year(year: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0));
    365 + u32::from(is_leap)
}

/// Days of a month; 0 when the month is not 1 to 12.
pub fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 => days_in_year(year) - 337,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

/// Days since year 0 (TO_DAYS); 0 for a zero date.
pub fn day_number(year: u32, month: u32, day: u32) -> u32 {
    if year == 0 && month == 0 {
        return 0;
    }
    let (mut year, month) = (year as i32, month as i32);
    let mut days = 365 * year + 31 * (month - 1) + day as i32;
    if month <= 2 {
        year -= 1;
    } else {
        days -= (month * 4 + 23) / 10;
    }
    let skipped_leap_days = (year / 100 + 1) * 3 / 4;
    (days + year / 4 - skipped_leap_days).max(0) as u32
}

/// Year, month and day of a day number from 366 (0001-01-01) to 3652424 (9999-12-31); `None` outside.
pub(super) fn date_of_day_number(number: i64) -> Option<(u32, u32, u32)> {
    if !(DAY_NUMBER_MIN..=DAY_NUMBER_MAX).contains(&number) {
        return None;
    }
    // Count from 1 March of year 0, so that leap days end their years (Hinnant's civil_from_days).
    const DAYS_PER_ERA: u32 = 146_097;
    let days = number as u32 - 60;
    let era = days / DAYS_PER_ERA;
    let day_of_era = days % DAYS_PER_ERA;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    Some((year, month, day))
}

/// Day of the week of a day number: 0 = Monday, or 0 = Sunday.
pub(super) fn weekday_of(day_number: u32, sunday_first: bool) -> u32 {
    (day_number + 5 + u32::from(sunday_first)) % 7
}

/// The year and the number of a date's week, by WEEK's mode (0 to 7). In modes without bit 1 days before the first
/// week are week 0 of their own year.
pub(super) fn year_and_week(year: u32, month: u32, day: u32, mode: u32) -> (u32, u32) {
    let monday_first = mode & 1 != 0;
    let mut counts_into_last_year = mode & 2 != 0;
    // Bit 2 asks for "the first week begins in this year" when weeks begin on Monday, and for the opposite otherwise.
    let starts_with_weekday = (mode & 4 != 0) == monday_first;
    let date_number = day_number(year, month, day);
    let mut week_year = year;
    let mut first_number = day_number(year, 1, 1);
    let mut weekday = weekday_of(first_number, !monday_first);
    let first_days_belong_to_last_year =
        |weekday: u32| if starts_with_weekday { weekday != 0 } else { weekday >= 4 };

    if month == 1 && day <= 7 - weekday {
        if !counts_into_last_year && first_days_belong_to_last_year(weekday) {
            return (week_year, 0);
        }
        counts_into_last_year = true;
        week_year = week_year.saturating_sub(1);
        let days = days_in_year(week_year);
        first_number = first_number.saturating_sub(days);
        weekday = (weekday + 53 * 7 - days) % 7;
    }
    let days = if first_days_belong_to_last_year(weekday) {
        date_number.saturating_sub(first_number + (7 - weekday))
    } else {
        (date_number + weekday).saturating_sub(first_number)
    };
    if counts_into_last_year && days >= 52 * 7 {
        let next_weekday = (weekday + days_in_year(week_year)) % 7;
        if !first_days_belong_to_last_year(next_weekday) {
            return (week_year + 1, 1);
        }
    }
    (week_year, days / 7 + 1)
}

/// Months since year 0 of a period YYMM or YYYYMM.
fn period_to_months(period: i64) -> Option<i64> {
    if period == 0 {
        return Some(0);
    }
    let (year, month) = (u32::try_from(period / 100).ok()?, period % 100);
    if !(1..=12).contains(&month) || year > 9999 {
        return None;
    }
    let year = if year < 100 { full_year(year) } else { year };
    Some(i64::from(year) * 12 + month - 1)
}

/// PERIOD_ADD: a period is YYMM or YYYYMM. `None` for an invalid period or result.
pub fn period_add(period: i64, months: i64) -> Option<i64> {
    if period == 0 {
        return Some(0);
    }
    let months = period_to_months(period)?.checked_add(months)?;
    let year = months.div_euclid(12);
    let year = if (0..100).contains(&year) { i64::from(full_year(year as u32)) } else { year };
    (0..=9999).contains(&year).then_some(year * 100 + months.rem_euclid(12) + 1)
}

/// PERIOD_DIFF in months. `None` for an invalid period.
pub fn period_diff(first: i64, second: i64) -> Option<i64> {
    Some(period_to_months(first)? - period_to_months(second)?)
}
