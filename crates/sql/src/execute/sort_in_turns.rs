//! Sorting that makes way for others: a merge sort whose runs and merges are short pieces of work.

use std::cmp::Ordering;

use shoal_types::Result;

use crate::session::Interrupt;

/// Items that are sorted or merged between two looks at the interrupt: about a millisecond's work.
const ITEMS_PER_PIECE: usize = 4096;

/// Sorts; items that compare equal stay in the order in which they lie.
///
/// # Errors
/// The statement was killed, or is out of time; the items are gone then.
pub async fn sort_in_turns<T: Copy>(
    items: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    interrupt: &Interrupt,
) -> Result<()> {
    if items.len() <= ITEMS_PER_PIECE {
        items.sort_by(compare);
        return Ok(());
    }
    let mut sorted = std::mem::take(items);
    for run in sorted.chunks_mut(ITEMS_PER_PIECE) {
        run.sort_by(&compare);
        interrupt.check_between_batches().await?;
    }
    let mut merged = Vec::with_capacity(sorted.len());
    let mut run_length = ITEMS_PER_PIECE;
    while run_length < sorted.len() {
        merged.clear();
        for pair in sorted.chunks(run_length.saturating_mul(2)) {
            let (left, right) = pair.split_at(run_length.min(pair.len()));
            merge(left, right, &mut merged, &compare, interrupt).await?;
        }
        std::mem::swap(&mut sorted, &mut merged);
        run_length = run_length.saturating_mul(2);
    }
    *items = sorted;
    Ok(())
}

/// Appends two sorted runs as one; of equal items the left ones come first.
async fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    out: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    interrupt: &Interrupt,
) -> Result<()> {
    while !left.is_empty() && !right.is_empty() {
        let piece_end = out.len() + ITEMS_PER_PIECE;
        while out.len() < piece_end
            && let (Some(first), Some(second)) = (left.first(), right.first())
        {
            if compare(second, first).is_lt() {
                out.push(*second);
                right = &right[1..];
            } else {
                out.push(*first);
                left = &left[1..];
            }
        }
        interrupt.check_between_batches().await?;
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn items_are_sorted_and_equal_ones_stay_in_order_whatever_their_number() {
        let interrupt = Interrupt::default();
        for count in [0, 1, 2, ITEMS_PER_PIECE, ITEMS_PER_PIECE + 1, 5 * ITEMS_PER_PIECE + 17] {
            let mut items: Vec<(u64, usize)> = (0..count)
                .map(|number| ((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1000, number))
                .collect();
            let mut expected = items.clone();
            expected.sort();
            block_on(sort_in_turns(&mut items, |left, right| left.0.cmp(&right.0), &interrupt)).unwrap();
            assert_eq!(items, expected, "{count} items");
        }
    }

    #[test]
    fn a_killed_sort_ends_with_an_error() {
        let interrupt = Interrupt::default();
        interrupt.kill_query();
        let mut items: Vec<usize> = (0..2 * ITEMS_PER_PIECE).rev().collect();
        assert!(block_on(sort_in_turns(&mut items, Ord::cmp, &interrupt)).is_err());
    }
}
