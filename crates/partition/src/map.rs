//! Maps that are the same wherever the same is put into them.

use hashbrown::HashMap;

/// Maps inside a partition hash without a random seed: the same inputs give the same outputs.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;
