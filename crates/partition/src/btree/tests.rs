use std::collections::BTreeSet;
use std::ops::Bound;

use proptest::prelude::*;

use super::*;

type Model = BTreeSet<(Vec<u8>, u32)>;

fn key_of(place: Place, tree: &Tree) -> (Vec<u8>, u32) {
    let mut key = Vec::new();
    tree.append_key(place, &mut key);
    (key, tree.row(place))
}

fn forward(tree: &Tree) -> Vec<(Vec<u8>, u32)> {
    std::iter::successors(tree.first(), |&place| tree.next(place)).map(|place| key_of(place, tree)).collect()
}

fn backward(tree: &Tree) -> Vec<(Vec<u8>, u32)> {
    std::iter::successors(tree.last(), |&place| tree.previous(place)).map(|place| key_of(place, tree)).collect()
}

/// Every node's pairs are sorted and bounded by the separators above, and every leaf is at the same depth.
fn check_structure(tree: &Tree) {
    fn walk(tree: &Tree, node: u32, level: usize, leaves: &mut Vec<u32>) -> usize {
        let this = &tree.nodes[node];
        if level == tree.height {
            assert!(this.children.is_empty());
            leaves.push(node);
            return this.count();
        }
        assert_eq!(this.children.len(), this.count() + 1);
        this.children.iter().map(|&child| walk(tree, child, level + 1, leaves)).sum()
    }
    let mut leaves = Vec::new();
    assert_eq!(walk(tree, tree.root, 0, &mut leaves), tree.len());
    for pair in leaves.windows(2) {
        assert_eq!(tree.nodes[pair[0]].next, pair[1]);
        assert_eq!(tree.nodes[pair[1]].previous, pair[0]);
    }
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0u32..400).prop_map(|number| number.to_be_bytes().to_vec()),
        // Few distinct bytes and all lengths around the inline limit: paddings, prefixes, equal inline parts.
        prop::collection::vec(0u8..3, 0..14),
        (0u8..4, 100usize..300).prop_map(|(byte, length)| vec![byte; length]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn behaves_like_a_sorted_set(
        operations in prop::collection::vec((0u8..10, keys(), 0u32..4), 1..1500),
        remove_bias in 1u8..9,
    ) {
        let mut tree = Tree::default();
        let mut model = Model::new();
        for (choice, key, row) in operations {
            if choice >= remove_bias {
                prop_assert_eq!(tree.remove(&key, row), model.remove(&(key, row)));
            } else {
                prop_assert_eq!(tree.insert(&key, row), model.insert((key, row)));
            }
        }
        check_structure(&tree);
        let expected: Vec<_> = model.iter().cloned().collect();
        prop_assert_eq!(forward(&tree), expected.clone());
        prop_assert_eq!(backward(&tree), expected.into_iter().rev().collect::<Vec<_>>());
        while let Some((key, row)) = model.pop_first() {
            prop_assert!(tree.remove(&key, row));
        }
        check_structure(&tree);
        prop_assert_eq!(tree.first(), None);
        prop_assert_eq!(tree.last(), None);
    }

    #[test]
    fn ranges_begin_and_end_where_a_sorted_set_says(
        content in prop::collection::btree_set((keys(), 0u32..3), 0..500),
        low in keys(), high in keys(), low_kind in 0u8..3, high_kind in 0u8..3,
    ) {
        let mut tree = Tree::default();
        for (key, row) in &content {
            tree.insert(key, *row);
        }
        let bound = |kind, key: &Vec<u8>| match kind {
            0 => Bound::Included(key.clone()),
            1 => Bound::Excluded(key.clone()),
            _ => Bound::Unbounded,
        };
        let range = KeyBounds { start: bound(low_kind, &low), end: bound(high_kind, &high) };
        let after_start = |key: &Vec<u8>| match &range.start {
            Bound::Included(start) => key >= start,
            Bound::Excluded(start) => key > start,
            Bound::Unbounded => true,
        };
        let before_end = |key: &Vec<u8>| match &range.end {
            Bound::Included(end) => key <= end,
            Bound::Excluded(end) => key < end,
            Bound::Unbounded => true,
        };
        let first = content.iter().find(|(key, _)| after_start(key));
        let last = content.iter().rev().find(|(key, _)| before_end(key));
        prop_assert_eq!(tree.range_start(&range).map(|place| key_of(place, &tree)), first.cloned());
        prop_assert_eq!(tree.range_last(&range).map(|place| key_of(place, &tree)), last.cloned());
        let inside = content.iter().filter(|(key, _)| after_start(key) && before_end(key)).count() as u64;
        let estimate = tree.estimate(&range);
        if content.len() < 100 {
            prop_assert_eq!(estimate, inside);
        }
        prop_assert!(estimate <= content.len() as u64);
    }
}

#[test]
fn ascending_keys_fill_the_leaves() {
    let mut tree = Tree::default();
    for key in 0..100_000u32 {
        assert!(tree.insert(&key.to_be_bytes(), key));
    }
    check_structure(&tree);
    let bytes_per_pair = tree.memory_bytes() as f64 / 100_000.0;
    assert!(bytes_per_pair < 18.5, "{bytes_per_pair} bytes a pair");
}

#[test]
fn random_keys_stay_within_their_memory() {
    let mut tree = Tree::default();
    for number in 0..100_000u32 {
        assert!(tree.insert(&number.wrapping_mul(2_654_435_761).to_be_bytes(), number));
    }
    check_structure(&tree);
    let bytes_per_pair = tree.memory_bytes() as f64 / 100_000.0;
    assert!(bytes_per_pair < 27.0, "{bytes_per_pair} bytes a pair");
}

#[test]
fn an_estimate_over_many_leaves_is_near() {
    let mut tree = Tree::default();
    for number in 0..200_000u32 {
        tree.insert(&number.wrapping_mul(2_654_435_761).to_be_bytes(), number);
    }
    let quarter = KeyBounds {
        start: Bound::Included(0x4000_0000u32.to_be_bytes().to_vec()),
        end: Bound::Excluded(0x8000_0000u32.to_be_bytes().to_vec()),
    };
    let estimate = tree.estimate(&quarter);
    assert!((40_000..60_000).contains(&estimate), "{estimate}");
}

#[test]
fn deleting_nine_tenths_gives_most_nodes_back() {
    let mut tree = Tree::default();
    for key in 0..50_000u32 {
        tree.insert(&key.to_be_bytes(), key);
    }
    let full = tree.nodes.len();
    for key in (0..50_000u32).filter(|key| key % 10 != 0) {
        assert!(tree.remove(&key.to_be_bytes(), key));
    }
    check_structure(&tree);
    assert!(tree.nodes.len() * 4 < full, "{} of {full} nodes left", tree.nodes.len());
}

#[test]
fn a_tree_that_has_lost_most_of_its_pairs_gives_its_memory_back_step_by_step() {
    let mut tree = Tree::default();
    for key in 0..400_000u32 {
        tree.insert(&key.to_be_bytes(), key);
    }
    let full = tree.memory_bytes();
    let kept = |key: &u32| key.is_multiple_of(10);
    for key in (0..400_000u32).filter(|key| !kept(key)) {
        assert!(tree.remove(&key.to_be_bytes(), key));
    }
    while tree.compact(100) {
        check_structure(&tree);
    }
    check_structure(&tree);
    let mut place = tree.first();
    for key in (0..400_000u32).filter(kept) {
        let here = place.unwrap();
        assert_eq!(tree.row(here), key);
        place = tree.next(here);
    }
    assert!(place.is_none() && tree.memory_bytes() * 2 < full, "{} of {full}", tree.memory_bytes());
    for key in 0..400_000u32 {
        assert_eq!(tree.insert(&key.to_be_bytes(), key), !kept(&key));
    }
    check_structure(&tree);
}
