//! How the replicas of a group find out that too many of them may have lost the end of their logs, and go on.
//!
//! Such a replica is amnesiac: it neither votes nor campaigns until a leader has brought it up to date (`group::amnesia`).
//! When those that are not, the whole ones, are no majority, no leader can be elected any more, and what all of them
//! hold is what there is: the group goes on from the newest of their logs. Two things must be right about that.
//!
//! - *All at once.* A voter that was amnesiac a while ago may be cured by now and know what the others have lost. Amnesia
//!   begins with a life and ends for good, so a voter that says that it is amnesiac was so since its life began. Each
//!   tells which lives of the others it has heard; whoever has this from all the others about all lives of the present
//!   knows what held at the moment when the last of these lives began, and that no log that is told of ended earlier then.
//! - *From the newest.* A majority need not contain the newest log, and those that hold less may have state from it that
//!   cannot be taken back. So the end of the newest log becomes part of the agreement, and an amnesiac that holds less votes
//!   only for those that do not.
//!
//! An agreement stays true for the incarnations that it names, so it is passed on to those who could not reach it themselves. They may
//! have gone on by then, under a leader that those who knew it have elected: that the witness's log was worth nothing is true of the
//! log that ended where the agreement says, and of no later one.
//!
//! New data directories make an agreement among themselves alone, which is how a cluster begins: where somebody
//! remembers, what they have lost is for people to decide on.

/// The end of a log: entries of later terms are newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogEnd {
    /// The term of the last entry.
    pub term: u64,
    /// The index of the last entry.
    pub index: u64,
}

/// A node, and which of its processes: the number grows with every start.
pub type Incarnation = (u64, u64);

/// What a replica without a leader reports to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaReport {
    /// Whether it knows all that it promised.
    pub memory: Memory,
    /// Its log begins behind this entry and ends there.
    pub start: u64,
    /// Where its log ends.
    pub end: LogEnd,
    /// The incarnations of the other voters that it has heard.
    pub heard: Vec<Incarnation>,
}

/// What a replica knows of all that it ever promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// It knows all of it.
    Whole,
    /// It may have lost the end of its log.
    #[default]
    Amnesiac,
    /// Its data directory is a new one.
    New,
}

/// At one moment these incarnations were up, those among them that remember all their promises were no majority, and no log went
/// further than this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The nodes that were up, and which of their processes.
    pub incarnations: Vec<Incarnation>,
    /// The end of the newest log among them.
    pub newest: LogEnd,
    /// Where the witness's log ended, if it goes on from rows that nobody has: it is worth nothing.
    pub worthless: Option<LogEnd>,
}

impl Agreement {
    /// It was reached by later processes of the same nodes: what was agreed on before is over.
    pub fn overtakes(&self, other: &Agreement) -> bool {
        let life_before =
            |node: u64| other.incarnations.iter().find(|life| life.0 == node).map_or(0, |life| life.1);
        let mut lives = self.incarnations.iter();
        lives.clone().all(|&(node, life)| life >= life_before(node))
            && lives.any(|&(node, life)| life > life_before(node))
    }

    /// Whether there is one, from what a replica knows: its own report, and those of all other voters.
    pub fn of(
        me: Incarnation,
        own: &ReplicaReport,
        others: &[(Incarnation, &ReplicaReport)],
        witness: Option<u64>,
    ) -> Option<Agreement> {
        let incarnations: Vec<Incarnation> =
            std::iter::once(me).chain(others.iter().map(|&(life, _)| life)).collect();
        let has_heard_all = |&(of, report): &(Incarnation, &ReplicaReport)| {
            incarnations.iter().filter(|&&life| life != of).all(|life| report.heard.contains(life))
        };
        if !others.iter().all(has_heard_all) {
            return None;
        }
        let all = || std::iter::once((me, own)).chain(others.iter().copied());
        let whole = all().filter(|(_, report)| report.memory == Memory::Whole).count();
        let is_any_new = all().any(|(_, report)| report.memory == Memory::New);
        if whole > incarnations.len() / 2 || (whole > 0 && is_any_new) {
            return None;
        }
        let with_rows = all().filter(|&((node, _), _)| Some(node) != witness);
        let mut newest = with_rows.map(|(_, report)| report.end).max()?;
        // A witness's log is worth something if it goes on from one with rows.
        let mut worthless = None;
        if let Some((_, report)) = all().find(|&((node, _), _)| Some(node) == witness) {
            match report.start <= newest.index {
                true => newest = newest.max(report.end),
                false => worthless = Some(report.end),
            }
        }
        Some(Agreement { incarnations, newest, worthless })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(start: u64, end: (u64, u64), heard: &[Incarnation]) -> ReplicaReport {
        let end = LogEnd { term: end.0, index: end.1 };
        ReplicaReport { memory: Memory::Amnesiac, start, end, heard: heard.to_vec() }
    }

    const INCARNATIONS: [Incarnation; 3] = [(1, 10), (2, 20), (3, 30)];

    #[test]
    fn there_is_no_agreement_before_everybody_has_heard_of_all_lives() {
        let own = report(0, (1, 5), &[]);
        let whole = report(0, (1, 7), &[INCARNATIONS[0], INCARNATIONS[1]]);
        for heard in [&[INCARNATIONS[0]][..], &[INCARNATIONS[0], (3, 29)]] {
            let lacks = report(0, (1, 6), heard);
            assert_eq!(
                Agreement::of(
                    INCARNATIONS[0],
                    &own,
                    &[(INCARNATIONS[1], &lacks), (INCARNATIONS[2], &whole)],
                    None
                ),
                None
            );
        }
        let other = report(0, (1, 6), &[INCARNATIONS[0], INCARNATIONS[2]]);
        let agreement =
            Agreement::of(INCARNATIONS[0], &own, &[(INCARNATIONS[1], &other), (INCARNATIONS[2], &whole)], None)
                .unwrap();
        assert_eq!(
            agreement,
            Agreement {
                incarnations: INCARNATIONS.to_vec(),
                newest: LogEnd { term: 1, index: 7 },
                worthless: None
            }
        );
    }

    #[test]
    fn those_who_remember_are_asked_unless_they_can_do_without_the_others() {
        use Memory::*;
        let agreed = |memories: [Memory; 3]| {
            let tell = |place: usize| {
                let heard: Vec<Incarnation> =
                    INCARNATIONS.iter().copied().filter(|&life| life != INCARNATIONS[place]).collect();
                ReplicaReport { memory: memories[place], ..report(0, (1, place as u64), &heard) }
            };
            let (own, one, other) = (tell(0), tell(1), tell(2));
            Agreement::of(INCARNATIONS[0], &own, &[(INCARNATIONS[1], &one), (INCARNATIONS[2], &other)], None)
                .is_some()
        };
        for memories in [[Amnesiac; 3], [New; 3], [Amnesiac, New, New], [Amnesiac, Whole, Amnesiac]] {
            assert!(agreed(memories), "{memories:?}");
        }
        for memories in [[Amnesiac, Whole, Whole], [Amnesiac, Whole, New], [New, Whole, New]] {
            assert!(!agreed(memories), "{memories:?}");
        }
    }

    #[test]
    fn the_witness_counts_if_its_log_goes_on_from_one_with_rows() {
        let agreed = |start| {
            let own = report(0, (1, 5), &[]);
            let other = report(0, (2, 4), &[INCARNATIONS[0], INCARNATIONS[2]]);
            let witness = report(start, (2, 9), &[INCARNATIONS[0], INCARNATIONS[1]]);
            Agreement::of(
                INCARNATIONS[0],
                &own,
                &[(INCARNATIONS[1], &other), (INCARNATIONS[2], &witness)],
                Some(3),
            )
            .map(|agreement| (agreement.newest, agreement.worthless))
        };
        let (data, of_witness) = (LogEnd { term: 2, index: 4 }, LogEnd { term: 2, index: 9 });
        assert_eq!(agreed(4), Some((of_witness, None)));
        assert_eq!(agreed(5), Some((data, Some(of_witness))));
    }

    #[test]
    fn an_agreement_of_later_processes_overtakes_one_of_theirs_before() {
        let of = |lives: [u64; 3]| Agreement {
            incarnations: (1..).zip(lives).collect(),
            newest: LogEnd::default(),
            worthless: None,
        };
        assert!(of([1, 3, 1]).overtakes(&of([1, 2, 1])));
        assert!(!of([1, 2, 1]).overtakes(&of([1, 2, 1])));
        assert!(!of([1, 1, 1]).overtakes(&of([1, 2, 1])));
        assert!(!of([2, 1, 1]).overtakes(&of([1, 2, 1])));
    }
}
