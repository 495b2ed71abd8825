//! One operation on many partitions, wherever these are led: other nodes are all asked at once, and what a round has not done, because
//! a frame was full or a leader had changed, is done in the next one.
//!
//! An operation on one partition is `at_partition`.

use std::ops::Range;

use shoal_cluster::remote::is_not_leader;
use shoal_types::{Error, NodeId, Result};

use crate::leader_wait::{LeaderWait, map_version};
use crate::remote::{Answer, Asked};
use crate::transaction::Transaction;

/// An operation whose work is divided into runs, each in one partition.
pub(crate) trait FanOut {
    type Run;

    /// After a failure all answers are waited for, so that it is known what the operation has written. Reads end at once.
    const TAKES_ALL_ANSWERS: bool;

    fn partition_of(&self, run: &Self::Run) -> u32;

    /// Sends the first frame of a run to the leader on another node.
    async fn ask(&mut self, transaction: &mut Transaction, run: &Self::Run, node: NodeId) -> Result<Asked>;

    /// Does a run in a partition that is led here. After an error the run is what is left to do.
    async fn run_here(&mut self, transaction: &mut Transaction, run: &mut Self::Run) -> Result<()>;

    /// Takes the answer to the frame that was sent for a run, which becomes what is left to do.
    fn take(&mut self, transaction: &mut Transaction, run: &mut Self::Run, answer: &Answer) -> Result<()>;

    fn is_done(&self, run: &Self::Run) -> bool;

    /// A run whose partition's leader has changed may begin again with the next one.
    fn may_go_on_elsewhere(&self, _run: &Self::Run) -> bool {
        true
    }

    /// Nothing that is left needs to be done.
    fn is_over(&self) -> bool {
        false
    }
}

/// Items that are sorted by their partitions, divided into runs.
pub(crate) fn runs_of<T>(items: &[T], partition_of: impl Fn(&T) -> u32) -> Vec<Range<usize>> {
    let mut start = 0;
    let runs = items.chunk_by(|one, other| partition_of(one) == partition_of(other));
    runs.map(|run| {
        start += run.len();
        start - run.len()..start
    })
    .collect()
}

/// What a round of an operation came to.
struct Round<R> {
    left: Vec<R>,
    /// A leader was not where it was thought to be.
    lost: Option<Error>,
    failure: Option<Error>,
}

impl<R> Round<R> {
    fn note<O: FanOut<Run = R>>(&mut self, operation: &O, run: R, outcome: Result<()>) -> Result<()> {
        match outcome {
            Ok(()) if operation.is_done(&run) => {}
            Ok(()) => self.left.push(run),
            Err(error) if is_not_leader(&error) && operation.may_go_on_elsewhere(&run) => {
                self.left.push(run);
                self.lost = Some(error);
            }
            Err(error) if O::TAKES_ALL_ANSWERS => self.failure = Some(error),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Transaction {
    /// Runs an operation until all runs are done, it is over, or it fails for another reason than that a partition's leader was
    /// not where it was thought to be.
    pub(crate) async fn fan_out<O: FanOut>(&mut self, operation: &mut O, mut runs: Vec<O::Run>) -> Result<()> {
        let mut leader_wait = LeaderWait::default();
        while !runs.is_empty() {
            let seen = map_version(&self.node);
            let (mut asked, mut elsewhere, mut here) = (Vec::new(), Vec::new(), Vec::new());
            for run in runs {
                match self.route(operation.partition_of(&run)).await? {
                    None => here.push(run),
                    Some(node) => {
                        asked.push(operation.ask(self, &run, node).await?);
                        elsewhere.push(run);
                    }
                }
            }
            let mut round = Round { left: Vec::new(), lost: None, failure: None };
            for mut run in here {
                let outcome = operation.run_here(self, &mut run).await;
                round.note(operation, run, outcome)?;
            }
            for (mut run, (_, answer)) in elsewhere.into_iter().zip(self.gather(asked).await) {
                let outcome = answer.and_then(|answer| operation.take(self, &mut run, &answer));
                round.note(operation, run, outcome)?;
            }
            match (round.failure, round.lost) {
                (Some(error), _) => return Err(error),
                _ if operation.is_over() => return Ok(()),
                (None, Some(error)) => leader_wait.wait(&self.node, seen, error).await?,
                (None, None) => {}
            }
            runs = round.left;
        }
        Ok(())
    }
}
