//! Day numbers, weeks and periods.

/// Days since year 0 (TO_DAYS); 0 for a zero date.
pub fn day_number(_year: u32, _month: u32, _day: u32) -> u32 {
    unimplemented!()
}

/// Days of a month; 0 when the month is not 1 to 12.
pub fn days_in_month(_year: u32, _month: u32) -> u32 {
    unimplemented!()
}

/// PERIOD_ADD: a period is YYMM or YYYYMM. `None` for an invalid period.
pub fn period_add(_period: i64, _months: i64) -> Option<i64> {
    unimplemented!()
}

/// PERIOD_DIFF in months. `None` for an invalid period.
pub fn period_diff(_first: i64, _second: i64) -> Option<i64> {
    unimplemented!()
}
