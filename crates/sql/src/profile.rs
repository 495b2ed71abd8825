//! The stages of statements, for SHOW PROFILE: what a session did when, collected only while its `profiling` is on.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// SHOW PROFILES shows so much of a text.
const TEXT_BYTES_MAX: usize = 300;

/// One statement's.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Counted from 1 in the session.
    pub query: u64,
    /// As it came.
    pub text: Vec<u8>,
    /// Backslashes escaped in its texts.
    pub backslashes: bool,
    pub stages: Vec<(&'static str, Duration)>,
}

impl Profile {
    pub fn duration(&self) -> Duration {
        self.stages.iter().map(|(_, duration)| *duration).sum()
    }
}

/// The newest profiles of a session, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    kept: VecDeque<Profile>,
    ended: u64,
}

impl Profiles {
    pub fn list(&self) -> impl Iterator<Item = &Profile> {
        self.kept.iter()
    }

    /// That of a statement by its number; `None`: the newest.
    pub fn get(&self, query: Option<u64>) -> Option<&Profile> {
        match query {
            Some(query) => self.kept.iter().find(|profile| profile.query == query),
            None => self.kept.back(),
        }
    }

    /// Keeps `size` of them.
    pub fn add(&mut self, running: RunningProfile, ended: Instant, text: &[u8], backslashes: bool, size: usize) {
        self.ended += 1;
        let ends = running.0.iter().skip(1).map(|(_, began)| *began).chain([ended]);
        let stages = running.0.iter().zip(ends);
        let stages = stages.map(|((name, began), end)| (*name, end.saturating_duration_since(*began))).collect();
        let is_start = |&end: &usize| text.get(end).is_none_or(|byte| byte & 0xC0 != 0x80);
        let end = (0..=text.len().min(TEXT_BYTES_MAX)).rev().find(is_start).unwrap_or(0);
        let text = text[..end].to_vec();
        self.kept.push_back(Profile { query: self.ended, text, backslashes, stages });
        while self.kept.len() > size {
            self.kept.pop_front();
        }
    }
}

/// Of a statement that runs: its stages and when each began.
#[derive(Debug)]
pub(crate) struct RunningProfile(Vec<(&'static str, Instant)>);

impl RunningProfile {
    pub fn begin(now: Instant) -> RunningProfile {
        RunningProfile(vec![("starting", now)])
    }

    /// The next stage begins now.
    pub fn stage(&mut self, name: &'static str) {
        self.0.push((name, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_lasts_until_the_next_one_begins() {
        let began = Instant::now();
        let mut profiles = Profiles::default();
        for number in 1..=4u64 {
            let mut running = RunningProfile::begin(began);
            running.0.push(("executing", began + Duration::from_millis(number)));
            profiles.add(running, began + Duration::from_millis(10), b"SELECT 1", true, 3);
        }
        assert_eq!(profiles.list().map(|profile| profile.query).collect::<Vec<_>>(), [2, 3, 4]);
        let newest = profiles.get(None).unwrap();
        assert_eq!(
            newest.stages,
            [("starting", Duration::from_millis(4)), ("executing", Duration::from_millis(6))]
        );
        assert_eq!((newest.duration(), profiles.get(Some(1)).is_none()), (Duration::from_millis(10), true));
    }
}
