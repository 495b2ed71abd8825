//! Values as Python has them, and back.
//!
//! Text is str, bytes are bytes, numbers are int, float and Decimal, JSON is str as MySQL prints it. TIMESTAMPs are aware of their zone,
//! UTC; DATETIMEs have none. Dates that Python cannot hold, such as MySQL's 0000-00-00, are str.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt,
    PyMemoryView, PyString, PyTime, PyTimeAccess, PyTzInfo, PyTzInfoAccess,
};
use shoal_types::{BaseType, Charset, Date, DateRules, DateTime, Decimal, SqlType, Time, Value};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
const FSP_MAX: u8 = 6;

static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The class `decimal.Decimal`.
fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let class =
        DECIMAL.get_or_try_init(py, || Ok::<_, PyErr>(py.import("decimal")?.getattr("Decimal")?.unbind()))?;
    Ok(class.bind(py))
}

// ---- To Python ----

pub fn to_python<'py>(py: Python<'py>, value: &Value, sql_type: &SqlType) -> PyResult<Bound<'py, PyAny>> {
    let charset = sql_type.collation.charset();
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::UInt(number) | Value::Bit(number, _) => number.into_pyobject(py)?.into_any(),
        Value::Year(year) => year.into_pyobject(py)?.into_any(),
        // The shortest number that is this one in single precision: 0.1 and not 0.10000000149011612.
        Value::Float(number) => {
            number.to_string().parse::<f64>().unwrap_or(f64::from(*number)).into_pyobject(py)?.into_any()
        }
        Value::Double(number) => number.into_pyobject(py)?.into_any(),
        Value::Decimal(number) => {
            let mut digits = Vec::with_capacity(32);
            number.append_text(&mut digits);
            decimal_class(py)?.call1((String::from_utf8_lossy(&digits),))?
        }
        Value::Str(bytes) if sql_type.collation.is_binary() => PyBytes::new(py, bytes).into_any(),
        Value::Str(bytes) => text(py, bytes, charset),
        Value::Enum(member) => text(py, member.label(), charset),
        Value::Set(members) => text(py, &members.text(), charset),
        Value::Json(json) => {
            let mut bytes = Vec::new();
            json.append_text(&mut bytes);
            text(py, &bytes, Charset::Utf8mb4)
        }
        Value::Date(date) => date_to_python(py, *date)?,
        Value::DateTime(time) => {
            let zone = (sql_type.base == BaseType::Timestamp).then(|| PyTzInfo::utc(py)).transpose()?;
            datetime_to_python(py, *time, zone.as_deref())?
        }
        Value::Time(time) => {
            let micros = time_micros(*time);
            let (days, rest) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
            let (seconds, micros) = (rest / MICROS_PER_SECOND, rest % MICROS_PER_SECOND);
            PyDelta::new(py, days as i32, seconds as i32, micros as i32, false)?.into_any()
        }
    })
}

fn time_micros(time: Time) -> i64 {
    let seconds = i64::from(time.hours()) * 3600 + i64::from(time.minutes()) * 60 + i64::from(time.seconds());
    let micros = seconds * MICROS_PER_SECOND + i64::from(time.subsecond_micros());
    if time.is_negative() { -micros } else { micros }
}

fn text<'py>(py: Python<'py>, bytes: &[u8], charset: Charset) -> Bound<'py, PyAny> {
    let converted = Charset::convert(bytes, charset, Charset::Utf8mb4).bytes;
    PyString::new(py, &String::from_utf8_lossy(&converted)).into_any()
}

fn date_to_python(py: Python<'_>, date: Date) -> PyResult<Bound<'_, PyAny>> {
    match PyDate::new(py, date.year() as i32, date.month() as u8, date.day() as u8) {
        Ok(date) => Ok(date.into_any()),
        Err(_) => Ok(plain(py, |out| date.append_text(out))),
    }
}

fn datetime_to_python<'py>(
    py: Python<'py>,
    time: DateTime,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (month, day, hour) = (time.month() as u8, time.day() as u8, time.hour() as u8);
    let (minute, second) = (time.minute() as u8, time.second() as u8);
    match PyDateTime::new(py, time.year() as i32, month, day, hour, minute, second, time.microsecond(), zone) {
        Ok(time) => Ok(time.into_any()),
        Err(_) => Ok(plain(py, |out| time.append_text(out))),
    }
}

/// As MySQL prints it.
fn plain(py: Python<'_>, print: impl FnOnce(&mut Vec<u8>)) -> Bound<'_, PyAny> {
    let mut bytes = Vec::new();
    print(&mut bytes);
    PyString::new(py, &String::from_utf8_lossy(&bytes)).into_any()
}

// ---- From Python ----

pub fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = value.py();
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::from(truth.is_true()));
    }
    if let Ok(number) = value.cast::<PyInt>() {
        return integer(number.as_any());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::str(text.to_cow()?.as_bytes()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return float(number.value());
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Value::str(bytes.as_bytes()));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Value::str(bytes.to_vec()));
    }
    if value.is_instance_of::<PyMemoryView>() {
        return Ok(Value::str(value.call_method0("tobytes")?.extract::<Vec<u8>>()?));
    }
    // A datetime is a date, too.
    if let Ok(time) = value.cast::<PyDateTime>() {
        return datetime(time);
    }
    if let Ok(date) = value.cast::<PyDate>() {
        let found = Date::new(date.get_year() as u32, date.get_month().into(), date.get_day().into(), no_rules());
        return found.map(Value::Date).ok_or_else(|| PyValueError::new_err("a date that MySQL does not know"));
    }
    if let Ok(delta) = value.cast::<PyDelta>() {
        let seconds = i64::from(delta.get_days()) * 86_400 + i64::from(delta.get_seconds());
        return time_of(seconds * MICROS_PER_SECOND + i64::from(delta.get_microseconds()));
    }
    if let Ok(time) = value.cast::<PyTime>() {
        if time.get_tzinfo().is_some() {
            return Err(PyValueError::new_err("a time of day with a zone is no TIME"));
        }
        let minutes = i64::from(time.get_hour()) * 60 + i64::from(time.get_minute());
        let seconds = minutes * 60 + i64::from(time.get_second());
        return time_of(seconds * MICROS_PER_SECOND + i64::from(time.get_microsecond()));
    }
    if value.is_instance(decimal_class(py)?)? {
        return decimal(value);
    }
    // Numbers of other libraries.
    if value.hasattr("__index__")? {
        return integer(&value.call_method0("__index__")?);
    }
    if value.hasattr("__float__")? {
        return float(value.extract()?);
    }
    Err(PyTypeError::new_err(format!("a {} is no value of a column", value.get_type().name()?)))
}

fn integer(number: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = number.extract::<i64>() {
        return Ok(Value::Int(number));
    }
    let unsigned = number.extract::<u64>();
    unsigned.map(Value::UInt).map_err(|_| PyOverflowError::new_err("an int of more than 64 bits; use Decimal"))
}

fn float(number: f64) -> PyResult<Value> {
    match number.is_finite() {
        true => Ok(Value::Double(number)),
        false => Err(PyValueError::new_err(format!("{number} is no value of a column"))),
    }
}

fn decimal(number: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text = number.call_method0("__str__")?.extract::<String>()?;
    let parsed = Decimal::parse(text.as_bytes());
    if parsed.truncated || parsed.out_of_range || parsed.rounded {
        return Err(PyOverflowError::new_err(format!("Decimal('{text}') has no place in a DECIMAL")));
    }
    Ok(Value::Decimal(parsed.value))
}

/// What the column takes is judged where it is stored.
fn no_rules() -> DateRules {
    DateRules::default()
}

/// Aware times are turned into UTC, in which TIMESTAMPs are.
fn datetime(time: &Bound<'_, PyDateTime>) -> PyResult<Value> {
    let py = time.py();
    let in_utc;
    let time = match time.get_tzinfo() {
        None => time,
        Some(_) => {
            in_utc = time.call_method1("astimezone", (PyTzInfo::utc(py)?,))?;
            in_utc.cast::<PyDateTime>()?
        }
    };
    let parts = [
        time.get_year() as u32,
        time.get_month().into(),
        time.get_day().into(),
        time.get_hour().into(),
        time.get_minute().into(),
        time.get_second().into(),
    ];
    let found = DateTime::new(parts, time.get_microsecond(), FSP_MAX, no_rules());
    found.map(Value::DateTime).ok_or_else(|| PyValueError::new_err("a time that MySQL does not know"))
}

fn time_of(micros: i64) -> PyResult<Value> {
    let time = Time::from_micros(micros, FSP_MAX);
    match time.out_of_range {
        true => Err(PyOverflowError::new_err("more than 838:59:59, which is the longest TIME")),
        false => Ok(Value::Time(time.value)),
    }
}
