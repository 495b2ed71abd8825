//! How far definitions are: what `events_stages_current` and `events_stages_history` show, and the processlist.
//!
//! Only stages of definitions that go through all rows of a table are kept, which are those that MySQL collects by default. A stage
//! is noted when it begins, when so many rows more are done, and when it ends: nothing on the way of other statements.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Instant;

/// What a session keeps of stages that have ended, as of statements.
pub(crate) const HISTORY_SIZE: usize = 10;

/// Which of a definition's stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// All rows go into another table.
    Copy,
    /// Entries of indexes are made of all rows.
    ReadRows,
}

impl StageKind {
    pub const ALL: [StageKind; 2] = [StageKind::Copy, StageKind::ReadRows];

    /// MySQL's name of the instrument.
    pub fn name(self) -> &'static str {
        match self {
            StageKind::Copy => "stage/sql/copy to tmp table",
            StageKind::ReadRows => "stage/innodb/alter table (read PK and internal sort)",
        }
    }

    /// What the processlist shows when so many of a hundred rows are done.
    pub fn state(self, percent: usize) -> &'static str {
        static STATES: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
            ["copy to tmp table", "altering table"]
                .map(|what| (0..=100).map(|percent| format!("{what} {percent}%")).collect())
        });
        &STATES[self as usize][percent.min(100)]
    }
}

/// A stage of a definition. Its number is that of its statement.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub statement: u64,
    pub kind: StageKind,
    pub began: Instant,
    /// `None`: it goes on.
    pub ended: Option<Instant>,
    /// Rows.
    pub completed: u64,
    pub estimated: u64,
}

/// Those of a session.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    pub current: Option<Stage>,
    /// The newest last.
    pub history: VecDeque<Stage>,
}
