//! A profile in the format of pprof: a protobuf message (`profile.proto` of google/pprof), compressed with gzip. Only the fields that are
//! needed are there.

use std::collections::HashMap;
use std::io::Write;
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use pprof::{Report, Symbol};
use prost::Message;

/// Numbers of texts are positions in `string_table`, of locations and functions their ids, which begin with 1.
#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

/// A stack, the innermost function first, and how often it was met.
#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
}

/// A place in the program; several lines are functions that were inlined there.
#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// A report as pprof reads it.
///
/// # Errors
/// None that memory does not have.
pub fn encode(report: &Report) -> Result<Vec<u8>, String> {
    let bytes = Builder::default().profile(report).encode_to_vec();
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    let done = compressed.write_all(&bytes).and_then(|()| compressed.finish());
    done.map_err(|error| format!("cannot compress the profile: {error}"))
}

#[derive(Default)]
struct Builder {
    texts: HashMap<String, i64>,
    functions: HashMap<(i64, i64), u64>,
    /// By functions and lines.
    locations: HashMap<Vec<(u64, i64)>, u64>,
    profile: Profile,
}

impl Builder {
    fn text(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn function(&mut self, symbol: &Symbol) -> u64 {
        let (name, system_name) = (self.text(&symbol.name()), self.text(&symbol.sys_name()));
        let filename = self.text(&symbol.filename());
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry((system_name, filename)).or_insert(next);
        if id == next {
            self.profile.function.push(Function { id, name, system_name, filename });
        }
        id
    }

    fn location(&mut self, symbols: &[Symbol]) -> u64 {
        let lines: Vec<(u64, i64)> =
            symbols.iter().map(|symbol| (self.function(symbol), i64::from(symbol.lineno()))).collect();
        let next = self.locations.len() as u64 + 1;
        if let Some(&id) = self.locations.get(&lines) {
            return id;
        }
        let line = lines.iter().map(|&(function_id, line)| Line { function_id, line }).collect();
        self.profile.location.push(Location { id: next, line });
        self.locations.insert(lines, next);
        next
    }

    fn profile(mut self, report: &Report) -> Profile {
        let period = 1_000_000_000 / i64::from(report.timing.frequency.max(1));
        // The first text is the empty one.
        self.text("");
        let mut value_type = |kind, unit| ValueType { kind: self.text(kind), unit: self.text(unit) };
        let (samples, cpu) = (value_type("samples", "count"), value_type("cpu", "nanoseconds"));
        let thread = self.text("thread");
        for (frames, &count) in &report.data {
            let location_id = frames.frames.iter().map(|symbols| self.location(symbols)).collect();
            let label = vec![Label { key: thread, text: self.text(&frames.thread_name_or_id()) }];
            let count = count as i64;
            self.profile.sample.push(Sample {
                location_id,
                value: vec![count, count.saturating_mul(period)],
                label,
            });
        }
        let since = report.timing.start_time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Profile {
            sample_type: vec![samples, cpu],
            time_nanos: since.as_nanos() as i64,
            duration_nanos: report.timing.duration.as_nanos() as i64,
            period_type: Some(cpu),
            period,
            ..self.profile
        }
    }
}
