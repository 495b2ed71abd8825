//! The stage that a definition is in, as others see it.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use crate::definition_stages::{HISTORY_SIZE, Stage, StageKind};
use crate::session::SessionShared;

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
