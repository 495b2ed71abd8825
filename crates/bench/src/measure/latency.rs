//! How long things took, to three digits.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// What is told of many durations, with the share of them that took no longer.
pub const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
const NANOS_MAX: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// Many durations. Those above a minute count as a minute.
#[derive(Clone, Debug)]
pub struct Latencies {
    nanos: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        // The bounds are constants that a histogram can have.
        let nanos = Histogram::new_with_max(NANOS_MAX, DIGITS).expect("a minute in nanoseconds has three digits");
        Latencies { nanos }
    }
}

impl Latencies {
    pub fn record(&mut self, took: Duration) {
        self.nanos.saturating_record(took.as_nanos().min(u128::from(NANOS_MAX)) as u64);
    }

    pub fn add(&mut self, other: &Latencies) {
        // All have the same bounds.
        let _ = self.nanos.add(&other.nanos);
    }

    pub fn count(&self) -> u64 {
        self.nanos.len()
    }

    /// Microseconds that this share took at most.
    pub fn micros(&self, quantile: f64) -> f64 {
        self.nanos.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// All of [`QUANTILES`] in microseconds.
    pub fn quantiles(&self) -> Vec<(&'static str, f64)> {
        QUANTILES.iter().map(|&(name, quantile)| (name, self.micros(quantile))).collect()
    }

    /// The same as an object.
    pub fn json(&self) -> Value {
        let tenths = |micros: f64| (micros * 10.0).round() / 10.0;
        let members = self.quantiles().into_iter().map(|(name, micros)| (name.to_owned(), json!(tenths(micros))));
        Value::Object(members.collect::<Map<_, _>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_all_that_was_recorded() {
        let (mut all, mut late) = (Latencies::default(), Latencies::default());
        (1..=99).for_each(|micros| all.record(Duration::from_micros(micros)));
        late.record(Duration::from_secs(3600));
        all.add(&late);
        assert_eq!(all.count(), 100);
        assert!((all.micros(0.5) - 50.0).abs() < 0.1, "{}", all.micros(0.5));
        assert!(all.micros(0.999) > 59e6, "{}", all.micros(0.999));
        assert_eq!(all.quantiles().len(), QUANTILES.len());
        assert_eq!(all.json()["p90"], 90.0);
    }
}
