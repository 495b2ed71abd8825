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
//! An agreement stays true for the lives that it names, so it is passed on to those who could not reach it themselves.
//! New data directories make an agreement among themselves alone, which is how a cluster begins: where somebody
//! remembers, what they have lost is for people to decide on.

/// The end of a log: entries of later terms are newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogEnd {
    pub term: u64,
    pub index: u64,
}

/// A node and which of its processes.
pub type NodeLife = (u64, u64);

/// What a replica without a leader tells the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Testimony {
    pub memory: Memory,
    /// Its log begins behind this entry and ends there.
    pub start: u64,
    pub end: LogEnd,
    /// The lives of the other voters that it has heard.
    pub heard: Vec<NodeLife>,
}

/// What a replica knows of all that it ever promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    Whole,
    /// It may have lost the end of its log.
    #[default]
    Amnesiac,
    /// Its data directory is a new one.
    New,
}

/// In all these lives at the same moment the whole ones were no majority, and no log went further than this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    pub lives: Vec<NodeLife>,
    pub newest: LogEnd,
}

impl Agreement {
    /// Whether there is one, from what a replica knows: its own testimony, and those of all other voters.
    pub fn of(
        me: NodeLife,
        own: &Testimony,
        others: &[(NodeLife, &Testimony)],
        witness: Option<u64>,
    ) -> Option<Agreement> {
        let lives: Vec<NodeLife> = std::iter::once(me).chain(others.iter().map(|&(life, _)| life)).collect();
        let has_heard_all = |&(of, testimony): &(NodeLife, &Testimony)| {
            lives.iter().filter(|&&life| life != of).all(|life| testimony.heard.contains(life))
        };
        if !others.iter().all(has_heard_all) {
            return None;
        }
        let all = || std::iter::once((me, own)).chain(others.iter().copied());
        let whole = all().filter(|(_, testimony)| testimony.memory == Memory::Whole).count();
        let is_any_new = all().any(|(_, testimony)| testimony.memory == Memory::New);
        if whole > lives.len() / 2 || (whole > 0 && is_any_new) {
            return None;
        }
        let with_rows = all().filter(|&((node, _), _)| Some(node) != witness);
        let mut newest = with_rows.map(|(_, testimony)| testimony.end).max()?;
        // A witness's log is worth something if it goes on from one with rows.
        if let Some((_, testimony)) = all().find(|&((node, _), _)| Some(node) == witness)
            && testimony.start <= newest.index
        {
            newest = newest.max(testimony.end);
        }
        Some(Agreement { lives, newest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testimony(start: u64, end: (u64, u64), heard: &[NodeLife]) -> Testimony {
        let end = LogEnd { term: end.0, index: end.1 };
        Testimony { memory: Memory::Amnesiac, start, end, heard: heard.to_vec() }
    }

    const LIVES: [NodeLife; 3] = [(1, 10), (2, 20), (3, 30)];

    #[test]
    fn there_is_no_agreement_before_everybody_has_heard_of_all_lives() {
        let own = testimony(0, (1, 5), &[]);
        let whole = testimony(0, (1, 7), &[LIVES[0], LIVES[1]]);
        for heard in [&[LIVES[0]][..], &[LIVES[0], (3, 29)]] {
            let lacks = testimony(0, (1, 6), heard);
            assert_eq!(Agreement::of(LIVES[0], &own, &[(LIVES[1], &lacks), (LIVES[2], &whole)], None), None);
        }
        let other = testimony(0, (1, 6), &[LIVES[0], LIVES[2]]);
        let agreement = Agreement::of(LIVES[0], &own, &[(LIVES[1], &other), (LIVES[2], &whole)], None).unwrap();
        assert_eq!(agreement, Agreement { lives: LIVES.to_vec(), newest: LogEnd { term: 1, index: 7 } });
    }

    #[test]
    fn those_who_remember_are_asked_unless_they_can_do_without_the_others() {
        use Memory::*;
        let agreed = |memories: [Memory; 3]| {
            let tell = |place: usize| {
                let heard: Vec<NodeLife> = LIVES.iter().copied().filter(|&life| life != LIVES[place]).collect();
                Testimony { memory: memories[place], ..testimony(0, (1, place as u64), &heard) }
            };
            let (own, one, other) = (tell(0), tell(1), tell(2));
            Agreement::of(LIVES[0], &own, &[(LIVES[1], &one), (LIVES[2], &other)], None).is_some()
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
        let newest = |start| {
            let own = testimony(0, (1, 5), &[]);
            let other = testimony(0, (2, 4), &[LIVES[0], LIVES[2]]);
            let witness = testimony(start, (2, 9), &[LIVES[0], LIVES[1]]);
            Agreement::of(LIVES[0], &own, &[(LIVES[1], &other), (LIVES[2], &witness)], Some(3)).unwrap().newest
        };
        assert_eq!(newest(4), LogEnd { term: 2, index: 9 });
        assert_eq!(newest(5), LogEnd { term: 2, index: 4 });
    }
}
