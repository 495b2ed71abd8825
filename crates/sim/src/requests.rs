//! Requests that are to be carried out exactly once, whatever clients are told: each writes a row that names it, together with what it does.
//!
//! A client that was told that the outcome is unknown looks whether its row is there, and does the request again only if it is not.
//! What the client remembers is not on the nodes: it outlives them.

use std::collections::BTreeMap;

use shoal_two_phase::Answer;
use shoal_types::PartitionId;

use crate::random::Random;
use crate::rows::*;

/// Requests of one run.
const REQUESTS_MAX: i32 = HOT - REQUESTS;
/// Tallies in the database.
const TALLIES_THERE: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// For the first time.
    First,
    /// Somebody looks for it, or does it again.
    Again,
    /// Nobody does anything about it, and its client does not know what became of it.
    Unsure,
    /// It is there, as its client knows since this moment.
    Done(u64),
    /// It was refused, and its client has dropped it.
    Refused,
    /// It was there and may have been lost with the memory of all nodes.
    Forgotten,
}

struct Request {
    tally: i32,
    progress: Progress,
}

#[derive(Default)]
pub struct Requests {
    all: BTreeMap<i32, Request>,
}

impl Requests {
    /// A client thinks of something; its number.
    pub fn begin(&mut self, random: &mut Random) -> Option<i32> {
        let number = self.all.len() as i32;
        let tally = random.below(TALLIES_THERE) as i32;
        (number < REQUESTS_MAX).then(|| self.all.insert(number, Request { tally, progress: Progress::First }))?;
        Some(number)
    }

    pub fn tally_of(&self, number: i32) -> i32 {
        self.all[&number].tally
    }

    /// A request whose client wants to know what became of it.
    pub fn take_unsure(&mut self) -> Option<i32> {
        let (&number, request) = self.all.iter_mut().find(|(_, request)| request.progress == Progress::Unsure)?;
        request.progress = Progress::Again;
        Some(number)
    }

    /// Nobody has found out about all of them.
    pub fn has_open(&self) -> bool {
        let is_open = |request: &Request| matches!(request.progress, Progress::Again | Progress::Unsure);
        self.all.values().any(is_open)
    }

    /// Its client could not look, or it was not carried out when it was done again.
    pub fn unsure(&mut self, number: i32) {
        self.change(number, Progress::Unsure);
    }

    /// Its client has found it.
    pub fn found(&mut self, number: i32, moment: u64) {
        self.change(number, Progress::Done(moment));
    }

    fn change(&mut self, number: i32, progress: Progress) {
        if let Some(request) = self.all.get_mut(&number) {
            request.progress = progress;
        }
    }

    /// A transaction that carries it out has ended. True if it has been done again.
    pub fn told(&mut self, number: i32, answer: Answer, moment: u64) -> bool {
        let Some(request) = self.all.get_mut(&number) else { return false };
        let before = request.progress;
        request.progress = match (answer, before) {
            (Answer::Committed(_), _) => Progress::Done(moment),
            (Answer::NotCommitted, Progress::First) => Progress::Refused,
            (Answer::NotCommitted | Answer::Unknown, _) => Progress::Unsure,
        };
        before == Progress::Again && matches!(request.progress, Progress::Done(_))
    }

    /// What clients have learnt after this moment may not be true any more.
    pub fn forget_after(&mut self, moment: u64) {
        for request in self.all.values_mut() {
            if matches!(request.progress, Progress::Done(at) if at > moment) {
                request.progress = Progress::Forgotten;
            }
        }
    }

    /// At any moment each tally counts the requests that are there.
    ///
    /// # Errors
    /// One does not: something was done twice, or by half.
    pub fn check_tallies(rows: &BTreeMap<PartitionId, Vec<Row>>, whence: &str) -> Result<(), String> {
        let within = |low: i32, end: i32| rows.values().flatten().filter(move |(id, _)| (low..end).contains(id));
        let mut counts: BTreeMap<i32, i32> = BTreeMap::new();
        for &(_, tally) in within(REQUESTS, HOT) {
            *counts.entry(tally).or_default() += 1;
        }
        let tallies: BTreeMap<i32, i32> = within(TALLIES, REQUESTS).map(|&(id, k)| (id - TALLIES, k)).collect();
        match counts == tallies {
            true => Ok(()),
            false => {
                Err(format!("{whence}: {counts:?} requests are there, by kind, and {tallies:?} were carried out"))
            }
        }
    }

    /// At the end: what clients know is so.
    ///
    /// # Errors
    /// It is not.
    pub fn check_end(&self, rows: &BTreeMap<PartitionId, Vec<Row>>) -> Result<(), String> {
        for (number, request) in &self.all {
            let is_there = rows.values().flatten().any(|&(id, _)| id == REQUESTS + number);
            let must_be_there = match request.progress {
                Progress::Done(_) => true,
                Progress::Refused => false,
                Progress::First | Progress::Again | Progress::Unsure | Progress::Forgotten => continue,
            };
            if is_there != must_be_there {
                let progress = request.progress;
                return Err(format!("request {number}, {progress:?}, is there: {is_there}"));
            }
        }
        Ok(())
    }
}
