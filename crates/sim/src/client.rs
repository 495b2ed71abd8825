//! The client's side: transactions with their coordinators, register reads, snapshot readers, each on some node.
//!
//! A session has one request under way at a time while it works, and those of its coordinator when it commits. Whatever goes
//! wrong before the commit was asked for ends in a rollback.

use std::collections::BTreeMap;

use shoal_two_phase::{self as two_phase, Answer, Coordinator, Participant, take_home};
use shoal_types::{NodeId, PartitionId, Timestamp, TransactionId};

use crate::context::{Context, Event};
use crate::cycles::{Level, Read};
use crate::message::{self, Failure, Operation, Part, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::rows::is_counter;
use crate::script::{self, Kind, Script, Task};
use crate::session::{JoinedPart, Reader, Session, Stage, Transaction, Work, tell};
use crate::sights::Sight;
use crate::statements::{Found, Program, sight_of};

/// The home is asked again for the outcome after so long; and no longer than that.
const ASK_AGAIN_US: u64 = 30_000;
const PATIENCE_US: u64 = 1_500_000;
/// A client whose transaction was rolled back does not try again at once.
const AFTER_ROLLBACK_US: u64 = 10_000;
/// Between two operations of a statement, once in so many, there is time enough for another leader.
const STATEMENTS_PER_DELAY: u64 = 24;
const DELAY_US: u64 = 700_000;
/// Sessions are numbered from here on; below are the clients' slots.
const FIRST_SESSION: u64 = 1000;

impl Process {
    /// A slot has nothing to do, or a session goes on after a pause.
    pub fn client(&mut self, env: &mut Env<'_>, which: u64) {
        if which >= FIRST_SESSION {
            return self.go_on(env, which);
        }
        if env.ctx.is_closing {
            match env.ctx.history.requests.take_unsure() {
                Some(request) => self.begin_task(env, which, Task::Look(request)),
                None if env.ctx.history.requests.has_open() => self.rest(env, which),
                None => {}
            }
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
            false => match env.ctx.random.one_in(3).then(|| env.ctx.history.requests.take_unsure()).flatten() {
                Some(request) => Task::Look(request),
                None => script::draw(&knobs, &mut env.ctx.random, &mut env.ctx.history),
            },
        };
        self.begin_task(env, which, task);
    }

    pub fn begin_task(&mut self, env: &mut Env<'_>, slot: u64, task: Task) {
        let transaction = self.next_transaction();
        let work = match task {
            Task::Transaction(script) => {
                Work::Transaction(begin_transaction(env.ctx, (self.me, self.life), script))
            }
            Task::Look(request) => Work::Look(request),
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
            Work::Look(request) => {
                let row = crate::rows::REQUESTS + *request;
                let partition = env.ctx.knobs.partition_of(row);
                self.call_leader(env, Request::ReadNewest(partition, row), Owner::Session(id, partition));
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
        if state.script.kind == Kind::Batch {
            return self.send_batch(env, id);
        }
        let number = state.number as i32;
        if let Operation::Append(made_by) = &mut operation {
            *made_by = number;
        }
        let joined = state.parts.entry(partition).or_insert(JoinedPart {
            part: Part { partition, transaction, term: 0, writes: 0, joined_for_ms: 0 },
            marked: false,
            first_writes: 0,
        });
        if let Operation::RollBackTo(mark) = &mut operation {
            *mark = joined.first_writes;
        }
        joined.part.joined_for_ms = state.first_joined.map_or(0, |first| env.now.since(first));
        let part = joined.part;
        let marks = operation.writes() && !joined.marked;
        joined.marked |= marks;
        if marks {
            env.ctx.history.records[number as usize].wrote_to.insert(partition);
        }
        let request = Request::Work(part, operation, marks.then_some(number));
        self.call_leader(env, request, Owner::Session(id, partition));
    }

    /// Everything goes to the one partition at once.
    fn send_batch(&mut self, env: &mut Env<'_>, id: u64) {
        let Some((transaction, state)) = self.transaction_of(id) else { return };
        let Some(&(partition, _)) = state.script.operations.first() else { return };
        let part = Part { partition, transaction, term: 0, writes: 0, joined_for_ms: 0 };
        state.parts.insert(partition, JoinedPart { part, marked: true, first_writes: 0 });
        state.stage = Stage::Committing;
        let operations: Vec<Operation> = state.script.operations.iter().map(|&(_, operation)| operation).collect();
        let number = state.number;
        env.ctx.history.records[number].wrote_to.insert(partition);
        operations.iter().for_each(|&operation| note_operation(env.ctx, number, operation, None));
        self.call_leader(env, Request::Batch(part, operations, number as i32), Owner::Session(id, partition));
    }

    /// All operations are done.
    fn end_work(&mut self, env: &mut Env<'_>, id: u64) {
        let near = env.ctx.knobs.all_partitions().filter(|id| self.leaders.of(id.0) == Some(self.me));
        let near: Vec<PartitionId> = near.collect();
        let Some((transaction, state)) = self.transaction_of(id) else { return };
        // Where it has only read without locks it has nothing.
        state.parts.retain(|_, joined| joined.part.term != 0);
        let parts: Vec<Part> = state.parts.values().map(|joined| joined.part).collect();
        let cascaded = state.program.as_ref().is_some_and(Program::has_cascaded);
        env.ctx.history.records[state.number].cascaded = cascaded;
        if parts.is_empty() {
            let number = state.number;
            tell(env.ctx, number, Answer::Committed(Timestamp::ZERO));
            return self.end_session(env, id);
        }
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
            Work::Look(request) => {
                let request = *request;
                self.looked(env, id, request, answer);
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

    /// A client has looked for its request: what is not there it does again.
    fn looked(&mut self, env: &mut Env<'_>, id: u64, request: i32, answer: message::Answer) {
        match answer {
            Ok(Reply::Value(Some(_))) => {
                let moment = env.ctx.history.moment();
                env.ctx.history.requests.found(request, moment);
                env.ctx.see(Sight::FoundAfterUnknown);
                self.end_session(env, id);
            }
            Ok(Reply::Value(None)) => {
                let script = script::once(&env.ctx.knobs.clone(), request, &env.ctx.history);
                if let Some(session) = self.sessions.remove(&id) {
                    self.begin_task(env, session.slot, Task::Transaction(script));
                }
            }
            _ => {
                env.ctx.history.requests.unsure(request);
                self.end_session(env, id);
            }
        }
    }

    fn worked(&mut self, env: &mut Env<'_>, id: u64, partition: PartitionId, answer: message::Answer) {
        let knobs = env.ctx.knobs.clone();
        let Some((_, state)) = self.transaction_of(id) else { return };
        if matches!(answer, Ok(Reply::Deadlock)) && state.script.kind == Kind::SingleRow {
            let number = state.number;
            env.ctx.accuse(format!("transaction {number} changes one row by itself and is told of a deadlock"));
        }
        let (term, writes, value, list) = match answer {
            Ok(Reply::Worked(term, writes, value)) => (term, writes, value, None),
            Ok(Reply::List(term, writes, list)) => (term, writes, None, Some(list)),
            answer => {
                let number = state.number;
                env.ctx.tell(|| format!("transaction {number} cannot go on: {answer:?}"));
                return self.abort(env, id);
            }
        };
        let Some(joined) = state.parts.get_mut(&partition) else { return };
        if joined.part.term != 0 && joined.part.term != term {
            return self.abort(env, id);
        }
        if joined.part.term == 0 && term != 0 {
            joined.first_writes = writes;
            state.first_joined.get_or_insert(env.now);
        }
        (joined.part.term, joined.part.writes) = (term, writes);
        let number = state.number;
        let found = list.clone().map_or(Found::Row(value), Found::Children);
        if let Some((_, operation)) = state.script.next() {
            match list {
                Some(list) => note_list(env.ctx, number, operation, list),
                None => note_operation(env.ctx, number, operation, value),
            }
        }
        state.script.found(&knobs, value);
        let mut pause_us = 1 + knobs.think_us.1 / 20;
        if let Some(program) = &mut state.program {
            if env.ctx.random.one_in(STATEMENTS_PER_DELAY) {
                pause_us = DELAY_US;
            }
            match program.go_on(Some(found)) {
                Ok(next) => state.script.operations.extend(next),
                Err(refusal) => {
                    env.ctx.tell(|| format!("transaction {number} is refused: {refusal}"));
                    sight_of(&refusal).into_iter().for_each(|sight| env.ctx.see(sight));
                    return self.abort(env, id);
                }
            }
        }
        self.pause_session(env, id, pause_us);
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
        let (kind, first) = (state.script.kind, state.script.ends().0);
        tell(env.ctx, number, answer);
        match (kind, answer) {
            (Kind::Batch, Answer::Committed(_)) => env.ctx.see(Sight::BatchCommitted),
            (Kind::Block(sequence), Answer::Committed(_)) => {
                env.ctx.see(Sight::BlockTaken);
                if let Err(error) = env.ctx.history.took_block(sequence, first.unwrap_or(0)) {
                    env.ctx.accuse(error);
                }
            }
            _ => {}
        }
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

fn begin_transaction(ctx: &mut Context, process: (NodeId, u64), mut script: Script) -> Transaction {
    let number = ctx.history.begin(process);
    if let Kind::Once(request) = script.kind {
        ctx.history.records[number].request = Some(request);
    }
    let program = begin_program(ctx, &mut script);
    ctx.tell(|| format!("transaction {number} begins: {:?}, {:?}", script.kind, script.operations));
    for (_, operation) in &script.operations {
        if let Operation::Put((id, value)) = *operation
            && (crate::rows::REGISTERS..crate::rows::COUNTERS).contains(&id)
        {
            ctx.history.begin_register_write(number, id, value);
        }
    }
    Transaction { number, script, program, parts: BTreeMap::new(), first_joined: None, stage: Stage::Working }
}

/// Statements say what they begin with.
fn begin_program(ctx: &Context, script: &mut Script) -> Option<Program> {
    let Kind::Statements(first, second) = script.kind else { return None };
    let mut program = Program::new(ctx.knobs.clone(), std::iter::once(first).chain(second).collect());
    let next = program.go_on(None).expect("nothing is refused before anything was read");
    script.operations.extend(next);
    Some(program)
}

/// A list was read.
fn note_list(ctx: &mut Context, number: usize, operation: Operation, elements: Vec<i32>) {
    let (list, level) = match operation {
        Operation::ListShared(list) => (list, Level::Serializable),
        Operation::ListNewest(list) => (list, Level::Committed),
        _ => return,
    };
    ctx.history.records[number].read.push(Read::list(crate::rows::LISTS + list, elements, level));
}

fn note_operation(ctx: &mut Context, number: usize, operation: Operation, before: Option<i32>) {
    let is_register = |id: i32| (crate::rows::REGISTERS..crate::rows::COUNTERS).contains(&id);
    let record = &mut ctx.history.records[number];
    match operation {
        Operation::Put((id, value)) if is_register(id) => record.overwrote.push((id, before, value)),
        Operation::ReadShared(id) | Operation::ReadExclusive(id) if is_register(id) => {
            record.read.push(Read::value(id, before))
        }
        Operation::Push(list, element) => record.overwrote.push((crate::rows::LISTS + list, before, element)),
        _ => {}
    }
    match operation {
        Operation::Add(id, amount) if is_counter(id) => record.counts.push((id, amount)),
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
