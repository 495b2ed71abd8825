//! Which partition a partition key belongs to: 4096 hash buckets, dealt out to partitions in contiguous runs.
//!
//! The map is made when the data directory is created and stored in it; every node uses the stored one.

use shoal_types::{Error, HASH_BUCKETS, Result, hash_bucket};

/// The map from partition keys to partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Router {
    partition_of_bucket: Box<[u16]>,
    partitions: u32,
}

/// More partitions than this make every table's overhead grow for nothing.
pub const PARTITIONS_MAX: u32 = 1024;

impl Router {
    /// The map of a new data directory.
    pub fn contiguous(partitions: u32) -> Router {
        let partitions = partitions.clamp(1, PARTITIONS_MAX);
        let partition_of_bucket = (0..HASH_BUCKETS).map(|bucket| (bucket * partitions / HASH_BUCKETS) as u16);
        Router { partition_of_bucket: partition_of_bucket.collect(), partitions }
    }

    /// The map as it was stored.
    pub fn from_stored(buckets: &[u32]) -> Result<Router> {
        let partitions = buckets.iter().max().map_or(0, |&last| last.saturating_add(1));
        if buckets.len() != HASH_BUCKETS as usize || partitions > PARTITIONS_MAX {
            return Err(Error::unknown("the stored map of hash buckets is damaged"));
        }
        let partition_of_bucket = buckets.iter().map(|&partition| partition as u16).collect();
        Ok(Router { partition_of_bucket, partitions })
    }

    /// For [`Router::from_stored`]: the partition of each bucket.
    pub fn stored(&self) -> Vec<u32> {
        self.partition_of_bucket.iter().map(|&partition| u32::from(partition)).collect()
    }

    /// One more than the greatest partition number.
    pub fn partition_count(&self) -> u32 {
        self.partitions
    }

    /// The partition of a memcomparable partition key.
    #[inline]
    pub fn partition_of(&self, partition_key: &[u8]) -> u32 {
        u32::from(self.partition_of_bucket[hash_bucket(partition_key) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_gets_about_as_many_buckets_and_the_map_survives_storing() {
        for partitions in [1, 3, 4, 32, 1024] {
            let router = Router::contiguous(partitions);
            let mut counts = vec![0; partitions as usize];
            for &partition in &router.partition_of_bucket {
                counts[usize::from(partition)] += 1;
            }
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{partitions}: {least}..{most}");
            assert_eq!(Router::from_stored(&router.stored()).unwrap(), router);
        }
        assert!(Router::from_stored(&[1, 2, 3]).is_err());
    }
}
