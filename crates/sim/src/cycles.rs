//! Is there an order in which the transactions on registers could have run one after the other, each within the time in which
//! its client waited? Elle's method, for registers with values that are all different.
//!
//! Every write has told its transaction which value it overwrote, so the versions of a register have a known order. From what
//! transactions wrote and read under locks follow edges: ww (it overwrote what the other wrote), wr (it read that), rw (the
//! other overwrote what it read), and rt (it began after the other's client was told). A cycle is a contradiction, named by what
//! it takes: G0 is of ww alone, G1c of ww and wr, G-single has one rw, G2 more.

use std::collections::BTreeMap;

/// What one transaction did, and when.
#[derive(Clone, Debug)]
pub struct Observed {
    pub number: usize,
    pub began_at: u64,
    /// When its client was told that it is committed; `None`: nobody knows whether it is.
    pub committed_at: Option<u64>,
    /// Register, value before, value.
    pub writes: Vec<(i32, Option<i32>, i32)>,
    /// Register and value.
    pub reads: Vec<(i32, Option<i32>)>,
}

/// A value of a register.
type Version = (i32, Option<i32>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    WriteWrite,
    WriteRead,
    ReadWrite,
    RealTime,
}

/// Edges by node: transactions first, then the moments at which clients were told.
struct Graph {
    edges: Vec<Vec<(usize, Edge)>>,
}

/// Checks the transactions that were not refused; `refused` ones are known by what they would have written.
///
/// # Errors
/// A cycle, a value that was overwritten twice, or one that was never committed and seen.
pub fn check(history: &[Observed], refused: &[Version]) -> Result<(), String> {
    let writers: BTreeMap<Version, usize> = history
        .iter()
        .enumerate()
        .flat_map(|(place, observed)| {
            observed.writes.iter().map(move |&(id, _, value)| ((id, Some(value)), place))
        })
        .collect();
    let included = included(history, &writers, refused)?;
    let mut overwritten: BTreeMap<Version, usize> = BTreeMap::new();
    for place in included.iter().copied() {
        for &(register, before, _) in &history[place].writes {
            if let Some(other) = overwritten.insert((register, before), place) {
                let numbers = (history[other].number, history[place].number);
                return Err(format!(
                    "an update is lost: transactions {numbers:?} both overwrote {before:?} in {register}"
                ));
            }
        }
    }
    let mut graph = Graph { edges: vec![Vec::new(); history.len()] };
    for place in included.iter().copied() {
        let observed = &history[place];
        for &(register, before, _) in &observed.writes {
            graph.add(writers.get(&(register, before)).copied(), Some(place), Edge::WriteWrite);
        }
        for version in &observed.reads {
            graph.add(writers.get(version).copied(), Some(place), Edge::WriteRead);
            graph.add(Some(place), overwritten.get(version).copied(), Edge::ReadWrite);
        }
    }
    graph.add_real_time(history, &included);
    match graph.cycle() {
        None => Ok(()),
        Some(cycle) => Err(describe(history, &cycle)),
    }
}

/// The transactions that took place: those that were told committed, and what they have seen, and so on.
fn included(
    history: &[Observed],
    writers: &BTreeMap<Version, usize>,
    refused: &[Version],
) -> Result<Vec<usize>, String> {
    let mut is_included = vec![false; history.len()];
    let mut left: Vec<usize> = (0..history.len()).filter(|&place| history[place].committed_at.is_some()).collect();
    while let Some(place) = left.pop() {
        if std::mem::replace(&mut is_included[place], true) {
            continue;
        }
        let observed = &history[place];
        let overwrote = observed.writes.iter().map(|&(register, before, _)| (register, before));
        for version in overwrote.chain(observed.reads.iter().copied()) {
            if refused.contains(&version) {
                return Err(format!(
                    "transaction {} saw {version:?}, which was never committed (G1a)",
                    observed.number
                ));
            }
            left.extend(writers.get(&version));
        }
    }
    Ok((0..history.len()).filter(|&place| is_included[place]).collect())
}

impl Graph {
    fn add(&mut self, from: Option<usize>, to: Option<usize>, edge: Edge) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.edges[from].push((to, edge));
        }
    }

    /// A moment for every commit that was told: behind that transaction and the moment before, ahead of what began later.
    fn add_real_time(&mut self, history: &[Observed], included: &[usize]) {
        let told = |place: &usize| history[*place].committed_at.map(|at| (at, *place));
        let mut ends: Vec<(u64, usize)> = included.iter().filter_map(told).collect();
        ends.sort_unstable();
        let first = self.edges.len();
        self.edges.resize(first + ends.len(), Vec::new());
        for (number, &(_, place)) in ends.iter().enumerate() {
            self.add(Some(place), Some(first + number), Edge::RealTime);
            if number > 0 {
                self.add(Some(first + number - 1), Some(first + number), Edge::RealTime);
            }
        }
        for &place in included {
            let before = ends.partition_point(|&(at, _)| at < history[place].began_at);
            self.add(before.checked_sub(1).map(|last| first + last), Some(place), Edge::RealTime);
        }
    }

    /// Some cycle: its nodes, each with the edge to the next.
    fn cycle(&self) -> Option<Vec<(usize, Edge)>> {
        let mut incoming = vec![0; self.edges.len()];
        self.edges.iter().flatten().for_each(|&(to, _)| incoming[to] += 1);
        let mut free: Vec<usize> = (0..incoming.len()).filter(|&node| incoming[node] == 0).collect();
        let mut is_left = vec![true; self.edges.len()];
        while let Some(node) = free.pop() {
            is_left[node] = false;
            for &(to, _) in &self.edges[node] {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    free.push(to);
                }
            }
        }
        // Every node that is left has one before it that is left: so walked backwards, some node comes again.
        let before = |node: usize| {
            let mut all = self.edges.iter().enumerate().filter(|&(from, _)| is_left[from]);
            all.find_map(|(from, edges)| edges.iter().find(|&&(to, _)| to == node).map(|&(_, edge)| (from, edge)))
        };
        let mut path: Vec<(usize, Edge)> = Vec::new();
        let mut node = is_left.iter().position(|&left| left)?;
        loop {
            if let Some(start) = path.iter().position(|&(known, _)| known == node) {
                let mut cycle = path.split_off(start);
                cycle.reverse();
                return Some(cycle);
            }
            let (from, edge) = before(node)?;
            path.push((node, edge));
            node = from;
        }
    }
}

fn describe(history: &[Observed], cycle: &[(usize, Edge)]) -> String {
    let count = |wanted: Edge| cycle.iter().filter(|&&(_, edge)| edge == wanted).count();
    let kind = match (count(Edge::ReadWrite), count(Edge::WriteRead)) {
        (0, 0) => "G0",
        (0, _) => "G1c",
        (1, _) => "G-single",
        _ => "G2",
    };
    let time = if count(Edge::RealTime) > 0 { " in real time" } else { "" };
    let mut text = format!("a cycle of transactions, {kind}{time}:");
    for &(node, edge) in cycle {
        let short = match edge {
            Edge::WriteWrite => "ww",
            Edge::WriteRead => "wr",
            Edge::ReadWrite => "rw",
            Edge::RealTime => "rt",
        };
        match history.get(node) {
            Some(observed) => text += &format!(" {short}-> {}", observed.number),
            None => text += &format!(" {short}->"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(
        number: usize,
        (began_at, committed_at): (u64, Option<u64>),
        writes: &[(i32, Option<i32>, i32)],
        reads: &[Version],
    ) -> Observed {
        Observed { number, began_at, committed_at, writes: writes.to_vec(), reads: reads.to_vec() }
    }

    #[test]
    fn transactions_that_follow_each_other_are_no_cycle() {
        let history = [
            observed(0, (1, Some(4)), &[(1, None, 10)], &[]),
            observed(1, (2, None), &[(1, Some(10), 11)], &[(2, None)]),
            observed(2, (5, Some(6)), &[(2, None, 20)], &[(1, Some(11))]),
            observed(3, (7, None), &[(2, None, 21)], &[]),
        ];
        assert_eq!(check(&history, &[]), Ok(()));
    }

    #[test]
    fn write_skew_is_a_g2_cycle() {
        let history = [
            observed(0, (1, Some(9)), &[(1, None, 10)], &[(2, None)]),
            observed(1, (2, Some(8)), &[(2, None, 20)], &[(1, None)]),
        ];
        let error = check(&history, &[]).unwrap_err();
        assert!(error.contains("G2:"), "{error}");
    }

    #[test]
    fn writes_in_different_orders_are_a_g0_cycle() {
        let history = [
            observed(0, (1, Some(9)), &[(1, None, 10), (2, Some(21), 20)], &[]),
            observed(1, (2, Some(8)), &[(1, Some(10), 11), (2, None, 21)], &[]),
        ];
        let error = check(&history, &[]).unwrap_err();
        assert!(error.contains("G0:"), "{error}");
    }

    #[test]
    fn what_was_told_before_a_read_began_must_be_read() {
        let history =
            [observed(0, (1, Some(2)), &[(1, None, 10)], &[]), observed(1, (3, Some(4)), &[], &[(1, None)])];
        let error = check(&history, &[]).unwrap_err();
        assert!(error.contains("G-single in real time"), "{error}");
    }

    #[test]
    fn lost_updates_and_reads_of_what_was_refused_are_seen() {
        let history =
            [observed(0, (1, Some(9)), &[(1, None, 10)], &[]), observed(1, (2, Some(8)), &[(1, None, 11)], &[])];
        assert!(check(&history, &[]).unwrap_err().contains("lost"));
        let history = [observed(0, (1, Some(9)), &[], &[(1, Some(5))])];
        assert!(check(&history, &[(1, Some(5))]).unwrap_err().contains("G1a"));
    }
}
