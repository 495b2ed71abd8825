//! Prometheus' text format: families with HELP and TYPE, and their samples.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

#[derive(Default)]
pub struct Text(String);

impl Text {
    /// Begins a family; its samples follow at once.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> Family<'_> {
        debug_assert_eq!(kind == Kind::Counter, name.ends_with("_total"), "{name}");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
        Family { out: &mut self.0, name }
    }

    /// A family of one sample without labels.
    pub fn one(&mut self, name: &'static str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help).labelled(&[], value);
    }

    pub fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.one(name, Kind::Gauge, help, value);
    }

    pub fn count(&mut self, name: &'static str, help: &str, counter: &AtomicU64) {
        self.one(name, Kind::Counter, help, counter.load(Ordering::Relaxed));
    }

    pub fn finish(self) -> String {
        self.0
    }
}

pub struct Family<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl Family<'_> {
    pub fn labelled(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.sample("", labels, value);
    }

    /// A sample of the family's name with `suffix`: the parts of histograms.
    pub fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        self.out.push_str(self.name);
        self.out.push_str(suffix);
        for (place, (name, text)) in labels.iter().enumerate() {
            let _ = write!(self.out, "{}{name}=\"", if place == 0 { '{' } else { ',' });
            for character in text.chars() {
                match character {
                    '\\' => self.out.push_str("\\\\"),
                    '"' => self.out.push_str("\\\""),
                    '\n' => self.out.push_str("\\n"),
                    other => self.out.push(other),
                }
            }
            self.out.push('"');
        }
        let _ = writeln!(self.out, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_as_prometheus_reads_them() {
        let mut text = Text::default();
        text.gauge("a_bytes", "How many.", 7);
        let mut family = text.family("b_total", Kind::Counter, "By name.");
        family.labelled(&[("name", "x\"\\\n"), ("n", "1")], 2.5);
        let expected = "# HELP a_bytes How many.\n# TYPE a_bytes gauge\na_bytes 7\n\
            # HELP b_total By name.\n# TYPE b_total counter\nb_total{name=\"x\\\"\\\\\\n\",n=\"1\"} 2.5\n";
        assert_eq!(text.finish(), expected);
    }
}
