//! How far definitions are: what `events_stages_current` and `events_stages_history` show, and the processlist.
//!
//! Only stages of definitions that go through all rows of a table are kept, which are those that MySQL collects by default. A stage
//! is noted when it begins, when so many rows more are done, and when it ends: nothing on the way of other statements.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, PoisonError};
use std::time::Instant;

use crate::session::SessionShared;

/// What a session keeps of stages that have ended, as of statements.
const HISTORY_SIZE: usize = 10;

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
    fn state(self, percent: usize) -> &'static str {
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

/// A stage that goes on until this is dropped.
pub(crate) struct RunningStage(Arc<SessionShared>);

impl RunningStage {
    pub fn begin(session: &Arc<SessionShared>, kind: StageKind, rows: u64) -> RunningStage {
        let mut activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.stages.current = Some(Stage {
            statement: activity.statements.next_id(),
            kind,
            began: Instant::now(),
            ended: None,
            completed: 0,
            estimated: rows,
        });
        activity.state = kind.state(0);
        drop(activity);
        RunningStage(Arc::clone(session))
    }

    /// So many rows are done.
    pub fn set_completed(&self, rows: u64) {
        let mut activity = self.0.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stage) = &mut activity.stages.current else { return };
        stage.completed = rows;
        stage.estimated = stage.estimated.max(rows);
        let percent = (rows * 100).checked_div(stage.estimated).unwrap_or(100);
        activity.state = stage.kind.state(percent as usize);
    }
}

impl Drop for RunningStage {
    fn drop(&mut self) {
        let mut activity = self.0.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stage) = activity.stages.current.take() else { return };
        activity.state = "executing";
        let history = &mut activity.stages.history;
        history.push_back(Stage { ended: Some(Instant::now()), ..stage });
        if history.len() > HISTORY_SIZE {
            history.pop_front();
        }
    }
}
