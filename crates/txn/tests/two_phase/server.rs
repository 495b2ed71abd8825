//! A partition as a server: its log, what of it is durable, its checkpoint, its clock, and the requests that wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_partition::*;
use shoal_txn::two_phase::Request;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::schema::TableOptions;
use shoal_types::*;

use crate::world::{Call, Event};

pub const TABLE: TableId = TableId(7);
const PRIMARY: IndexId = IndexId(0);
/// Rows from here on tell that a transaction has committed here; those before are accounts.
pub const FIRST_MARKER: i32 = 1000;

/// t (id INT PRIMARY KEY, k INT, KEY (k))
fn schema() -> TableSchema {
    let column = |name: &str| Column::new(name, SqlType::new(BaseType::Int));
    let index = |id: u32, position: usize| {
        Index::new(IndexId(id), format!("i{id}"), &[position], id == 0, IndexMethod::BTree)
    };
    TableSchema {
        id: TABLE,
        version: 1,
        database: "test".into(),
        name: "t".into(),
        columns: vec![column("id"), column("k")],
        indexes: vec![index(0, 0), index(1, 1)],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions::new("NDB", Collation::UTF8MB4_0900_AI_CI),
    }
}

pub fn key(id: i32) -> [u8; 4] {
    ((id as u32) ^ 0x8000_0000).to_be_bytes()
}

pub fn encode(id: i32, k: i32) -> Vec<u8> {
    let layout = RowLayout::new(schema().columns.iter().map(|column| column.sql_type.clone()).collect());
    let mut bytes = Vec::new();
    layout.encode(&[Value::Int(id.into()), Value::Int(k.into())], &TimeZone::UTC, &mut bytes).unwrap();
    bytes
}

pub fn decode(row: RowRef<'_>) -> (i32, i32) {
    (row.word(0) as i32, row.word(1) as i32)
}

/// Whose request it is.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    pub client: usize,
    pub transaction: TransactionId,
}

/// To whom the outcome of a proposal goes.
enum Waiting {
    Prepare(Asker, Timestamp),
    HomeCommit(Asker, Timestamp),
    Decide(Asker),
    /// The decision came from the home.
    Told {
        transaction: TransactionId,
        home: usize,
    },
    Nobody,
}

/// A message on its way, or something that a client is to hear.
pub enum Send {
    Call(usize, Call),
    Hear(Asker, Event),
}

pub struct Server {
    pub partition: Partition,
    pub number: usize,
    /// Counts this partition's leaders.
    pub term: u64,
    pub clock: u64,
    log: Vec<(u64, u64, Vec<u8>)>,
    durable: usize,
    /// To be reported when the log is durable.
    unpersisted: Option<u64>,
    checkpoint: Vec<Vec<u8>>,
    making: Option<(CheckpointCursor, Vec<Vec<u8>>)>,
    waiting: BTreeMap<CommitToken, Waiting>,
    next_token: u64,
    pub sends: Vec<Send>,
}

fn empty_partition(number: usize) -> Partition {
    Partition::new(PartitionConfig::single(PartitionId(number as u32), Arc::new(MemoryBudget::new(1 << 30))))
}

impl Server {
    /// Accounts with these balances, all of it durable.
    pub fn new(number: usize, clock: u64, balances: &[i32]) -> Server {
        let mut partition = empty_partition(number);
        partition.start().unwrap();
        let mut server = Server {
            partition,
            number,
            term: 0,
            clock,
            log: Vec::new(),
            durable: 0,
            unpersisted: None,
            checkpoint: Vec::new(),
            making: None,
            waiting: BTreeMap::new(),
            next_token: 0,
            sends: Vec::new(),
        };
        server.settle();
        server.partition.create_fragment(Arc::new(schema()), CommitToken(0)).unwrap();
        server.settle();
        let first = TransactionId(1);
        for (id, &balance) in balances.iter().enumerate() {
            let row = encode(id as i32, balance);
            assert!(server.partition.insert(first, TABLE, &row, WaitToken(0)).unwrap().is_ready());
        }
        let timestamp = server.tick();
        server.partition.propose_commit(first, timestamp, CommitToken(0)).unwrap();
        server.settle();
        server.term = server.partition.applied_term();
        server
    }

    pub fn observe(&mut self, seen: Timestamp) {
        self.clock = self.clock.max(seen.0);
    }

    fn tick(&mut self) -> Timestamp {
        self.observe(self.partition.newest_timestamp());
        self.clock += 1;
        Timestamp(self.clock)
    }

    fn token(&mut self, waiting: Waiting) -> CommitToken {
        self.next_token += 1;
        let token = CommitToken(self.next_token);
        self.waiting.insert(token, waiting);
        token
    }

    // ---- the log ----

    /// Takes what the partition has put out. Entries are in the log, and not durable yet.
    pub fn drain(&mut self) {
        let outputs = self.partition.outputs();
        outputs.woken.clear();
        outputs.hard_state = None;
        assert!(outputs.lost.is_empty());
        if !outputs.append.is_empty() {
            self.unpersisted = Some(outputs.number);
        }
        for entry in outputs.append.drain(..) {
            self.log.push((entry.index(), entry.term(), entry.data().to_vec()));
        }
        let committed = std::mem::take(&mut self.partition.outputs().committed);
        for token in committed {
            self.answer(token);
        }
    }

    pub fn is_unpersisted(&self) -> bool {
        self.unpersisted.is_some()
    }

    pub fn persist(&mut self) {
        self.drain();
        if let Some(number) = self.unpersisted.take() {
            self.durable = self.log.len();
            self.partition.persisted(number).unwrap();
            self.drain();
        }
    }

    fn settle(&mut self) {
        self.persist();
        while self.is_unpersisted() {
            self.persist();
        }
    }

    /// The process dies and starts again from what is durable; the clients whose requests waited are told that
    /// contact is lost. No snapshot is later than `latest_snapshot`.
    pub fn restart(&mut self, latest_snapshot: Timestamp) {
        self.log.truncate(self.durable);
        self.unpersisted = None;
        self.making = None;
        self.partition = self.restored();
        self.partition.start().unwrap();
        self.clock = 0;
        self.observe(self.partition.newest_timestamp());
        self.observe(latest_snapshot);
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            if let Waiting::Prepare(asker, _) | Waiting::HomeCommit(asker, _) | Waiting::Decide(asker) = waiting {
                self.sends.push(Send::Hear(asker, Event::LostContact(self.number)));
            }
        }
        self.settle();
        self.term = self.partition.applied_term();
    }

    /// The partition as its checkpoint and log have it.
    pub fn restored(&self) -> Partition {
        let mut partition = empty_partition(self.number);
        for block in &self.checkpoint {
            partition.install_checkpoint_block(block).unwrap();
        }
        for (index, term, data) in &self.log {
            partition.replay(*index, *term, data).unwrap();
        }
        partition
    }

    /// Begins a checkpoint, or writes its next record; a finished one takes the place of the log before it.
    pub fn go_on_with_checkpoint(&mut self) {
        let Some((cursor, blocks)) = &mut self.making else {
            self.making = Some((self.partition.begin_checkpoint(), Vec::new()));
            return;
        };
        let mut block = Vec::new();
        if self.partition.next_checkpoint_block(cursor, 1, &mut block).unwrap() {
            blocks.push(block);
            return;
        }
        let Some((cursor, blocks)) = self.making.take() else { return };
        let behind = self.log.iter().take_while(|(index, ..)| *index <= cursor.index()).count();
        self.log.drain(..behind);
        self.durable -= behind;
        self.checkpoint = blocks;
        self.partition.end_checkpoint(cursor);
    }

    pub fn finish_checkpoint(&mut self) {
        while self.making.is_some() {
            self.go_on_with_checkpoint();
        }
    }

    pub fn has_checkpoint(&self) -> bool {
        !self.checkpoint.is_empty()
    }

    /// Versions before `horizon` are not needed any more.
    pub fn collect_garbage(&mut self, horizon: Timestamp) {
        self.partition.set_gc_horizon(horizon);
        self.partition.collect_garbage(usize::MAX);
    }

    // ---- operations ----

    /// What a transaction joined with still holds.
    pub fn check_joined(&self, transaction: TransactionId, term: u64, writes: u32) -> bool {
        term == self.term && self.partition.savepoint(transaction).0 == writes
    }

    /// Changes an account's balance; one without money is not there. `None`: wait and try again. `Some(false)`: the
    /// account would be overdrawn.
    pub fn add(&mut self, transaction: TransactionId, account: i32, amount: i32) -> Option<bool> {
        let lock = LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::Wait, lock_gaps: true };
        let view = ReadView::newest(Some(transaction), WaitToken(transaction.0));
        let balance = match self.partition.get(&view, TABLE, &key(account), Some(lock)).unwrap() {
            Step::Ready(row) => row.map(decode).map(|(_, balance)| balance),
            Step::Wait(_) => return None,
        };
        let (token, after) = (WaitToken(transaction.0), balance.unwrap_or(0) + amount);
        let row = encode(account, after);
        let step = match (balance, after) {
            (_, ..0) => return Some(false),
            (None, _) => self.partition.insert(transaction, TABLE, &row, token),
            (Some(_), 0) => self.partition.delete(transaction, TABLE, &key(account), token),
            (Some(_), _) => self.partition.update(transaction, TABLE, &row, token),
        };
        assert!(matches!(step.unwrap(), Step::Ready(WriteOutcome::Done)), "the row is locked");
        self.drain();
        Some(true)
    }

    pub fn mark(&mut self, transaction: TransactionId, number: usize) {
        let row = encode(FIRST_MARKER + number as i32, number as i32);
        assert!(self.partition.insert(transaction, TABLE, &row, WaitToken(0)).unwrap().is_ready());
        self.drain();
    }

    /// Shows at most two rows of a scan; true when it has ended, `None` when it has to wait.
    pub fn scan(&mut self, snapshot: Timestamp, cursor: &mut Cursor, rows: &mut Vec<(i32, i32)>) -> Option<bool> {
        self.observe(snapshot);
        let view = ReadView { snapshot, ..ReadView::newest(None, WaitToken(0)) };
        let state = self.partition.scan(&view, cursor, None, 2, &mut |row| {
            rows.push(decode(row));
            VisitAnswer::Continue
        });
        self.drain();
        match state.unwrap() {
            Step::Ready(state) => Some(state == ScanState::Done),
            Step::Wait(_) => None,
        }
    }

    pub fn cursor() -> Cursor {
        Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward)
    }

    // ---- requests ----

    pub fn serve(&mut self, call: Call) {
        match call {
            Call::Coordinator { asker, request } => {
                if let Some(event) = self.serve_coordinator(asker, request) {
                    self.sends.push(Send::Hear(asker, event));
                }
            }
            Call::Ask { transaction, participant } => {
                let decision = match self.partition.outcome_of(transaction) {
                    HomeOutcome::Committed(timestamp) => Decision::Commit(timestamp),
                    HomeOutcome::Aborted => Decision::Abort,
                    HomeOutcome::InFlight => return,
                };
                let home = self.number;
                self.sends.push(Send::Call(participant, Call::Tell { transaction, decision, home }));
            }
            Call::Tell { transaction, decision, home } => {
                let waiting = match decision {
                    Decision::Commit(_) => Waiting::Told { transaction, home },
                    Decision::Abort => Waiting::Nobody,
                };
                let token = self.token(waiting);
                if self.decide(transaction, decision, token) == DecisionStart::Done {
                    self.answer(token);
                }
            }
            Call::Confirm { transaction, confirmation } => self.partition.confirm(transaction, confirmation),
        }
        self.drain();
    }

    fn decide(&mut self, transaction: TransactionId, decision: Decision, token: CommitToken) -> DecisionStart {
        if let Decision::Commit(timestamp) = decision {
            self.observe(timestamp);
        }
        self.partition.propose_decision(transaction, decision, token).unwrap()
    }

    /// The reply, if it is there at once.
    fn serve_coordinator(&mut self, asker: Asker, request: Request) -> Option<Event> {
        let transaction = asker.transaction;
        match request {
            Request::Prepare { participant, home } => {
                if participant.term != self.term {
                    return Some(Event::Refused(self.number));
                }
                let timestamp = self.tick();
                let token = self.token(Waiting::Prepare(asker, timestamp));
                let writes = participant.writes;
                match self.partition.propose_prepare(transaction, home, timestamp, writes, token) {
                    Ok(CommitStart::Proposed) => None,
                    Ok(CommitStart::ReadOnly) => Some(Event::Prepared(self.number, None)),
                    Err(_) => Some(Event::Refused(self.number)),
                }
            }
            Request::HomeCommit { home, after, participants } => {
                if home.term != self.term {
                    return Some(Event::HomeRefused);
                }
                self.observe(after);
                let timestamp = self.tick();
                let token = self.token(Waiting::HomeCommit(asker, timestamp));
                let writes = home.writes;
                match self.partition.propose_home_commit(transaction, timestamp, &participants, writes, token) {
                    Ok(()) => None,
                    Err(_) => Some(Event::HomeRefused),
                }
            }
            Request::OutcomeOf { .. } => Some(Event::HomeAnswered(self.partition.outcome_of(transaction))),
            Request::Decide { decision, .. } => {
                let waiting = match decision {
                    Decision::Commit(_) => Waiting::Decide(asker),
                    Decision::Abort => Waiting::Nobody,
                };
                let token = self.token(waiting);
                if self.decide(transaction, decision, token) == DecisionStart::Done {
                    self.answer(token);
                }
                None
            }
            Request::Rollback { .. } => {
                self.partition.rollback(transaction);
                None
            }
            Request::Confirm { participants, .. } => {
                for participant in participants {
                    self.partition.confirm(transaction, Confirmation::Participant(participant));
                }
                self.partition.confirm(transaction, Confirmation::Coordinator);
                None
            }
        }
    }

    /// A proposal has been applied.
    fn answer(&mut self, token: CommitToken) {
        let send = match self.waiting.remove(&token) {
            Some(Waiting::Prepare(asker, timestamp)) => {
                Send::Hear(asker, Event::Prepared(self.number, Some(timestamp)))
            }
            Some(Waiting::HomeCommit(asker, timestamp)) => Send::Hear(asker, Event::HomeCommitted(timestamp)),
            Some(Waiting::Decide(asker)) => Send::Hear(asker, Event::Decided(self.number)),
            Some(Waiting::Told { transaction, home }) => {
                let confirmation = Confirmation::Participant(self.partition.config().id);
                Send::Call(home, Call::Confirm { transaction, confirmation })
            }
            Some(Waiting::Nobody) | None => return,
        };
        self.sends.push(send);
    }

    /// Asks homes about transactions in doubt, tells participants that have not confirmed, forgets, and rolls back what
    /// its coordinator should have rolled back. `runs` asks the node of a transaction's coordinator whether it still has
    /// to do with it.
    pub fn take_over(&mut self, runs: impl Fn(TransactionId) -> bool) {
        for transaction in self.partition.active_transactions() {
            if !runs(transaction) {
                self.partition.rollback(transaction);
            }
        }
        for (transaction, home) in self.partition.in_doubt() {
            let call = Call::Ask { transaction, participant: self.number };
            self.sends.push(Send::Call(home.0 as usize, call));
        }
        for Unconfirmed { transaction, timestamp, participants, coordinator } in self.partition.unconfirmed() {
            let (decision, home) = (Decision::Commit(timestamp), self.number);
            for participant in participants {
                let call = Call::Tell { transaction, decision, home };
                self.sends.push(Send::Call(participant.0 as usize, call));
            }
            if coordinator && !runs(transaction) {
                self.partition.confirm(transaction, Confirmation::Coordinator);
            }
        }
        let token = self.token(Waiting::Nobody);
        self.partition.propose_forget(token).unwrap();
        self.drain();
    }
}
