//! Could what transactions have read and written have happened at the isolation levels that they asked for? Elle's method, for registers
//! with values that are all different, and for lists that are only appended to.
//!
//! Every write has told its transaction which value it overwrote, or which element was the last, so the versions of an object have a known
//! order: a list's version is its last element, and all elements of a list that was read must be those of its version. From what
//! transactions wrote and read follow edges: ww (it overwrote what the other wrote), wr (it read that), rw (the other overwrote
//! what it read), and rt (it began after the other's client was told). A cycle is a contradiction, named by what it takes: G0 is of
//! ww alone, G1c of ww and wr, G-single has one rw, G2 more.
//!
//! Transactions ask for different levels, so the graph is Adya's for a mixture of them: ww always counts, wr for every reader, rw for readers that are
//! serializable. Snapshots are readers of their own: what a snapshot does not show must not come, by ww, wr and the order within a
//! process, before something that it does show, or that was told before it began. (Between clients of different nodes real time is promised
//! to serializable readers only.)
//!
//! Reads of what was never committed (G1a) and of what its transaction overwrote itself (G1b) are contradictions at every level.

use std::collections::{BTreeMap, BTreeSet};

use shoal_types::NodeId;

/// What a read was to be protected from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What is read is committed (READ COMMITTED).
    Committed,
    /// What is read together was there together (a snapshot).
    Snapshot,
    /// What is read stays so until its transaction ends (locks).
    Serializable,
}

#[derive(Clone, Debug)]
pub struct Read {
    pub object: i32,
    /// The value, or a list's last element.
    pub version: Option<i32>,
    /// Of a list.
    elements: Option<Vec<i32>>,
    pub level: Level,
}

impl Read {
    /// Of a register, under locks.
    pub fn value(object: i32, version: Option<i32>) -> Read {
        Read { object, version, elements: None, level: Level::Serializable }
    }

    pub fn list(object: i32, elements: Vec<i32>, level: Level) -> Read {
        Read { object, version: elements.last().copied(), elements: Some(elements), level }
    }

    pub fn is_list(&self) -> bool {
        self.elements.is_some()
    }

    fn shown(&self) -> Version {
        (self.object, self.version)
    }
}

/// What one transaction did, and when.
#[derive(Clone, Debug)]
pub struct Observed {
    pub number: usize,
    pub began_at: u64,
    /// When its client was told that it is committed; `None`: nobody knows whether it is.
    pub committed_at: Option<u64>,
    /// The process in which its session was, if order within that counts.
    pub process: Option<(NodeId, u64)>,
    /// Object, version before, version.
    pub writes: Vec<(i32, Option<i32>, i32)>,
    pub reads: Vec<Read>,
}

/// A version of an object.
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

/// Who wrote which version, and who overwrote it.
struct Versions {
    writers: BTreeMap<Version, usize>,
    overwritten: BTreeMap<Version, usize>,
    before: BTreeMap<Version, Option<i32>>,
}

/// Checks the transactions that were not refused; `refused` ones are known by what they would have written.
///
/// # Errors
/// A cycle, a version that was overwritten twice, one that was never committed and seen, or a list that is none of its versions.
pub fn check(history: &[Observed], refused: &[Version]) -> Result<(), String> {
    let refused: BTreeSet<Version> = refused.iter().copied().collect();
    let mut versions =
        Versions { writers: BTreeMap::new(), overwritten: BTreeMap::new(), before: BTreeMap::new() };
    for (place, observed) in history.iter().enumerate() {
        for &(object, before, value) in &observed.writes {
            versions.writers.insert((object, Some(value)), place);
            versions.before.insert((object, Some(value)), before);
        }
    }
    let included = included(history, &versions.writers, &refused)?;
    for place in included.iter().copied() {
        for &(object, before, _) in &history[place].writes {
            if let Some(other) = versions.overwritten.insert((object, before), place) {
                let numbers = (history[other].number, history[place].number);
                return Err(format!(
                    "an update is lost: transactions {numbers:?} both overwrote {before:?} in {object}"
                ));
            }
        }
    }
    let reads = |place: usize| history[place].reads.iter().map(move |read| (place, read));
    for (place, read) in included.iter().copied().flat_map(reads) {
        versions.check_read(history, place, read)?;
    }
    let mut graph = Graph { edges: vec![Vec::new(); history.len()] };
    graph.add_dependencies(history, &included, &versions);
    let mut causes = Graph { edges: graph.edges.clone() };
    for (place, read) in included.iter().copied().flat_map(reads) {
        if read.level == Level::Serializable {
            graph.add(Some(place), versions.overwritten.get(&read.shown()).copied(), Edge::ReadWrite);
        }
    }
    graph.add_real_time(history, &included);
    if let Some(cycle) = graph.cycle() {
        return Err(describe(history, &cycle));
    }
    let mut by_process: BTreeMap<(NodeId, u64), Vec<usize>> = BTreeMap::new();
    for place in included.iter().copied() {
        if let Some(process) = history[place].process {
            by_process.entry(process).or_default().push(place);
        }
    }
    by_process.values().for_each(|places| causes.add_real_time(history, places));
    check_snapshots(history, &included, &versions, &causes)
}

impl Versions {
    /// A read has shown a version that some transaction left behind, and of a list just the elements that lead to it.
    fn check_read(&self, history: &[Observed], place: usize, read: &Read) -> Result<(), String> {
        let shown = read.shown();
        let number = history[place].number;
        if let Some(&writer) = self.writers.get(&shown)
            && writer != place
            && self.overwritten.get(&shown) == Some(&writer)
        {
            let writer = history[writer].number;
            return Err(format!("transaction {number} saw {shown:?}, which {writer} overwrote itself (G1b)"));
        }
        let Some(elements) = &read.elements else { return Ok(()) };
        for (position, &element) in elements.iter().enumerate() {
            let expected = position.checked_sub(1).and_then(|before| elements.get(before)).copied();
            if self.before.get(&(read.object, Some(element))) != Some(&expected) {
                let object = read.object;
                return Err(format!(
                    "transaction {number} saw {element} behind {expected:?} in list {object}, where nobody appended it: {elements:?}"
                ));
            }
        }
        Ok(())
    }
}

/// Snapshots show whatever comes before something that they show.
fn check_snapshots(
    history: &[Observed],
    included: &[usize],
    versions: &Versions,
    causes: &Graph,
) -> Result<(), String> {
    let mut ends: Vec<(u64, usize)> =
        included.iter().filter_map(|&place| Some((history[place].committed_at?, place))).collect();
    ends.sort_unstable();
    let mut incoming: Vec<Vec<usize>> = vec![Vec::new(); causes.edges.len()];
    for (from, edges) in causes.edges.iter().enumerate() {
        edges.iter().for_each(|&(to, _)| incoming[to].push(from));
    }
    for &place in included {
        let observed = &history[place];
        let reads: Vec<&Read> = observed.reads.iter().filter(|read| read.level == Level::Snapshot).collect();
        if reads.is_empty() {
            continue;
        }
        // Everything that comes before what it shows, or was told of before it began.
        let mut reached = vec![false; causes.edges.len()];
        let before = ends.partition_point(|&(at, _)| at < observed.began_at);
        let mut left: Vec<usize> = ends[..before].iter().map(|&(_, place)| place).collect();
        left.extend(reads.iter().filter_map(|read| versions.writers.get(&read.shown())));
        while let Some(node) = left.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                left.extend(&incoming[node]);
            }
        }
        for read in reads {
            let mut version = read.shown();
            while let Some(&next) = versions.overwritten.get(&version) {
                if reached[next] {
                    let (number, object) = (history[next].number, read.object);
                    return Err(format!(
                        "a snapshot does not show what transaction {number} wrote to {object}, and shows what came later (G-single)"
                    ));
                }
                let written = history[next].writes.iter().find(|write| (write.0, write.1) == version);
                let Some(&(object, _, value)) = written else { break };
                version = (object, Some(value));
            }
        }
    }
    Ok(())
}

/// The transactions that took place: those that were told committed, and what they have seen, and so on.
fn included(
    history: &[Observed],
    writers: &BTreeMap<Version, usize>,
    refused: &BTreeSet<Version>,
) -> Result<Vec<usize>, String> {
    let mut is_included = vec![false; history.len()];
    let mut left: Vec<usize> = (0..history.len()).filter(|&place| history[place].committed_at.is_some()).collect();
    while let Some(place) = left.pop() {
        if std::mem::replace(&mut is_included[place], true) {
            continue;
        }
        let observed = &history[place];
        let overwrote = observed.writes.iter().map(|&(object, before, _)| (object, before));
        let seen = observed.reads.iter().flat_map(|read| {
            let elements = read.elements.iter().flatten().map(|&element| (read.object, Some(element)));
            elements.chain([read.shown()])
        });
        for version in overwrote.chain(seen) {
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
    /// ww and wr.
    fn add_dependencies(&mut self, history: &[Observed], included: &[usize], versions: &Versions) {
        for place in included.iter().copied() {
            let observed = &history[place];
            for &(object, before, _) in &observed.writes {
                self.add(versions.writers.get(&(object, before)).copied(), Some(place), Edge::WriteWrite);
            }
            for read in &observed.reads {
                self.add(versions.writers.get(&read.shown()).copied(), Some(place), Edge::WriteRead);
            }
        }
    }

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
            Some(observed) if observed.number == usize::MAX => text += &format!(" {short}-> a snapshot"),
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
        let reads = reads.iter().map(|&(object, version)| Read::value(object, version)).collect();
        Observed { number, began_at, committed_at, process: None, writes: writes.to_vec(), reads }
    }

    fn lists(
        number: usize,
        (began_at, committed_at): (u64, u64),
        level: Level,
        lists: &[(i32, &[i32])],
    ) -> Observed {
        let reads = lists.iter().map(|&(list, elements)| Read::list(list, elements.to_vec(), level)).collect();
        Observed { reads, ..observed(number, (began_at, Some(committed_at)), &[], &[]) }
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

    #[test]
    fn a_list_that_nobody_has_left_so_is_seen() {
        let push = |number: usize, (began, told), before, element| {
            observed(number, (began, Some(told)), &[(1, before, element)], &[])
        };
        let (first, second) = (push(0, (1, 2), None, 10), push(1, (3, 4), Some(10), 11));
        let read = |elements: &[i32]| lists(2, (3, 9), Level::Committed, &[(1, elements)]);
        for seen in [&[10][..], &[10, 11]] {
            assert_eq!(check(&[first.clone(), second.clone(), read(seen)], &[]), Ok(()));
        }
        for wrong in [&[11][..], &[11, 10], &[10, 10], &[10, 12]] {
            assert!(check(&[first.clone(), second.clone(), read(wrong)], &[]).is_err(), "{wrong:?}");
        }
        // It was told before the reader began.
        assert!(check(&[first, second, lists(2, (5, 9), Level::Serializable, &[(1, &[10])])], &[]).is_err());
    }

    #[test]
    fn what_its_transaction_appended_to_must_not_be_seen_before() {
        let twice = observed(0, (1, Some(9)), &[(1, None, 10), (1, Some(10), 11)], &[]);
        let read = |elements: &[i32]| lists(1, (2, 8), Level::Committed, &[(1, elements)]);
        assert_eq!(check(&[twice.clone(), read(&[10, 11])], &[]), Ok(()));
        assert!(check(&[twice, read(&[10])], &[]).unwrap_err().contains("G1b"));
    }

    #[test]
    fn write_skew_is_a_contradiction_for_serializable_readers_alone() {
        let skew = |level: Level| {
            let one = Observed { writes: vec![(1, None, 10)], ..lists(0, (1, 9), level, &[(2, &[])]) };
            let other = Observed { writes: vec![(2, None, 20)], ..lists(1, (2, 8), level, &[(1, &[])]) };
            check(&[one, other], &[])
        };
        assert_eq!(skew(Level::Committed), Ok(()));
        assert!(skew(Level::Serializable).unwrap_err().contains("G2"));
    }

    #[test]
    fn a_snapshot_shows_the_causes_of_what_it_shows_and_what_was_told_before() {
        let process = Some((NodeId(1), 1));
        let cause = Observed { process, ..observed(0, (1, Some(2)), &[(1, None, 10)], &[]) };
        let effect = Observed { process, ..observed(1, (3, Some(6)), &[(2, None, 20)], &[]) };
        let snapshot = |began_at, shown: &[(i32, &[i32])]| lists(2, (began_at, 9), Level::Snapshot, shown);
        let judge = |effect: &Observed, snapshot| check(&[cause.clone(), effect.clone(), snapshot], &[]);
        assert_eq!(judge(&effect, snapshot(1, &[(1, &[10]), (2, &[])])), Ok(()));
        assert!(judge(&effect, snapshot(1, &[(1, &[]), (2, &[20])])).unwrap_err().contains("G-single"));
        assert!(judge(&effect, snapshot(3, &[(1, &[]), (2, &[])])).is_err());
        // The order of what different nodes' clients did is told by no frame.
        let elsewhere = Observed { process: Some((NodeId(2), 1)), ..effect };
        assert_eq!(judge(&elsewhere, snapshot(1, &[(1, &[]), (2, &[20])])), Ok(()));
    }
}
