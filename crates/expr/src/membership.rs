//! IN lists of constants as sets: one look-up instead of one comparison a member.

use std::collections::HashSet;

use shoal_types::{Collation, Value};

use crate::convert::plain_integer;
use crate::operator::Comparator;

/// Lists shorter than this are compared one by one.
const SMALLEST_SET: usize = 5;

#[derive(Debug)]
pub enum ConstantSet {
    /// Ascending.
    Integers { members: Vec<i128>, has_null: bool },
    /// Sort keys of the collation.
    Texts { collation: Collation, members: HashSet<Vec<u8>>, has_null: bool },
}

/// Whether a value is in a list with possible NULLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    Yes,
    No,
    Unknown,
}

impl ConstantSet {
    /// `None` when the list is short or its members are not all of one class.
    pub fn new<'a>(
        comparator: Comparator,
        members: impl ExactSizeIterator<Item = &'a Value>,
    ) -> Option<ConstantSet> {
        if members.len() < SMALLEST_SET {
            return None;
        }
        let mut has_null = false;
        match comparator {
            Comparator::Integer => {
                let mut integers = Vec::with_capacity(members.len());
                for member in members {
                    match plain_integer(member) {
                        Some(number) => integers.push(number),
                        None if member.is_null() => has_null = true,
                        None => return None,
                    }
                }
                integers.sort_unstable();
                integers.dedup();
                Some(ConstantSet::Integers { members: integers, has_null })
            }
            Comparator::Text(collation) => {
                let mut keys = HashSet::with_capacity(members.len());
                for member in members {
                    match member {
                        Value::Null => has_null = true,
                        Value::Str(text) => {
                            let mut key = Vec::new();
                            collation.append_sort_key(text, None, &mut key);
                            keys.insert(key);
                        }
                        _ => return None,
                    }
                }
                Some(ConstantSet::Texts { collation, members: keys, has_null })
            }
            _ => None,
        }
    }

    fn answer(found: bool, has_null: bool) -> Membership {
        match (found, has_null) {
            (true, _) => Membership::Yes,
            (false, true) => Membership::Unknown,
            (false, false) => Membership::No,
        }
    }

    /// `None` when the set holds no integers.
    pub fn find_integer(&self, number: i128) -> Option<Membership> {
        match self {
            ConstantSet::Integers { members, has_null } => {
                Some(ConstantSet::answer(members.binary_search(&number).is_ok(), *has_null))
            }
            ConstantSet::Texts { .. } => None,
        }
    }

    /// `None` when the set holds no texts. `scratch` takes the sort key.
    pub fn find_text(&self, text: &[u8], scratch: &mut Vec<u8>) -> Option<Membership> {
        match self {
            ConstantSet::Texts { collation, members, has_null } => {
                scratch.clear();
                collation.append_sort_key(text, None, scratch);
                Some(ConstantSet::answer(members.contains(scratch.as_slice()), *has_null))
            }
            ConstantSet::Integers { .. } => None,
        }
    }
}
