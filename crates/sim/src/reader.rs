//! Readers of snapshots: everything as of one moment, over all partitions, once or twice.
//!
//! A snapshot is the newest commit that any leader shows, each of them confirming that it leads. The rows are then read at the
//! leaders, which move their clocks beyond the snapshot first.

use shoal_types::PartitionId;

use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::session::{Reader, Work};
use crate::sights::Sight;
use crate::tables::check_tables;

impl Process {
    fn reader(&mut self, id: u64) -> Option<&mut Reader> {
        match &mut self.sessions.get_mut(&id)?.work {
            Work::Snapshot(reader) => Some(reader),
            _ => None,
        }
    }

    pub fn read_on(&mut self, env: &mut Env<'_>, id: u64) {
        let Some(reader) = self.reader(id) else { return };
        if !reader.is_taken {
            for partition in reader.asking.clone() {
                self.call_leader(env, Request::Visible(partition), Owner::Session(id, partition));
            }
            return;
        }
        let snapshot = reader.newest;
        if let Some(partition) = reader.left.pop() {
            let term = reader.terms[&partition];
            let request = Request::Scan(partition, snapshot, term);
            return self.call_leader(env, request, Owner::Session(id, partition));
        }
        let (rows, told, began_at) = (std::mem::take(&mut reader.rows), reader.told, reader.began_at);
        let beside = std::mem::take(&mut reader.beside);
        let again = reader.again > 0;
        reader.again = reader.again.saturating_sub(1);
        if let Err(error) = env.ctx.history.check_rows(&rows, told, &format!("the snapshot at {snapshot}")) {
            env.ctx.accuse(error);
        }
        if let Err(error) = check_tables(&beside, rows.values().flatten(), &format!("the snapshot at {snapshot}"))
        {
            env.ctx.accuse(error);
        }
        if env.ctx.history.saw_lists(began_at, &rows) {
            env.ctx.see(Sight::ListsInSnapshot);
        }
        match env.ctx.history.check_same(snapshot, &rows) {
            Ok(true) => env.ctx.see(Sight::SnapshotReadAgain),
            Ok(false) => {}
            Err(error) => env.ctx.accuse(error),
        }
        env.ctx.see(Sight::SnapshotRead);
        match again {
            true => {
                self.begin_reading(env, id);
                self.pause_session(env, id, 40_000);
            }
            false => self.end_session(env, id),
        }
    }

    fn begin_reading(&mut self, env: &mut Env<'_>, id: u64) {
        let mut left: Vec<PartitionId> = env.ctx.knobs.data_partitions().collect();
        let turn = env.ctx.random.below(left.len() as u64) as usize;
        left.rotate_left(turn);
        if let Some(reader) = self.reader(id) {
            reader.left = left;
        }
    }

    pub fn reader_hears(&mut self, env: &mut Env<'_>, id: u64, partition: PartitionId, answer: Answer) {
        let visible = self.visible;
        let Some(reader) = self.reader(id) else { return };
        match answer {
            Ok(Reply::Visible(timestamp, term)) => {
                reader.newest = reader.newest.max(timestamp);
                reader.terms.insert(partition, term);
                reader.asking.retain(|&other| other != partition);
                if !reader.asking.is_empty() {
                    return;
                }
                reader.newest = reader.newest.max(visible);
                reader.is_taken = true;
                let snapshot = reader.newest;
                self.observe(snapshot);
                self.visible = self.visible.max(snapshot);
                env.ctx.tell(|| format!("a snapshot at {snapshot}"));
                self.begin_reading(env, id);
                self.read_on(env, id);
            }
            Ok(Reply::Rows(rows, beside)) => {
                reader.rows.insert(partition, rows);
                reader.beside.extend(beside);
                let longest_us = if env.ctx.random.one_in(4) { 300_000 } else { 3_000 };
                self.pause_session(env, id, longest_us);
            }
            _ => self.end_session(env, id),
        }
    }
}
