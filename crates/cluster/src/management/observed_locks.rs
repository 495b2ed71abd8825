//! Transactions and locks of the partitions that this node leads, as operators are shown them.
//!
//! Partitions are looked at one after the other and each hold copies a bounded number of locks, so what is shown was never all true
//! at one moment: a lock may be listed whose transaction has ended meanwhile.

use std::collections::BTreeMap;

use shoal_partition::{ObservedLock, ObservedTransaction, ObservedWaits};
use shoal_types::TransactionId;

use crate::management::Management;

/// Locks that are copied under one hold of a partition: some hundred microseconds.
const LOCKS_PER_HOLD: usize = 128;
/// Locks of one transaction that are listed, over all partitions.
pub const LOCKS_OF_TRANSACTION_MAX: usize = 1000;
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
        let mut listed: BTreeMap<TransactionId, usize> = BTreeMap::new();
        for partition in 0..self.partition_count() {
            let transactions =
                self.leader(partition).map(|guard| guard.observed_transactions()).unwrap_or_default();
            for transaction in transactions {
                let listed = listed.entry(transaction.id).or_default();
                let mut from = 0;
                while *listed < LOCKS_OF_TRANSACTION_MAX && found.len() < LOCKS_LISTED_MAX {
                    let count = (LOCKS_OF_TRANSACTION_MAX - *listed).min(LOCKS_PER_HOLD);
                    let Ok(guard) = self.leader(partition) else { break };
                    let locks = guard.observed_locks(transaction.id, from, count);
                    drop(guard);
                    let got = locks.len();
                    found.extend(locks.into_iter().map(|lock| (partition, lock)));
                    *listed += got;
                    from += got;
                    if got < count {
                        break;
                    }
                }
            }
        }
        found
    }
}
