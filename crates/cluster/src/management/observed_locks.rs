//! Transactions and locks of the partitions that this node leads, as operators are shown them.
//!
//! Partitions are looked at one after the other and each hold copies a bounded number of locks, so what is shown was never all true
//! at one moment: a lock may be listed whose transaction has ended meanwhile.

use std::collections::BTreeMap;

use shoal_partition::{ObservedLock, ObservedTransaction, ObservedWaits};
use shoal_types::TransactionId;

use crate::management::Management;

/// Candidates for locks that are looked at under one hold of a partition: some hundred microseconds.
const CANDIDATES_PER_HOLD: usize = 128;
/// Locks of one transaction that are listed, over all partitions.
pub const LOCKS_OF_TRANSACTION_MAX: usize = 1000;
/// What is looked at for those: where a transaction has locked rows of several tables, only some of the candidates are locks.
const CANDIDATES_OF_TRANSACTION_MAX: usize = 8 * LOCKS_OF_TRANSACTION_MAX;
/// Locks that are listed at all.
pub const LOCKS_LISTED_MAX: usize = 20_000;

impl Management {
    /// Transactions that have something in partitions led here, whatever node their sessions are at; the sums over partitions.
    pub fn observed_transactions(&self) -> Vec<ObservedTransaction> {
        let mut sums: BTreeMap<TransactionId, ObservedTransaction> = BTreeMap::new();
        for partition in 0..self.partition_count() {
            let found = self.leader(partition).map(|guard| guard.observed_transactions()).unwrap_or_default();
            for one in found {
                let sum = sums.entry(one.id).or_insert(ObservedTransaction::nothing_of(one.id));
                *sum = sum.plus(one);
            }
        }
        sums.into_values().collect()
    }

    /// Locks that are waited for in partitions led here, by partition.
    pub fn observed_lock_waits(&self) -> Vec<(u32, ObservedWaits)> {
        let look = |partition: u32| Some((partition, self.leader(partition).ok()?.observed_waits()));
        let waits = (0..self.partition_count()).filter_map(look);
        waits.filter(|(_, waits)| !waits.locks.is_empty()).collect()
    }

    /// Locks that are held in partitions led here, with the partition of each: of a transaction with many not all.
    pub fn observed_locks(&self) -> Vec<(u32, ObservedLock)> {
        let mut found: Vec<(u32, ObservedLock)> = Vec::new();
        // Locks and candidates.
        let mut seen: BTreeMap<TransactionId, (usize, usize)> = BTreeMap::new();
        for partition in 0..self.partition_count() {
            let transactions =
                self.leader(partition).map(|guard| guard.observed_transactions()).unwrap_or_default();
            for transaction in transactions {
                let (listed, looked_at) = seen.entry(transaction.id).or_default();
                let mut next = Some(0);
                while let Some(from) = next
                    && *listed < LOCKS_OF_TRANSACTION_MAX
                    && *looked_at < CANDIDATES_OF_TRANSACTION_MAX
                    && found.len() < LOCKS_LISTED_MAX
                {
                    let count = (LOCKS_OF_TRANSACTION_MAX - *listed).min(CANDIDATES_PER_HOLD);
                    let Ok(guard) = self.leader(partition) else { break };
                    let stretch = guard.observed_locks(transaction.id, from, count);
                    drop(guard);
                    *listed += stretch.locks.len();
                    *looked_at += count;
                    next = stretch.next;
                    found.extend(stretch.locks.into_iter().map(|lock| (partition, lock)));
                }
            }
        }
        found
    }
}
