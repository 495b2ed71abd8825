//! What a client's session holds: a transaction with its coordinator, a read of a register, a reader of a snapshot.
//!
//! `client` and `reader` go on with it.

use std::collections::BTreeMap;

use shoal_partition::Millis;
use shoal_two_phase::{Answer, Coordinator};
use shoal_types::{PartitionId, Timestamp, TransactionId};

use crate::context::{Context, Event, Undo};
use crate::cycles::Level;
use crate::knobs::Durability;
use crate::message::Part;
use crate::rows::Row;
use crate::script::Script;
use crate::sights::Sight;
use crate::statements::Program;
use crate::tables::TableRow;

/// After one in so many commits over several partitions that are in memory alone all nodes die, so soon.
const DIES_ONE_IN: u64 = 20;
const DIES_WITHIN_US: u64 = 2_500;

pub struct Session {
    pub transaction: TransactionId,
    pub slot: u64,
    pub work: Work,
}

pub enum Work {
    Transaction(Transaction),
    Register {
        register: i32,
        start: u64,
    },
    Snapshot(Reader),
    /// A client wants to know whether this request was carried out.
    Look(i32),
}

pub struct Transaction {
    pub number: usize,
    pub script: Script,
    /// Of a script of statements: it says what comes next.
    pub program: Option<Program>,
    pub parts: BTreeMap<PartitionId, JoinedPart>,
    /// When the first of them was joined.
    pub first_joined: Option<Millis>,
    pub stage: Stage,
}

pub struct JoinedPart {
    pub part: Part,
    pub marked: bool,
    /// Writes after the first operation.
    pub first_writes: u32,
}

pub enum Stage {
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
        if let Work::Look(request) = self.work {
            ctx.history.requests.unsure(request);
        }
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

/// A reader of a snapshot.
pub struct Reader {
    /// Partitions that have not said what they show.
    pub asking: Vec<PartitionId>,
    pub newest: Timestamp,
    pub is_taken: bool,
    pub terms: BTreeMap<PartitionId, u64>,
    /// Commits that clients had been told of when the reader began.
    pub told: usize,
    pub began_at: u64,
    pub rows: BTreeMap<PartitionId, Vec<Row>>,
    /// Of the tables that refer to each other.
    pub beside: Vec<TableRow>,
    /// Partitions that are left to be read, the next one last.
    pub left: Vec<PartitionId>,
    /// Times that it reads everything again.
    pub again: u64,
}

impl Reader {
    pub fn new(ctx: &mut Context) -> Reader {
        Reader {
            asking: ctx.knobs.data_partitions().collect(),
            newest: Timestamp::ZERO,
            is_taken: false,
            terms: BTreeMap::new(),
            told: ctx.history.committed.len(),
            began_at: ctx.history.moment(),
            rows: BTreeMap::new(),
            beside: Vec::new(),
            left: Vec::new(),
            again: ctx.random.below(2),
        }
    }

    pub fn snapshot(&self) -> Option<Timestamp> {
        self.is_taken.then_some(self.newest)
    }
}

/// A client is told.
pub fn tell(ctx: &mut Context, number: usize, answer: Answer) {
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
            let is_over_several = record.wrote_to.len() > 1;
            let dies = record.wrote_to.len() > 1 && ctx.knobs.durability == Durability::Replicated;
            let (was_repeated, cascaded) = (record.was_repeated, record.cascaded);
            let levels: Vec<Level> =
                record.read.iter().filter(|read| read.is_list()).map(|read| read.level).collect();
            let read_and_wrote = !record.overwrote.is_empty() && !record.read.is_empty();
            if is_over_several {
                ctx.see(Sight::CommittedOverPartitions);
            }
            if was_repeated {
                ctx.see(Sight::RepeatedAfterUnknown);
            }
            if cascaded {
                ctx.see(Sight::Cascaded);
            }
            for level in levels {
                ctx.see(if level == Level::Serializable { Sight::ListRead } else { Sight::ListReadNewest });
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
