//! SHOW ENGINE INNODB STATUS: the report in InnoDB's sections and lines, which tools read.
//!
//! Figures are those of this node. What Shoal does not have (semaphores of its own, threads for files, pages on disk) is zero or
//! left out. Averages are over the life of the process.

use std::fmt::Write as _;

use shoal_cluster::{LockKind, ObservedKey, ObservedLock, ObservedTransaction};
use shoal_txn::LockMode;

use crate::counters::Counter;
use crate::information_schema::Rows;
use crate::locks::deadlock::{DeadlockMember, DeadlockReport};
use crate::locks::figures::PAGE_BYTES;
use crate::locks::names::LockNames;
use crate::locks::transactions::{LockWaits, OpenTransaction, open_transactions, seconds_between};

/// Transactions that are listed, the oldest.
const TRANSACTIONS_MAX: usize = 1000;

struct Report<'a> {
    rows: &'a Rows<'a>,
    names: LockNames<'a>,
    now: i64,
    text: String,
}

/// The text of the column Status.
pub(super) fn report(rows: &Rows<'_>) -> String {
    let server = rows.server;
    let names = LockNames::new(&server.node);
    let mut report = Report { rows, names, now: server.clock_micros(), text: String::with_capacity(4096) };
    let title = format!("{} 0x0 INNODB MONITOR OUTPUT", report.moment(report.now));
    let line = "=".repeat(title.len());
    report.line(&format!("\n{line}\n{title}\n{line}"));
    report.line(&format!("Per second averages calculated from the last {} seconds", report.seconds()));
    report.background();
    report.latest_deadlock();
    report.transactions();
    report.files_and_log();
    report.memory();
    report.row_operations();
    report.line("----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================");
    report.text
}

impl Report<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn section(&mut self, title: &str) {
        let line = "-".repeat(title.len());
        self.line(&format!("{line}\n{title}\n{line}"));
    }

    fn moment(&self, micros: i64) -> String {
        self.rows.variables.time_zone.from_utc_micros(micros, 0).to_string()
    }

    fn seconds(&self) -> u64 {
        self.rows.server.uptime_s().max(1)
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds() as f64
    }

    fn background(&mut self) {
        let seconds = self.seconds();
        self.section("BACKGROUND THREAD");
        self.line(&format!("srv_master_thread loops: 0 srv_active, 0 srv_shutdown, {seconds} srv_idle"));
        self.line("srv_master_thread log flush and writes: 0");
        self.section("SEMAPHORES");
        self.line("OS WAIT ARRAY INFO: reservation count 0");
        self.line("OS WAIT ARRAY INFO: signal count 0");
        for kind in ["shared", "excl", "sx"] {
            self.line(&format!("RW-{kind} spins 0, rounds 0, OS waits 0"));
        }
        self.line("Spin rounds per wait: 0.00 RW-shared, 0.00 RW-excl, 0.00 RW-sx");
    }

    fn latest_deadlock(&mut self) {
        let server = self.rows.server;
        server.latest_deadlock.show(|report| self.deadlock(report));
    }

    fn deadlock(&mut self, report: &DeadlockReport) {
        self.section("LATEST DETECTED DEADLOCK");
        let at = self.moment(report.at);
        self.line(&format!("{at} 0x0"));
        for (place, member) in report.members.iter().enumerate() {
            self.deadlock_member(place + 1, member, report.at);
        }
        self.line(&format!("*** WE ROLL BACK TRANSACTION ({})", report.victim + 1));
    }

    fn deadlock_member(&mut self, number: usize, member: &DeadlockMember, at: i64) {
        self.line(&format!("*** ({number}) TRANSACTION:"));
        let active = seconds_between(member.started, at);
        self.line(&format!("TRANSACTION {}, ACTIVE {active} sec", member.observed.id.0));
        match &member.session {
            Some((id, user, host)) => {
                self.line(&lock_line(&member.observed, 0, true));
                self.line(&thread_line(*id, host, user, ""));
                self.line(member.query.as_deref().unwrap_or_default());
            }
            None => self.line("Its session is at another node"),
        }
        self.line("");
        let parts =
            [("HOLDS THE LOCK(S)", &member.holds), ("WAITING FOR THIS LOCK TO BE GRANTED", &member.waits_for)];
        for (title, lock) in parts {
            if let Some((partition, lock)) = lock {
                self.line(&format!("*** ({number}) {title}:"));
                self.lock(*partition, lock);
                self.line("");
            }
        }
    }

    fn lock(&mut self, partition: u32, lock: &ObservedLock) {
        let Some(place) = self.names.place(lock) else {
            return self.line(&format!("RECORD LOCKS of a table that is gone, trx id {}", lock.transaction.0));
        };
        let index = place.index_name();
        let (database, table) = (place.database().to_owned(), place.table.name().to_owned());
        self.line(&format!(
            "RECORD LOCKS space id {} page no {partition} n bits 0 index {index} of table `{database}`.`{table}` trx id {} {}",
            place.table.id().0,
            lock.transaction.0,
            mode_words(lock)
        ));
        if let Some(data) = self.names.data(lock, &place) {
            self.line(&format!("Record lock, heap no 1 PHYSICAL RECORD: {data}"));
        }
    }

    fn transactions(&mut self) {
        let server = self.rows.server;
        self.section("TRANSACTIONS");
        let open = open_transactions(server);
        let waits = LockWaits::of(server);
        let newest = open.iter().filter(|one| one.has_locks()).map(|one| one.id).max().unwrap_or(0);
        self.line(&format!("Trx id counter {}", newest + 1));
        self.line(&format!("Purge done for trx's n:o < {} undo n:o < 0 state: running but idle", newest + 1));
        let observed = server.node.observed();
        let served = observed.partitions.iter().filter(|one| one.serves && !one.is_meta);
        self.line(&format!("History list length {}", served.map(|one| one.activity.old_versions).sum::<u64>()));
        self.line("LIST OF TRANSACTIONS FOR EACH SESSION:");
        for one in open.iter().take(TRANSACTIONS_MAX) {
            self.transaction(one, &waits);
        }
        if open.len() > TRANSACTIONS_MAX {
            self.line(&format!("{} transactions that are younger are not listed", open.len() - TRANSACTIONS_MAX));
        }
    }

    fn transaction(&mut self, one: &OpenTransaction, waits: &LockWaits) {
        let state = if one.state.is_empty() { String::new() } else { format!(" {}", one.state) };
        self.line(&format!("---TRANSACTION {}, ACTIVE {} sec{state}", one.id, one.age_s(self.now)));
        let tables = one.session.as_ref().map_or(0, |session| session.transaction.table_count());
        let locked = if one.has_locks() { tables } else { 0 };
        if one.query.is_some() {
            self.line(&format!("mysql tables in use {tables}, locked {locked}"));
        }
        let observed = &one.observed;
        self.line(&lock_line(observed, locked, one.wait_started.is_some()));
        if let Some(session) = &one.session {
            self.line(&thread_line(session.id, &session.host, &session.user, one.state));
        }
        if let Some(query) = &one.query {
            self.line(query);
        }
        let wanted = waits.wanted_by(observed.id).filter(|_| one.has_locks());
        if let (Some((partition, lock)), Some(started)) = (wanted, one.wait_started) {
            let seconds = seconds_between(started, self.now);
            self.line(&format!("------- TRX HAS BEEN WAITING {seconds} SEC FOR THIS LOCK TO BE GRANTED:"));
            self.lock(partition, lock);
            self.line("------------------");
        }
    }

    fn files_and_log(&mut self) {
        let observed = self.rows.server.node.observed();
        let (end, durable) = (observed.log_end_bytes, observed.log_durable_bytes);
        self.section("FILE I/O");
        self.line(&format!("Pending flushes (fsync) log: {}; buffer pool: 0", u8::from(durable < end)));
        self.section("LOG");
        let checkpoint = end.saturating_sub(observed.log_since_checkpoint_bytes);
        let lines = [
            ("Log sequence number", end),
            ("Log buffer assigned up to", end),
            ("Log buffer completed up to", end),
            ("Log written up to", durable),
            ("Log flushed up to", durable),
            ("Added dirty pages up to", end),
            ("Pages flushed up to", checkpoint),
            ("Last checkpoint at", checkpoint),
        ];
        for (name, value) in lines {
            self.line(&format!("{name:<29}{value}"));
        }
    }

    fn memory(&mut self) {
        let server = self.rows.server;
        let memory = server.node.memory_usage();
        let (size, used) = (memory.limit_bytes / PAGE_BYTES, memory.used_bytes / PAGE_BYTES);
        self.section("BUFFER POOL AND MEMORY");
        let lines = [
            ("Total large memory allocated", memory.limit_bytes),
            ("Dictionary memory allocated", memory.plans_bytes),
        ];
        for (name, value) in lines {
            self.line(&format!("{name} {value}"));
        }
        let lines = [
            ("Buffer pool size", size),
            ("Free buffers", size.saturating_sub(used)),
            ("Database pages", used),
            ("Old database pages", 0),
            ("Modified db pages", 0),
            ("Pending reads", 0),
        ];
        for (name, value) in lines {
            self.line(&format!("{name:<18} {value}"));
        }
        self.line("Pending writes: LRU 0, flush list 0, single page 0");
        self.line("Pages made young 0, not young 0\n0.00 youngs/s, 0.00 non-youngs/s");
        self.line("Pages read 0, created 0, written 0\n0.00 reads/s, 0.00 creates/s, 0.00 writes/s");
        self.line("No buffer pool page gets since the last printout");
        self.line(&format!("LRU len: {used}, unzip_LRU len: 0"));
    }

    fn row_operations(&mut self) {
        let server = self.rows.server;
        let totals = server.totals();
        let count = |counter: Counter| totals.get(counter as usize).copied().unwrap_or(0);
        let sessions = server.all_sessions();
        let running = sessions.iter().filter(|session| session.is_running()).count();
        let read =
            count(Counter::HandlerReadKey) + count(Counter::HandlerReadNext) + count(Counter::HandlerReadRndNext);
        let counts =
            [count(Counter::HandlerWrite), count(Counter::HandlerUpdate), count(Counter::HandlerDelete), read];
        let [inserted, updated, deleted, read] = counts;
        let rates = counts.map(|count| self.per_second(count));
        self.section("ROW OPERATIONS");
        self.line(&format!("{running} queries inside InnoDB, 0 queries in queue"));
        self.line(&format!("{} read views open inside InnoDB", server.node.observed().snapshots));
        self.line(&format!("Process ID={}, Main thread ID=0 , state=sleeping", std::process::id()));
        self.line(&format!(
            "Number of rows inserted {inserted}, updated {updated}, deleted {deleted}, read {read}"
        ));
        let [inserts, updates, deletes, reads] = rates;
        let _ = writeln!(
            self.text,
            "{inserts:.2} inserts/s, {updates:.2} updates/s, {deletes:.2} deletes/s, {reads:.2} reads/s"
        );
    }
}

fn lock_line(observed: &ObservedTransaction, tables_locked: u32, is_waiting: bool) -> String {
    let undo = match observed.writes {
        0 => String::new(),
        writes => format!(", undo log entries {writes}"),
    };
    format!(
        "{}{} lock struct(s), heap size {}, {} row lock(s){undo}",
        if is_waiting { "LOCK WAIT " } else { "" },
        observed.row_locks + u64::from(tables_locked),
        observed.work_bytes,
        observed.row_locks
    )
}

fn thread_line(id: u32, host: &str, user: &str, state: &str) -> String {
    format!("MySQL thread id {id}, OS thread handle 0, query id 0 {host} {user} {state}").trim_end().to_owned()
}

fn mode_words(lock: &ObservedLock) -> String {
    let mode = if lock.mode == LockMode::Exclusive { "lock_mode X" } else { "lock mode S" };
    let what = match lock.kind {
        LockKind::Record => " locks rec but not gap",
        LockKind::NextKey => "",
        LockKind::Gap if lock.key == ObservedKey::Supremum => "",
        LockKind::Gap => " locks gap before rec",
        LockKind::InsertIntention if lock.key == ObservedKey::Supremum => " insert intention",
        LockKind::InsertIntention => " locks gap before rec insert intention",
    };
    format!("{mode}{what}{}", if lock.is_waiting { " waiting" } else { "" })
}
