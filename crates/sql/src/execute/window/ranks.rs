//! Functions of a row's place in its partition: ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE.

use std::ops::Range;

use shoal_expr::{EvalContext, WindowFunction, WindowKind, wrong_arguments};
use shoal_types::{Result, Value};

use super::frame::constant_number;
use super::rows::WindowRows;
use super::spans::{Spans, Turns};
use crate::plan::windows::WindowCall;
use crate::session::Interrupt;

/// Computes one of them for all rows.
///
/// # Errors
/// 1210, NTILE of no positive number; 1317.
pub async fn ranks(
    call: &WindowCall,
    rows: &mut WindowRows,
    (partitions, peers): (&Spans, &Spans),
    eval: &mut EvalContext<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    let WindowFunction { kind, arguments, name, .. } = &call.function;
    let buckets = match kind {
        WindowKind::Ntile => {
            let number = constant_number(arguments.first(), eval)?.filter(|&number| number > 0);
            number.ok_or_else(|| wrong_arguments(name))?
        }
        _ => 1,
    };
    let mut peers = peers.cursor();
    let mut turns = Turns::default();
    for partition in partitions.iter() {
        let mut groups = 0;
        for row in partition.clone() {
            if turns.is_due() {
                interrupt.check_between_batches().await?;
            }
            let before = row - partition.start;
            let value = match kind {
                WindowKind::RowNumber => Value::UInt(before as u64 + 1),
                WindowKind::Ntile => Value::UInt(bucket(before as u64, partition.len() as u64, buckets)),
                _ => {
                    let peers = peers.of_row(row);
                    groups += u64::from(peers.start == row);
                    by_peers(kind, &partition, &peers, groups)
                }
            };
            rows.set(row, call.position, value);
        }
    }
    Ok(())
}

fn by_peers(kind: &WindowKind, partition: &Range<usize>, peers: &Range<usize>, groups: u64) -> Value {
    let before = peers.start - partition.start;
    match kind {
        WindowKind::DenseRank => Value::UInt(groups),
        WindowKind::PercentRank if partition.len() == 1 => Value::Double(0.0),
        WindowKind::PercentRank => Value::Double(before as f64 / (partition.len() - 1) as f64),
        WindowKind::CumeDist => Value::Double((peers.end - partition.start) as f64 / partition.len() as f64),
        _ => Value::UInt(before as u64 + 1),
    }
}

/// The bucket of a row: the first ones have one row more, if they cannot be of one size.
fn bucket(row: u64, rows: u64, buckets: u64) -> u64 {
    let (size, larger) = (rows / buckets, rows % buckets);
    let in_larger = larger * (size + 1);
    match row < in_larger {
        true => row / (size + 1) + 1,
        false => larger + (row - in_larger) / size + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn buckets_differ_by_one_row_at_most_and_the_larger_ones_come_first() {
        for rows in 1..40u64 {
            for buckets in 1..50u64 {
                let mut sizes = vec![0; buckets as usize];
                let numbers: Vec<u64> = (0..rows).map(|row| bucket(row, rows, buckets)).collect();
                assert!(numbers.is_sorted() && numbers[0] == 1, "{rows} {buckets}: {numbers:?}");
                numbers.iter().for_each(|number| sizes[*number as usize - 1] += 1);
                assert!(sizes.is_sorted_by(|left, right| left >= right), "{rows} {buckets}: {sizes:?}");
                assert!(sizes[0] - sizes[sizes.len() - 1] <= 1, "{rows} {buckets}: {sizes:?}");
            }
        }
    }
}
