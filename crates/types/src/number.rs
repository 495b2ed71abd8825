//! Numbers from and to text, as MySQL reads and prints them.

/// What became of a value that was converted to another type: the nearest value, and what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted<T> {
    pub value: T,
    /// The text was not wholly a value of the target type (MySQL's warning 1292, error 1366).
    pub truncated: bool,
    /// The value had to be clamped (MySQL's 1264 or 1690).
    pub out_of_range: bool,
    /// Digits other than zero were lost after the point (MySQL's note 1265).
    pub rounded: bool,
}

impl<T> Converted<T> {
    /// Converted without loss.
    pub fn exact(value: T) -> Converted<T> {
        Converted { value, truncated: false, out_of_range: false, rounded: false }
    }

    /// Clamped to `value`.
    pub fn clamped(value: T) -> Converted<T> {
        Converted { out_of_range: true, ..Converted::exact(value) }
    }

    /// The same marks on another value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Converted<U> {
        Converted {
            value: convert(self.value),
            truncated: self.truncated,
            out_of_range: self.out_of_range,
            rounded: self.rounded,
        }
    }

    pub fn is_exact(&self) -> bool {
        !(self.truncated || self.out_of_range || self.rounded)
    }
}

/// The integer that a text begins with; a fraction or exponent is taken into account and rounded half away from zero.
pub fn parse_i64(_text: &[u8]) -> Converted<i64> {
    unimplemented!()
}

pub fn parse_u64(_text: &[u8]) -> Converted<u64> {
    unimplemented!()
}

pub fn parse_f64(_text: &[u8]) -> Converted<f64> {
    unimplemented!()
}

pub fn append_i64(_number: i64, _out: &mut Vec<u8>) {
    unimplemented!()
}

pub fn append_u64(_number: u64, _out: &mut Vec<u8>) {
    unimplemented!()
}

/// Shortest text that reads back as the same DOUBLE, in MySQL's layout.
pub fn append_f64(_number: f64, _out: &mut Vec<u8>) {
    unimplemented!()
}

/// A FLOAT with its 6 significant digits.
pub fn append_f32(_number: f32, _out: &mut Vec<u8>) {
    unimplemented!()
}

/// With exactly `decimals` digits after the point (columns declared (M,D), FORMAT).
pub fn append_f64_fixed(_number: f64, _decimals: u8, _out: &mut Vec<u8>) {
    unimplemented!()
}

/// Rounds to `decimals` digits after the point (before it when negative), or truncates.
pub fn round_f64(_number: f64, _decimals: i32, _truncate: bool) -> f64 {
    unimplemented!()
}

/// An integral f64 as i64, rounded half to even as the processor does (MySQL's rint) and clamped.
pub fn f64_to_i64(_number: f64) -> Converted<i64> {
    unimplemented!()
}

pub fn f64_to_u64(_number: f64) -> Converted<u64> {
    unimplemented!()
}
