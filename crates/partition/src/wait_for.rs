//! The wait-for graph: cycles in the (waiter, blocker) pairs of partitions, and who gives way in each.
//!
//! Pairs of one partition, taken at one moment, are true ([`Partition::wait_edges`](crate::Partition::wait_edges)). Those of several partitions are true together if all
//! are held at once, or if two rounds of questions, one after the other, have found them: then they all held between the two.

use shoal_planted::{Bug, is_planted};
use shoal_types::TransactionId;

type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;
type HashSet<K> = hashbrown::HashSet<K, foldhash::fast::FixedState>;

/// A transaction waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitEdge {
    /// Who waits.
    pub waiter: TransactionId,
    /// Whom it waits for.
    pub blocker: TransactionId,
    /// The blocker has what the waiter wants. Otherwise it waits for the same, and comes first.
    pub is_held: bool,
}

/// Follows the edges from a transaction: do they lead back to it?
pub fn waits_for_itself(
    transaction: TransactionId,
    append_blockers: impl Fn(TransactionId, &mut Vec<TransactionId>),
) -> bool {
    let (mut seen, mut ahead) = (HashSet::default(), Vec::new());
    append_blockers(transaction, &mut ahead);
    while let Some(next) = ahead.pop() {
        if next == transaction {
            return true;
        }
        if seen.insert(next) {
            append_blockers(next, &mut ahead);
        }
    }
    false
}

/// A shortest cycle of waits through a transaction, from itself to the last one, which waits for it. Empty: there is none.
pub fn cycle_through(edges: &[WaitEdge], transaction: TransactionId) -> Vec<TransactionId> {
    let blockers = by_waiter(edges);
    let mut came_from: HashMap<TransactionId, TransactionId> = HashMap::default();
    let mut next = std::collections::VecDeque::from([transaction]);
    while let Some(waiter) = next.pop_front() {
        for &(blocker, _) in blockers.get(&waiter).into_iter().flatten() {
            if blocker == transaction {
                let mut cycle = vec![waiter];
                while let Some(&before) = cycle.last().and_then(|last| came_from.get(last)) {
                    cycle.push(before);
                }
                cycle.reverse();
                return cycle;
            }
            if !came_from.contains_key(&blocker) {
                came_from.insert(blocker, waiter);
                next.push_back(blocker);
            }
        }
    }
    Vec::new()
}

/// The transaction waits for itself, by these edges.
pub fn is_deadlocked(edges: &[WaitEdge], transaction: TransactionId) -> bool {
    let blockers = by_waiter(edges);
    let blockers_of = |waiter| blockers.get(&waiter).into_iter().flatten().map(|&(blocker, _)| blocker);
    waits_for_itself(transaction, |waiter, ahead| ahead.extend(blockers_of(waiter)))
}

/// The victims of cycles whose edges two rounds of questions have both found, the second begun when the first was answered.
pub fn victims_of_both(first: &[WaitEdge], second: &[WaitEdge]) -> Vec<TransactionId> {
    let again: HashSet<WaitEdge> = second.iter().copied().collect();
    let both: Vec<WaitEdge> = first.iter().copied().filter(|edge| again.contains(edge)).collect();
    victims(&both)
}

/// For every waiter those that it waits for, and whether they have what it wants.
fn by_waiter(edges: &[WaitEdge]) -> HashMap<TransactionId, Vec<(TransactionId, bool)>> {
    let mut blockers: HashMap<TransactionId, Vec<(TransactionId, bool)>> = HashMap::default();
    for edge in edges {
        blockers.entry(edge.waiter).or_default().push((edge.blocker, edge.is_held));
    }
    // Whoever looks comes to the same victims, in whatever order the partitions have answered: of two nodes each would leave it to the
    // other for ever.
    blockers.values_mut().for_each(|blockers| blockers.sort_unstable());
    blockers
}

/// Somebody to give way in every cycle: the youngest of those that have what another one wants. Who only stands in a queue of the cycle (a
/// statement that changes one row by itself, say) would give way for nothing: without it the others wait for each other still. In linear
/// time, but for the sorting.
pub fn victims(edges: &[WaitEdge]) -> Vec<TransactionId> {
    let blockers = by_waiter(edges);
    let mut victims: HashSet<TransactionId> = HashSet::default();
    // Depth first, oldest first; a blocker that lies on the path closes a cycle.
    let mut roots: Vec<TransactionId> = blockers.keys().copied().collect();
    roots.sort_unstable_by_key(|&id| (age(id), id));
    let mut done: HashSet<TransactionId> = HashSet::default();
    for root in roots {
        if done.contains(&root) {
            continue;
        }
        // With the number of the next blocker, and whether it has what the one before it wants.
        let mut path: Vec<(TransactionId, usize, bool)> = vec![(root, 0, false)];
        let mut on_path: HashMap<TransactionId, usize> = HashMap::from_iter([(root, 0)]);
        while let Some(&mut (id, ref mut next, _)) = path.last_mut() {
            let blocker = match victims.contains(&id) {
                true => None,
                false => blockers.get(&id).and_then(|blockers| blockers.get(*next)).copied(),
            };
            *next += 1;
            match blocker {
                None => {
                    done.insert(id);
                    on_path.remove(&id);
                    path.pop();
                }
                Some((blocker, _)) if victims.contains(&blocker) || done.contains(&blocker) => {}
                Some((blocker, is_held)) => match on_path.get(&blocker) {
                    Some(&start) => {
                        path[start].2 = is_held;
                        let cycle = path[start..].iter().map(|&(id, ..)| id);
                        let holders = path[start..].iter().filter(|(.., is_held)| *is_held).map(|&(id, ..)| id);
                        let is_overlooked = cycle.len() > 2 && is_planted(Bug::DeadlocksOfTwoOnly);
                        if !is_overlooked && !cycle.clone().any(|id| victims.contains(&id)) {
                            let youngest = holders.max_by_key(|&id| (age(id), id));
                            victims.extend(youngest.or_else(|| cycle.max_by_key(|&id| (age(id), id))));
                        }
                    }
                    None => {
                        on_path.insert(blocker, path.len());
                        path.push((blocker, 0, is_held));
                    }
                },
            }
        }
    }
    let mut victims: Vec<TransactionId> = victims.into_iter().collect();
    victims.sort_unstable();
    victims
}

/// Bits of a transaction's id that tell when it began; those above name a node.
const AGE_BITS: u32 = 52;

/// The later of two transactions has the greater one, whatever their nodes are.
fn age(id: TransactionId) -> u64 {
    id.0 & ((1 << AGE_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transactions_age_is_when_it_began_whatever_its_node() {
        let (early, late) = (TransactionId(200 << AGE_BITS | 70), TransactionId(1 << AGE_BITS | 71));
        assert_eq!((age(early), age(late)), (70, 71));
    }

    fn id(number: u64) -> TransactionId {
        TransactionId(number)
    }

    fn ids(numbers: &[u64]) -> Vec<TransactionId> {
        numbers.iter().copied().map(TransactionId).collect()
    }

    #[test]
    fn a_cycle_begins_with_whom_it_was_asked_for_and_takes_no_detour() {
        let pairs = [(1, 2), (2, 3), (3, 4), (4, 1), (2, 4), (5, 1)];
        let edges =
            pairs.map(|(waiter, blocker)| WaitEdge { waiter: id(waiter), blocker: id(blocker), is_held: true });
        assert_eq!(cycle_through(&edges, id(1)), ids(&[1, 2, 4]));
        assert_eq!(cycle_through(&edges, id(4)), ids(&[4, 1, 2]));
        assert!(cycle_through(&edges, id(5)).is_empty());
    }

    fn edges(pairs: &[(u64, u64)]) -> Vec<WaitEdge> {
        let edge = |&(waiter, blocker)| WaitEdge { waiter: id(waiter), blocker: id(blocker), is_held: true };
        pairs.iter().map(edge).collect()
    }

    /// Two nodes once came to two victims, each of which waited at the other: nobody ended either wait.
    #[test]
    fn whoever_looks_comes_to_the_same_victims() {
        // All wait for the three rows that 1, 2 and 3 have, and for each other in their queues.
        let mut all = edges(&[(1, 2), (2, 3), (3, 1), (4, 1), (5, 2), (6, 3), (1, 5), (2, 6), (3, 4)]);
        all[6..].iter_mut().for_each(|edge| edge.is_held = false);
        let expected = victims(&all);
        assert!(!expected.is_empty());
        for _ in 0..all.len() {
            all.rotate_left(1);
            assert_eq!(victims(&all), expected);
            let reversed: Vec<WaitEdge> = all.iter().rev().copied().collect();
            assert_eq!(victims(&reversed), expected);
        }
    }

    #[test]
    fn every_cycle_has_one_victim_its_youngest() {
        assert!(victims(&edges(&[(1, 2), (2, 3), (4, 3), (5, 4)])).is_empty());
        assert_eq!(victims(&edges(&[(1, 2), (2, 3), (3, 1)])), ids(&[3]));
        assert_eq!(victims(&edges(&[(1, 2), (2, 1), (3, 4), (4, 3), (9, 1)])), ids(&[2, 4]));
        // Both cycles lead through 2; without it there is neither.
        assert_eq!(victims(&edges(&[(1, 2), (2, 1), (2, 3), (3, 1)])), ids(&[2]));
        assert_eq!(victims(&edges(&[(7, 7)])), ids(&[7]));
    }

    #[test]
    fn a_long_queue_takes_linear_time() {
        let edge = |number| WaitEdge { waiter: id(number + 1), blocker: id(number), is_held: true };
        let chain: Vec<WaitEdge> = (1..200_000).map(edge).collect();
        assert!(victims(&chain).is_empty());
        let mut circle = chain;
        circle.push(WaitEdge { waiter: id(1), blocker: id(200_000), is_held: true });
        assert_eq!(victims(&circle), ids(&[200_000]));
    }

    /// Statements of one row, which hold nothing while they wait, were told of deadlocks that they stood in a queue of.
    #[test]
    fn who_has_nothing_that_others_want_never_gives_way() {
        // 1 and 2 each hold a row and want the other's; 9 stands between them in a queue.
        let mut edges = edges(&[(1, 2), (9, 1), (2, 9)]);
        edges[2].is_held = false;
        for _ in 0..edges.len() {
            assert_eq!(victims(&edges), ids(&[2]));
            edges.rotate_left(1);
        }
        edges.iter_mut().for_each(|edge| edge.is_held = false);
        assert_eq!(victims(&edges), ids(&[9]));
    }

    #[test]
    fn edges_that_did_not_hold_at_once_are_no_cycle() {
        let first = edges(&[(1, 2), (2, 1), (3, 4), (4, 3)]);
        assert_eq!(victims_of_both(&first, &edges(&[(4, 3), (1, 2), (3, 4)])), ids(&[4]));
    }
}
