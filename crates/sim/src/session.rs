//! The client's side: transactions with their coordinators, register reads, snapshot readers, each on some node.
//!
//! A session has one request under way at a time while it works, and those of its coordinator when it commits. Whatever goes
//! wrong before the commit was asked for ends in a rollback.

use std::collections::BTreeMap;

use shoal_two_phase::{self as two_phase, Answer, Coordinator, Participant, take_home};
use shoal_types::{PartitionId, Timestamp, TransactionId};

use crate::context::{Context, Event, Undo};
use crate::knobs::Durability;
use crate::message::{self, Failure, Operation, Part, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::reader::Reader;
use crate::script::{self, Kind, Script, Task};
use crate::sights::Sight;

/// The home is asked again for the outcome after so long; and no longer than that.
const ASK_AGAIN_US: u64 = 30_000;
const PATIENCE_US: u64 = 1_500_000;
/// A client whose transaction was rolled back does not try again at once.
const AFTER_ROLLBACK_US: u64 = 10_000;
/// After one in so many commits over several partitions that are in memory alone all nodes die, so soon.
const DIES_ONE_IN: u64 = 20;
const DIES_WITHIN_US: u64 = 2_500;
/// Sessions are numbered from here on; below are the clients' slots.
const FIRST_SESSION: u64 = 1000;

pub struct Session {
    pub transaction: TransactionId,
    slot: u64,
    pub work: Work,
}

pub enum Work {
    Transaction(Transaction),
    Register { register: i32, start: u64 },
    Snapshot(Reader),
}

pub struct Transaction {
    number: usize,
    script: Script,
    parts: BTreeMap<PartitionId, JoinedPart>,
    stage: Stage,
}

struct JoinedPart {
    part: Part,
    marked: bool,
    /// Writes after the first operation.
    first_writes: u32,
}

enum Stage {
    Working,
    /// Only locks are left: the partitions are asked whether they still have them.
    Checking(usize),
    /// One partition commits.
    Committing,
    Coordinated(Box<Coordinator>, u64),
}

impl Session {
    pub fn snapshot(&self) -> Option<Timestamp> {
        match &self.work {
            Work::Snapshot(reader) => reader.snapshot(),
            _ => None,
        }
    }

    /// What is left of it when its process dies: what its client has to take for the outcome.
    pub fn dies(self, ctx: &mut Context) {
        let Work::Transaction(transaction) = self.work else { return };
        let answer = match transaction.stage {
            Stage::Coordinated(coordinator, _) => coordinator.answer().unwrap_or(Answer::Unknown),
            Stage::Committing => Answer::Unknown,
            Stage::Working | Stage::Checking(_) => Answer::NotCommitted,
        };
        tell(ctx, transaction.number, answer);
    }

    /// It has asked for a commit over several partitions.
    pub fn is_coordinating(&self) -> bool {
        let Work::Transaction(transaction) = &self.work else { return false };
        matches!(&transaction.stage, Stage::Coordinated(..))
    }
}

/// A client is told.
fn tell(ctx: &mut Context, number: usize, answer: Answer) {
    let is_news = ctx.history.records[number].answer.is_none();
    if let Err(error) = ctx.history.told(number, answer) {
        ctx.accuse(error);
    }
    if !is_news {
        return;
    }
    ctx.tell(|| format!("transaction {number}: {answer:?}"));
    match answer {
        Answer::Committed(_) => {
            ctx.see(Sight::Committed);
            let record = &ctx.history.records[number];
            let dies = record.wrote_to.len() > 1 && ctx.knobs.durability == Durability::Replicated;
            let read_and_wrote = !record.overwrote.is_empty() && !record.read.is_empty();
            if record.wrote_to.len() > 1 {
                ctx.see(Sight::CommittedOverPartitions);
            }
            if read_and_wrote {
                ctx.see(Sight::ReadAndWrote);
            }
            if dies && ctx.is_rough && ctx.random.one_in(DIES_ONE_IN) {
                let delay = ctx.random.below(DIES_WITHIN_US);
                ctx.plan(delay, Event::Undo(Undo::AllDie));
            }
        }
        Answer::NotCommitted => ctx.see(Sight::NotCommitted),
        Answer::Unknown => ctx.see(Sight::Unknown),
    }
}

impl Process {
    /// A slot has nothing to do, or a session goes on after a pause.
    pub fn client(&mut self, env: &mut Env<'_>, which: u64) {
        if which >= FIRST_SESSION {
            return self.go_on(env, which);
        }
        if env.ctx.is_closing {
            return;
        }
        if let Some(left_us) = env.ctx.quiet_until_us.checked_sub(env.ctx.now_us).filter(|&left| left > 0) {
            let delay = left_us + env.ctx.random.below(5_000);
            return env.ctx.plan(delay, Event::Client(self.me, self.life, which));
        }
        let knobs = env.ctx.knobs.clone();
        let task = match env.ctx.history.needs_opening() {
            true => Task::Transaction(script::opening(&knobs)),
            false if !env.ctx.is_rough => return self.rest(env, which),
            false => script::draw(&knobs, &mut env.ctx.random, &mut env.ctx.history),
        };
        self.begin_task(env, which, task);
    }

    pub fn begin_task(&mut self, env: &mut Env<'_>, slot: u64, task: Task) {
        let transaction = self.next_transaction();
        let work = match task {
            Task::Transaction(script) => Work::Transaction(begin_transaction(env.ctx, script)),
            Task::ReadRegister(register) => Work::Register { register, start: env.ctx.history.moment() },
            Task::Snapshot => Work::Snapshot(Reader::new(env.ctx)),
        };
        let id = FIRST_SESSION + self.next_token();
        self.sessions.insert(id, Session { transaction, slot, work });
        self.go_on(env, id);
    }

    fn rest(&mut self, env: &mut Env<'_>, slot: u64) {
        let (low, high) = env.ctx.knobs.think_us;
        let delay = 100 + env.ctx.random.between(low, high);
        env.ctx.plan(delay, Event::Client(self.me, self.life, slot));
    }

    /// The session has ended; its client thinks of something else.
    pub fn end_session(&mut self, env: &mut Env<'_>, id: u64) {
        if let Some(session) = self.sessions.remove(&id) {
            self.rest(env, session.slot);
        }
    }

    pub fn pause_session(&mut self, env: &mut Env<'_>, id: u64, longest_us: u64) {
        let delay = env.ctx.random.between(1, longest_us.max(1));
        env.ctx.plan(delay, Event::Client(self.me, self.life, id));
    }

    fn go_on(&mut self, env: &mut Env<'_>, id: u64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match &mut session.work {
            Work::Register { register, .. } => {
                let partition = env.ctx.knobs.partition_of(*register);
                let request = Request::ReadNewest(partition, *register);
                self.call_leader(env, request, Owner::Session(id, partition));
            }
            Work::Snapshot(_) => self.read_on(env, id),
            Work::Transaction(transaction) => match &mut transaction.stage {
                Stage::Working => self.work_on(env, id),
                Stage::Coordinated(coordinator, give_up_at) => {
                    match env.ctx.now_us < *give_up_at {
                        true => coordinator.ask_again(),
                        false => coordinator.give_up(),
                    }
                    self.follow_coordinator(env, id);
                }
                Stage::Checking(_) | Stage::Committing => {}
            },
        }
    }

    pub fn transaction_of(&mut self, id: u64) -> Option<(TransactionId, &mut Transaction)> {
        let session = self.sessions.get_mut(&id)?;
        match &mut session.work {
            Work::Transaction(transaction) => Some((session.transaction, transaction)),
            _ => None,
        }
    }

    /// Sends the next operation, or begins the end.
    fn work_on(&mut self, env: &mut Env<'_>, id: u64) {
        let Some((transaction, state)) = self.transaction_of(id) else { return };
        let Some((partition, mut operation)) = state.script.next() else {
            return self.end_work(env, id);
        };
        let number = state.number as i32;
        if let Operation::Append(made_by) = &mut operation {
            *made_by = number;
        }
        let joined = state.parts.entry(partition).or_insert(JoinedPart {
            part: Part { partition, transaction, term: 0, writes: 0 },
            marked: false,
            first_writes: 0,
        });
        if let Operation::RollBackTo(mark) = &mut operation {
            *mark = joined.first_writes;
        }
        let part = joined.part;
        let marks = operation.writes() && !joined.marked;
        joined.marked |= marks;
        if marks {
            env.ctx.history.records[number as usize].wrote_to.insert(partition);
        }
        let request = Request::Work(part, operation, marks.then_some(number));
        self.call_leader(env, request, Owner::Session(id, partition));
    }

    /// All operations are done.
    fn end_work(&mut self, env: &mut Env<'_>, id: u64) {
        let near = env.ctx.knobs.all_partitions().filter(|id| self.leaders.of(id.0) == Some(self.me));
        let near: Vec<PartitionId> = near.collect();
        let Some((transaction, state)) = self.transaction_of(id) else { return };
        let parts: Vec<Part> = state.parts.values().map(|joined| joined.part).collect();
        let writers = parts.iter().filter(|part| part.writes > 0).count();
        if writers == 0 {
            state.stage = Stage::Checking(parts.len());
            for part in parts {
                self.call_leader(env, Request::CheckRead(part), Owner::Session(id, part.partition));
            }
        } else if parts.len() == 1 && !env.ctx.random.one_in(10) {
            state.stage = Stage::Committing;
            self.call_leader(env, Request::Commit(parts[0]), Owner::Session(id, parts[0].partition));
        } else {
            let participant =
                |part: &Part| Participant { partition: part.partition, term: part.term, writes: part.writes };
            let mut others: Vec<Participant> = parts.iter().map(participant).collect();
            let Some(home) = take_home(&mut others, |partition| near.contains(&partition)) else { return };
            let coordinator = Box::new(Coordinator::new(transaction, home, others));
            state.stage = Stage::Coordinated(coordinator, u64::MAX);
            self.follow_coordinator(env, id);
        }
    }

    // ---- what comes back ----

    pub fn session_hears(&mut self, env: &mut Env<'_>, id: u64, partition: PartitionId, answer: message::Answer) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match &mut session.work {
            Work::Register { register, start } => {
                let (register, start) = (*register, *start);
                if let Ok(Reply::Value(value)) = answer {
                    env.ctx.history.register_read(register, start, value);
                    env.ctx.see(Sight::RegisterRead);
                    env.ctx.tell(|| format!("register {register} is {value:?}"));
                }
                self.end_session(env, id);
            }
            Work::Snapshot(_) => self.reader_hears(env, id, partition, answer),
            Work::Transaction(transaction) => match &transaction.stage {
                Stage::Working => self.worked(env, id, partition, answer),
                Stage::Checking(_) => self.checked(env, id, answer),
                Stage::Committing => self.committed(env, id, answer),
                Stage::Coordinated(..) => self.coordinator_hears(env, id, partition, answer),
            },
        }
    }

    fn worked(&mut self, env: &mut Env<'_>, id: u64, partition: PartitionId, answer: message::Answer) {
        let knobs = env.ctx.knobs.clone();
        let Some((_, state)) = self.transaction_of(id) else { return };
        let Ok(Reply::Worked(term, writes, value)) = answer else {
            return self.abort(env, id);
        };
        let Some(joined) = state.parts.get_mut(&partition) else { return };
        if joined.part.term != 0 && joined.part.term != term {
            return self.abort(env, id);
        }
        if joined.part.term == 0 {
            joined.first_writes = writes;
        }
        (joined.part.term, joined.part.writes) = (term, writes);
        let number = state.number;
        if let Some((_, operation)) = state.script.next() {
            note_operation(env.ctx, number, operation, value);
        }
        state.script.found(&knobs, value);
        self.pause_session(env, id, 1 + knobs.think_us.1 / 20);
    }

    /// Rolls back what has not been prepared.
    fn abort(&mut self, env: &mut Env<'_>, id: u64) {
        let Some((transaction, state)) = self.transaction_of(id) else { return };
        let (number, parts) = (state.number, state.parts.keys().copied().collect::<Vec<_>>());
        for partition in parts {
            self.tell_leader(env, Request::Rollback(partition, transaction));
        }
        tell(env.ctx, number, Answer::NotCommitted);
        let slot = self.sessions.remove(&id).map_or(0, |session| session.slot);
        let delay = AFTER_ROLLBACK_US / 2 + env.ctx.random.below(AFTER_ROLLBACK_US);
        env.ctx.plan(delay, Event::Client(self.me, self.life, slot));
    }

    fn checked(&mut self, env: &mut Env<'_>, id: u64, answer: message::Answer) {
        let Some((_, state)) = self.transaction_of(id) else { return };
        let Stage::Checking(left) = &mut state.stage else { return };
        if !matches!(answer, Ok(Reply::Fine)) {
            return self.abort(env, id);
        }
        *left -= 1;
        if *left > 0 {
            return;
        }
        let (number, sum, kind) = (state.number, state.script.sum(), state.script.kind);
        let ends = state.script.ends();
        if kind == Kind::Sum {
            let money = env.ctx.history.money();
            if sum != money {
                env.ctx.accuse(format!("transaction {number} found {sum} instead of {money} under its locks"));
            }
            env.ctx.see(Sight::LockingSum);
        }
        if kind == Kind::Twice {
            let (first, last) = ends;
            if first != last {
                env.ctx.accuse(format!("transaction {number} found other rows when it read a locked range again"));
            }
            env.ctx.see(Sight::RangeReadAgain);
        }
        tell(env.ctx, number, Answer::Committed(Timestamp::ZERO));
        self.end_session(env, id);
    }

    fn committed(&mut self, env: &mut Env<'_>, id: u64, answer: message::Answer) {
        let Some((_, state)) = self.transaction_of(id) else { return };
        let number = state.number;
        let answer = match answer {
            Ok(Reply::Committed(timestamp)) => Answer::Committed(timestamp),
            Ok(Reply::Unknown) | Err(Failure::Lost) => Answer::Unknown,
            _ => return self.abort(env, id),
        };
        tell(env.ctx, number, answer);
        self.end_session(env, id);
    }

    // ---- the coordinator ----

    fn coordinator_hears(&mut self, env: &mut Env<'_>, id: u64, partition: PartitionId, answer: message::Answer) {
        let Some((_, state)) = self.transaction_of(id) else { return };
        let Stage::Coordinated(coordinator, _) = &mut state.stage else { return };
        let is_home = coordinator.home() == partition;
        let is_decided = matches!(coordinator.answer(), Some(Answer::Committed(_)));
        match answer {
            Ok(Reply::Prepared(timestamp)) => coordinator.prepared(partition, timestamp),
            Ok(Reply::Committed(timestamp)) => coordinator.home_committed(timestamp),
            Ok(Reply::Outcome(outcome)) => coordinator.home_answered(outcome),
            Ok(Reply::Fine) if is_decided => coordinator.decided(partition),
            Ok(Reply::Fine) => {}
            Ok(Reply::Unknown) | Err(Failure::Lost) => coordinator.lost_contact(partition),
            _ if is_decided || coordinator.is_asking() => coordinator.lost_contact(partition),
            _ if is_home => coordinator.home_refused(),
            _ => coordinator.refused(partition),
        }
        self.follow_coordinator(env, id);
    }

    /// Sends what the coordinator wants sent, and tells the client.
    fn follow_coordinator(&mut self, env: &mut Env<'_>, id: u64) {
        let Some((transaction, state)) = self.transaction_of(id) else { return };
        let number = state.number;
        let Stage::Coordinated(coordinator, give_up_at) = &mut state.stage else { return };
        let requests = coordinator.take_requests();
        let (answer, is_finished) = (coordinator.answer(), coordinator.is_finished());
        let asks = coordinator.is_asking();
        if asks && *give_up_at == u64::MAX {
            *give_up_at = env.ctx.now_us + PATIENCE_US;
        }
        if asks {
            env.ctx.plan(ASK_AGAIN_US, Event::Client(self.me, self.life, id));
        }
        for request in requests {
            let partition = request.partition();
            let wants_reply =
                !matches!(request, two_phase::Request::Rollback { .. } | two_phase::Request::Confirm { .. });
            let request = Request::TwoPhase(transaction, request);
            match wants_reply {
                true => self.call_leader(env, request, Owner::Session(id, partition)),
                false => self.tell_leader(env, request),
            }
        }
        if let Some(answer) = answer {
            tell(env.ctx, number, answer);
        }
        if is_finished {
            self.end_session(env, id);
        }
    }
}

fn begin_transaction(ctx: &mut Context, script: Script) -> Transaction {
    let number = ctx.history.begin();
    ctx.tell(|| format!("transaction {number} begins: {:?}", script.operations));
    for (_, operation) in &script.operations {
        if let Operation::Put((id, value)) = *operation
            && (crate::rows::REGISTERS..crate::rows::COUNTERS).contains(&id)
        {
            ctx.history.begin_register_write(number, id, value);
        }
    }
    Transaction { number, script, parts: BTreeMap::new(), stage: Stage::Working }
}

fn note_operation(ctx: &mut Context, number: usize, operation: Operation, before: Option<i32>) {
    let is_register = |id: i32| (crate::rows::REGISTERS..crate::rows::COUNTERS).contains(&id);
    let record = &mut ctx.history.records[number];
    match operation {
        Operation::Put((id, value)) if is_register(id) => record.overwrote.push((id, before, value)),
        Operation::ReadShared(id) | Operation::ReadExclusive(id) if is_register(id) => {
            record.read.push((id, before))
        }
        _ => {}
    }
    match operation {
        Operation::Add(id, amount) if id >= crate::rows::COUNTERS => record.counts.push((id, amount)),
        Operation::RollBackTo(_) => {
            record.counts.pop();
            ctx.see(Sight::RolledBackTo);
        }
        _ => {}
    }
}

impl Process {
    /// A client is gone; another one takes its slot.
    pub fn replace_client(&mut self, env: &mut Env<'_>, session: Session) {
        self.rest(env, session.slot);
        session.dies(env.ctx);
    }
}
