//! Units of INTERVAL, and the kinds of temporal values.

/// The unit of INTERVAL, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF. An amount of two parts is a text with both, such as
/// `'1:30'`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalUnit {
    /// `MICROSECOND`.
    Microsecond,
    /// `SECOND`.
    Second,
    /// `MINUTE`.
    Minute,
    /// `HOUR`.
    Hour,
    /// `DAY`.
    Day,
    /// `WEEK`.
    Week,
    /// `MONTH`.
    Month,
    /// `QUARTER`.
    Quarter,
    /// `YEAR`.
    Year,
    /// `SECOND_MICROSECOND`.
    SecondMicrosecond,
    /// `MINUTE_MICROSECOND`.
    MinuteMicrosecond,
    /// `MINUTE_SECOND`.
    MinuteSecond,
    /// `HOUR_MICROSECOND`.
    HourMicrosecond,
    /// `HOUR_SECOND`.
    HourSecond,
    /// `HOUR_MINUTE`.
    HourMinute,
    /// `DAY_MICROSECOND`.
    DayMicrosecond,
    /// `DAY_SECOND`.
    DaySecond,
    /// `DAY_MINUTE`.
    DayMinute,
    /// `DAY_HOUR`.
    DayHour,
    /// `YEAR_MONTH`.
    YearMonth,
}

/// What a temporal literal or a format is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalKind {
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME and TIMESTAMP.
    Timestamp,
}

impl IntervalUnit {
    /// The keyword of the unit, in upper case.
    pub fn keyword(self) -> &'static str {
        match self {
            IntervalUnit::Microsecond => "MICROSECOND",
            IntervalUnit::Second => "SECOND",
            IntervalUnit::Minute => "MINUTE",
            IntervalUnit::Hour => "HOUR",
            IntervalUnit::Day => "DAY",
            IntervalUnit::Week => "WEEK",
            IntervalUnit::Month => "MONTH",
            IntervalUnit::Quarter => "QUARTER",
            IntervalUnit::Year => "YEAR",
            IntervalUnit::SecondMicrosecond => "SECOND_MICROSECOND",
            IntervalUnit::MinuteMicrosecond => "MINUTE_MICROSECOND",
            IntervalUnit::MinuteSecond => "MINUTE_SECOND",
            IntervalUnit::HourMicrosecond => "HOUR_MICROSECOND",
            IntervalUnit::HourSecond => "HOUR_SECOND",
            IntervalUnit::HourMinute => "HOUR_MINUTE",
            IntervalUnit::DayMicrosecond => "DAY_MICROSECOND",
            IntervalUnit::DaySecond => "DAY_SECOND",
            IntervalUnit::DayMinute => "DAY_MINUTE",
            IntervalUnit::DayHour => "DAY_HOUR",
            IntervalUnit::YearMonth => "YEAR_MONTH",
        }
    }

    /// The unit of a keyword in upper case.
    pub fn from_keyword(keyword: &str) -> Option<IntervalUnit> {
        IntervalUnit::ALL.into_iter().find(|unit| unit.keyword() == keyword)
    }

    const ALL: [IntervalUnit; 20] = [
        IntervalUnit::Microsecond,
        IntervalUnit::Second,
        IntervalUnit::Minute,
        IntervalUnit::Hour,
        IntervalUnit::Day,
        IntervalUnit::Week,
        IntervalUnit::Month,
        IntervalUnit::Quarter,
        IntervalUnit::Year,
        IntervalUnit::SecondMicrosecond,
        IntervalUnit::MinuteMicrosecond,
        IntervalUnit::MinuteSecond,
        IntervalUnit::HourMicrosecond,
        IntervalUnit::HourSecond,
        IntervalUnit::HourMinute,
        IntervalUnit::DayMicrosecond,
        IntervalUnit::DaySecond,
        IntervalUnit::DayMinute,
        IntervalUnit::DayHour,
        IntervalUnit::YearMonth,
    ];
}
