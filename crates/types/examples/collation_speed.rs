//! How fast texts of 120 ASCII bytes (the `c` column of sysbench) compare, hash and become sort keys.
//! `cargo run --release -p shoal-types --example collation_speed`

use std::hint::black_box;
use std::time::Instant;

use shoal_types::Collation;

const TEXTS: usize = 1000;
const ROUNDS: usize = 2000;

fn main() {
    let texts: Vec<Vec<u8>> = (0..TEXTS as u64).map(sysbench_text).collect();
    // Equal up to the case of the last letter, so that a comparison must read everything.
    let mut others = texts.clone();
    for (text, other) in texts.iter().zip(&mut others) {
        other[text.len() - 1] = b'z';
    }
    println!("{:24} {:>12} {:>12} {:>12} {:>12}", "", "compare ns", "sort key ns", "MB/s", "hash64 ns");
    for collation in [
        Collation::UTF8MB4_0900_AI_CI,
        Collation::UTF8MB4_0900_AS_CS,
        Collation::UTF8MB4_GENERAL_CI,
        Collation::UTF8MB4_UNICODE_CI,
        Collation::LATIN1_SWEDISH_CI,
        Collation::UTF8MB4_BIN,
        Collation::BINARY,
    ] {
        let compare = nanoseconds(|at| {
            black_box(collation.compare(black_box(&texts[at]), black_box(&others[at])));
        });
        let mut key = Vec::new();
        let sort_key = nanoseconds(|at| {
            key.clear();
            collation.append_sort_key(black_box(&texts[at]), None, &mut key);
            black_box(&key);
        });
        let hash = nanoseconds(|at| {
            black_box(collation.hash64(black_box(&texts[at])));
        });
        let megabytes = 120.0 / sort_key * 1000.0;
        println!("{:24} {compare:12.1} {sort_key:12.1} {megabytes:12.0} {hash:12.1}", collation.name());
    }
}

fn nanoseconds(mut work: impl FnMut(usize)) -> f64 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for at in 0..TEXTS {
            work(at);
        }
    }
    start.elapsed().as_nanos() as f64 / (ROUNDS * TEXTS) as f64
}

/// Ten groups of eleven digits and dashes between them.
fn sysbench_text(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = Vec::with_capacity(120);
    for position in 0..119 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(if position % 12 == 11 { b'-' } else { b'0' + (state >> 33) as u8 % 10 });
    }
    text.push(b'a');
    text
}
