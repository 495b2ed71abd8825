//! The statement digests on which most time was spent, of this node and of all of them together, and how that has been of late.
//!
//! Counts of nodes are added, and their histograms too, so percentiles are those of all statements. The trend is the time that was spent
//! within each of the last minutes; it is kept here for as many digests as are worth it, because digests themselves only grow.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shoal_sql::operator_digests::{DigestCost, OperatorDigest};
use shoal_sql::server::Server;
use shoal_sql::statement_times::bound_us;

use super::AccountKey;

/// Of one node, and of all.
const DIGESTS_MAX: usize = 100;
const MINUTE: Duration = Duration::from_secs(60);
const TREND_MINUTES: usize = 30;
/// Digests that have a trend: the costliest of each minute come in, those that have cost nothing for all of it go.
const TRENDS_MAX: usize = 300;

type Name = (String, String);

/// The last minutes of the costliest digests, in microseconds a minute.
#[derive(Default)]
pub struct Trends(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    taken: Option<Instant>,
    /// `None`: nobody has looked yet.
    before: Option<HashMap<Name, DigestCost>>,
    minutes: HashMap<Name, VecDeque<u64>>,
}

impl Trends {
    /// Often; once a minute it looks.
    pub fn take_sample(&self, server: &Server, now: Instant) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.taken.is_none_or(|taken| now.duration_since(taken) >= MINUTE) {
            kept.taken = Some(now);
            kept.add_minute(server.digest_costs());
        }
    }

    fn of(&self, name: &Name) -> Vec<u64> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let minutes = kept.minutes.get(name).map(|minutes| minutes.iter().copied().collect());
        minutes.unwrap_or_default()
    }
}

impl Kept {
    fn add_minute(&mut self, costs: HashMap<Name, DigestCost>) {
        // The first look only tells what there was before.
        if let Some(before) = self.before.take() {
            let spent = |name: &Name, cost: &DigestCost| {
                let before = before.get(name).copied().unwrap_or_default();
                // Digests may have been forgotten in between.
                cost.sum_us.checked_sub(before.sum_us).unwrap_or(cost.sum_us)
            };
            let mut spent: Vec<(&Name, u64)> =
                costs.iter().map(|(name, cost)| (name, spent(name, cost))).collect();
            spent.sort_unstable_by_key(|(_, us)| std::cmp::Reverse(*us));
            let mut of_minute: HashMap<&Name, u64> = spent.iter().take(TRENDS_MAX).copied().collect();
            for (name, minutes) in &mut self.minutes {
                minutes.push_back(of_minute.remove(name).unwrap_or(0));
                if minutes.len() > TREND_MINUTES {
                    minutes.pop_front();
                }
            }
            self.minutes.retain(|_, minutes| minutes.iter().any(|us| *us > 0));
            let room = TRENDS_MAX.saturating_sub(self.minutes.len());
            for (name, us) in of_minute.into_iter().filter(|(_, us)| *us > 0).take(room) {
                self.minutes.insert(name.clone(), VecDeque::from([us]));
            }
        }
        self.before = Some(costs);
    }
}

/// What this node tells of its digests, for those who may see them.
pub fn of_node(server: &Arc<Server>, account: &AccountKey, trends: &Trends) -> Value {
    let (digests, total) = server.operator_digests(account, DIGESTS_MAX);
    let listed = digests.into_iter().map(|one| described(&one, trends));
    json!({ "digests": listed.collect::<Vec<_>>(), "total": total })
}

fn described(one: &OperatorDigest, trends: &Trends) -> Value {
    json!({
        "database": one.database,
        "digest": one.digest,
        "text": one.text,
        "count": one.count,
        "sum_us": one.sum_us,
        "max_us": one.max_us,
        "errors": one.errors,
        "rows_examined": one.rows_examined,
        "rows_sent": one.rows_sent,
        "full_scans": one.full_scans,
        "last_seen_us": one.last_seen_us,
        "buckets": one.buckets,
        "trend": trends.of(&(one.database.clone(), one.digest.clone())),
    })
}

/// A digest's figures over all nodes.
#[derive(Default)]
struct Sum {
    told: Value,
    numbers: BTreeMap<&'static str, u64>,
    max_us: u64,
    last_seen_us: i64,
    buckets: BTreeMap<usize, u64>,
    /// The newest minute first.
    trend: Vec<u64>,
}

const ADDED: [&str; 6] = ["count", "sum_us", "errors", "rows_examined", "rows_sent", "full_scans"];

impl Sum {
    fn add(&mut self, told: &Value) {
        if self.told.is_null() {
            self.told = told.clone();
        }
        for name in ADDED {
            *self.numbers.entry(name).or_default() += told[name].as_u64().unwrap_or(0);
        }
        self.max_us = self.max_us.max(told["max_us"].as_u64().unwrap_or(0));
        self.last_seen_us = self.last_seen_us.max(told["last_seen_us"].as_i64().unwrap_or(0));
        for pair in told["buckets"].as_array().into_iter().flatten() {
            let (Some(bucket), Some(count)) = (pair[0].as_u64(), pair[1].as_u64()) else { continue };
            *self.buckets.entry(bucket as usize).or_default() += count;
        }
        for (place, us) in told["trend"].as_array().into_iter().flatten().rev().enumerate() {
            if self.trend.len() <= place {
                self.trend.push(0);
            }
            self.trend[place] += us.as_u64().unwrap_or(0);
        }
    }

    /// A time that so many of a hundred statements did not exceed.
    fn percentile_us(&self, percent: u64) -> u64 {
        let wanted = (self.buckets.values().sum::<u64>() * percent).div_ceil(100);
        let mut seen = 0;
        for (&bucket, &count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return bound_us(bucket).min(self.max_us);
            }
        }
        self.max_us
    }

    fn json(self) -> Value {
        let (p95_us, p99_us) = (self.percentile_us(95), self.percentile_us(99));
        let number = |name: &str| self.numbers.get(name).copied().unwrap_or(0);
        json!({
            "database": self.told["database"],
            "digest": self.told["digest"],
            "text": self.told["text"],
            "count": number("count"),
            "sum_us": number("sum_us"),
            "avg_us": number("sum_us") / number("count").max(1),
            "p95_us": p95_us,
            "p99_us": p99_us,
            "max_us": self.max_us,
            "errors": number("errors"),
            "rows_examined": number("rows_examined"),
            "rows_sent": number("rows_sent"),
            "full_scans": number("full_scans"),
            "last_seen_us": self.last_seen_us,
            "trend": self.trend.into_iter().rev().collect::<Vec<_>>(),
        })
    }
}

/// The costliest digests of all nodes, out of what each has told of its own.
pub fn merged(nodes: &Value) -> Value {
    let mut sums: HashMap<Name, Sum> = HashMap::new();
    let mut failures = serde_json::Map::new();
    let mut total = 0;
    for (node, told) in nodes.as_object().into_iter().flatten() {
        if let Some(error) = told.get("error") {
            failures.insert(node.clone(), error.clone());
        }
        total = total.max(told["total"].as_u64().unwrap_or(0));
        for one in told["digests"].as_array().into_iter().flatten() {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            sums.entry((text("database"), text("digest"))).or_default().add(one);
        }
    }
    let total = total.max(sums.len() as u64);
    let mut digests: Vec<Value> = sums.into_values().map(Sum::json).collect();
    digests.sort_by_key(|one| std::cmp::Reverse(one["sum_us"].as_u64()));
    digests.truncate(DIGESTS_MAX);
    json!({ "digests": digests, "total": total, "trend_minutes": TREND_MINUTES, "failures": failures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_added_up_and_the_costliest_come_first() {
        let one = |digest: &str, count: u64, sum_us: u64, buckets: Value, trend: Value| {
            json!({ "database": "d", "digest": digest, "text": digest, "count": count, "sum_us": sum_us, "max_us": sum_us, "errors": 1,
                "rows_examined": 2, "rows_sent": 1, "full_scans": 0, "last_seen_us": 5, "buckets": buckets, "trend": trend })
        };
        let nodes = json!({
            "1": { "digests": [one("a", 90, 900, json!([[8, 90]]), json!([1, 2, 3])), one("b", 1, 950, json!([[30, 1]]), json!([]))], "total": 2 },
            "2": { "digests": [one("a", 10, 800, json!([[20, 10]]), json!([10]))], "total": 1 },
            "3": { "error": "gone" },
        });
        let merged = merged(&nodes);
        let [a, b] = merged["digests"].as_array().unwrap().as_slice() else { panic!("{merged}") };
        assert_eq!(
            (&a["digest"], &a["count"], &a["sum_us"], &a["avg_us"]),
            (&json!("a"), &json!(100), &json!(1700), &json!(17))
        );
        assert_eq!(
            (&a["trend"], &a["errors"]),
            (&json!([1, 2, 13]), &json!(2)),
            "of the same minute, counted from the newest"
        );
        assert_eq!(a["p95_us"], json!(bound_us(20)), "of all statements together");
        assert_eq!((&b["digest"], &merged["failures"]), (&json!("b"), &json!({ "3": "gone" })));
    }

    #[test]
    fn a_trend_is_what_each_minute_has_added_and_has_a_bound() {
        let mut kept = Kept::default();
        let name = |number: usize| ("d".to_owned(), format!("{number:04}"));
        let costs = |spent: &dyn Fn(usize) -> u64| {
            (0..1000)
                .map(|number| (name(number), DigestCost { count: 1, sum_us: spent(number) }))
                .collect::<HashMap<_, _>>()
        };
        for minute in 0..100 {
            kept.add_minute(costs(&|number| (number as u64 + 1) * minute));
        }
        assert_eq!(kept.minutes.len(), TRENDS_MAX);
        assert_eq!(kept.minutes[&name(999)], VecDeque::from([1000; TREND_MINUTES]));
        // TRUNCATE TABLE has begun anew; then nothing happens any more.
        let anew = |number| if number == 999 { 70 } else { 7 };
        kept.add_minute(costs(&anew));
        assert_eq!(kept.minutes[&name(999)].back(), Some(&70));
        for _ in 0..TREND_MINUTES {
            kept.add_minute(costs(&anew));
        }
        assert!(kept.minutes.is_empty());
    }
}
