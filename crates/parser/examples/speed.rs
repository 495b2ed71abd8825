//! How long the digest and the parser take for the statements of sysbench; nanoseconds a statement.
//!
//! `cargo run --release -p shoal-parser --example speed`

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::hint::black_box;
use std::time::Instant;

use shoal_parser::{Digester, ParserMode, parse_first, parse_parameterised};

const ROUNDS: u32 = 200_000;

fn nanoseconds_each(mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    }
    best
}

fn main() {
    let statements = [
        "SELECT c FROM sbtest1 WHERE id=4711",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5015 AND 5114",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5015 AND 5114 ORDER BY c",
        "UPDATE sbtest1 SET c='83868641912-28773972837-60736120486-75162659906-27563526494' WHERE id=4711",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (4711, 5018, '83868641912-28773972837-60736120486', '27563526494-20381887404')",
    ];
    println!("{:>8} {:>8} {:>14}  statement", "digest", "parse", "parameterised");
    for sql in statements {
        let sql = sql.as_bytes();
        let mut digester = Digester::default();
        let mut literals = Vec::new();
        let digest = nanoseconds_each(|| {
            black_box(digester.digest(black_box(sql), 0, ParserMode::NONE, &mut literals));
        });
        let parse = nanoseconds_each(|| {
            black_box(parse_first(black_box(sql), 0, ParserMode::NONE)).ok();
        });
        let parameterised = nanoseconds_each(|| {
            black_box(parse_parameterised(black_box(sql), 0, ParserMode::NONE)).ok();
        });
        let text = String::from_utf8_lossy(sql);
        println!("{digest:>8.0} {parse:>8.0} {parameterised:>14.0}  {text:.60}");
    }
}
