//! Writes at leaders on other nodes.

use shoal_cluster::remote::is_not_leader;
use shoal_types::{NodeId, Result, TableId};

use crate::leader_wait::{LeaderWait, map_version};
use crate::protocol::{self, Write, WriteKind};
use crate::remote::{Answer, WorkFor};
use crate::staging::Placed;
use crate::transaction::Transaction;

/// Rows and bytes that go in one frame.
pub(crate) const ROWS_PER_FRAME: usize = 4096;
pub(crate) const BYTES_PER_FRAME: usize = 1 << 20;

/// How many of the rows go in the next frame; one at least.
fn rows_of_frame(rows: &[Placed<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |one: &&Placed<'_>| {
        bytes += one.row.len();
        bytes <= BYTES_PER_FRAME
    };
    rows.iter().take(ROWS_PER_FRAME).take_while(fits).count().max(1)
}

impl Transaction {
    /// One write, one round trip.
    pub(crate) async fn write_at(&mut self, partition: u32, node: NodeId, write: Write<'_>) -> Result<Answer> {
        self.begin_work(WorkFor::joining(partition), node, std::iter::once(write));
        protocol::put_then_nothing(&mut self.frame);
        self.ask(partition, node, std::iter::once(write.bytes.len())).await
    }

    /// Inserts rows, sorted by partition, wherever these are led: other nodes are all asked at once. False: some row is a
    /// duplicate.
    pub(crate) async fn insert_everywhere(&mut self, table: TableId, placed: &[Placed<'_>]) -> Result<bool> {
        let mut leader_wait = LeaderWait::default();
        let mut runs: Vec<&[Placed<'_>]> =
            placed.chunk_by(|one, other| one.partition == other.partition).collect();
        while !runs.is_empty() {
            let seen = map_version(&self.node);
            let (mut asked, mut sent, mut here) = (Vec::new(), Vec::new(), Vec::new());
            let mut left: Vec<&[Placed<'_>]> = Vec::new();
            for run in runs {
                let partition = run[0].partition;
                let Some(node) = self.route(partition).await? else {
                    here.push(run);
                    continue;
                };
                let (now, later) = run.split_at(rows_of_frame(run));
                let write = |one: &Placed<'_>| one.row.len();
                let writes = now.iter().map(|one| Write { kind: WriteKind::Insert, table, bytes: one.row });
                self.begin_work(WorkFor::joining(partition), node, writes);
                protocol::put_then_nothing(&mut self.frame);
                asked.push(self.send_work(partition, node, now.iter().map(write)));
                sent.push((now, later));
            }
            let mut has_duplicate = false;
            let mut lost = None;
            for run in here {
                let mut at = 0;
                match self.insert_here(table, run, &mut at).await {
                    Ok(is_done) => has_duplicate |= !is_done,
                    Err(error) if is_not_leader(&error) => {
                        left.push(&run[at..]);
                        lost = Some(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            let mut failure = None;
            for ((now, later), (_, answer)) in sent.into_iter().zip(self.gather(asked).await) {
                match answer {
                    Ok(answer) => {
                        has_duplicate |= answer.stop()?.is_some();
                        left.extend((!later.is_empty()).then_some(later));
                    }
                    Err(error) if is_not_leader(&error) => {
                        left.extend([now, later].into_iter().filter(|rows| !rows.is_empty()));
                        lost = Some(error);
                    }
                    Err(error) => failure = Some(error),
                }
            }
            match (failure, lost) {
                (Some(error), _) => return Err(error),
                _ if has_duplicate => return Ok(false),
                (None, Some(error)) => leader_wait.wait(&self.node, seen, error).await?,
                (None, None) => {}
            }
            runs = left;
        }
        Ok(true)
    }
}
