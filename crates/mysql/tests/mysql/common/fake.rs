//! A stand-in for the SQL layer: statements are keywords, results are fixed.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use shoal_sql::frontend::{
    Account, ColumnFlags, ConnectInfo, Entrance, Frontend, FrontendSession, KillSignal, Lockout, Prepared,
    ResultColumn, ResultSink, Summary, TlsRequirement, Tracked,
};
use shoal_types::password::{CACHING_SHA2_PASSWORD, NATIVE_PASSWORD, hash_password};
use shoal_types::row::RowLayout;
use shoal_types::{BaseType, Charset, Collation, Error, ErrorCode, Result, SqlType, TimeZone, Value};
use tokio::sync::Notify;

/// The frontend; sessions share its state.
pub struct Fake(Arc<State>);

impl Deref for Fake {
    type Target = State;
    fn deref(&self) -> &State {
        &self.0
    }
}

impl Fake {
    pub fn new(state: State) -> Fake {
        Fake(Arc::new(state))
    }
}

pub struct State {
    pub accounts: Vec<Account>,
    pub connections_max: i64,
    pub packet_size_max: usize,
    pub connect_timeout_s: u64,
    pub wait_timeout_s: u64,
    pub open: AtomicI64,
    pub sessions: AtomicI64,
    pub aborted: AtomicU64,
    pub received: AtomicU64,
    pub waiting: AtomicUsize,
    /// Ends the statement RELEASABLE.
    pub release: Notify,
    pub signals: Mutex<HashMap<u32, Arc<KillSignal>>>,
    pub next_id: AtomicU32,
    pub layout: Arc<RowLayout>,
    pub stored: Arc<[u8]>,
}

impl Default for State {
    fn default() -> State {
        let layout = RowLayout::new(vec![
            SqlType::new(BaseType::Int),
            SqlType { length: 120, collation: Collation::UTF8MB4_0900_AI_CI, ..SqlType::new(BaseType::Char) },
        ]);
        let text = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-\
                    28203206787-41238978918-19503783441";
        let mut stored = Vec::new();
        let values = [Value::Int(1), Value::str(text)];
        layout.encode(&values, &TimeZone::UTC, &mut stored).expect("values of their types");
        State {
            accounts: vec![
                account("root", CACHING_SHA2_PASSWORD, ""),
                account("native", NATIVE_PASSWORD, "secret"),
                account("sha", CACHING_SHA2_PASSWORD, "geheim"),
                Account { locked: true, ..account("locked", NATIVE_PASSWORD, "") },
                account("native_empty", NATIVE_PASSWORD, ""),
            ],
            connections_max: 1000,
            packet_size_max: 64 << 20,
            connect_timeout_s: 10,
            wait_timeout_s: 28_800,
            open: AtomicI64::new(0),
            sessions: AtomicI64::new(0),
            aborted: AtomicU64::new(0),
            received: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            release: Notify::new(),
            signals: Mutex::default(),
            next_id: AtomicU32::new(1),
            layout: Arc::new(layout),
            stored: stored.into(),
        }
    }
}

fn account(user: &str, plugin: &str, password: &str) -> Account {
    Account {
        user: user.into(),
        host: "%".into(),
        plugin: plugin.into(),
        authentication_string: hash_password(plugin, password.as_bytes()).expect("a known plugin"),
        locked: false,
        tls: TlsRequirement::None,
        old_authentication_string: Vec::new(),
        lockout: Lockout::default(),
    }
}

pub struct Session {
    fake: Arc<State>,
    info: ConnectInfo,
    signal: Arc<KillSignal>,
    statements: HashMap<u32, Vec<u8>>,
    next_statement: u32,
    cursor_rows_left: u32,
    in_transaction: bool,
    changed_database: Option<String>,
}

pub fn column(name: &str, sql_type: SqlType) -> ResultColumn {
    ResultColumn { name: name.into(), sql_type, ..ResultColumn::default() }
}

fn text_column(name: &str) -> ResultColumn {
    column(name, SqlType::varchar(50, Collation::UTF8MB4_0900_AI_CI))
}

fn sbtest_column() -> ResultColumn {
    ResultColumn {
        database: "sbtest".into(),
        table: "sbtest1".into(),
        original_table: "sbtest1".into(),
        name: "c".into(),
        original_name: "c".into(),
        sql_type: SqlType {
            length: 120,
            collation: Collation::UTF8MB4_0900_AI_CI,
            ..SqlType::new(BaseType::Char)
        },
        flags: ColumnFlags { not_null: true, ..ColumnFlags::default() },
    }
}

impl Frontend for Fake {
    type Session = Session;

    fn version(&self) -> &str {
        "8.4.0-Shoal-test"
    }

    fn account(&self, user: &str, _host: &str) -> Option<Account> {
        self.accounts.iter().find(|account| account.user == user).cloned()
    }

    async fn connect(&self, info: ConnectInfo) -> Result<Session> {
        check_database(info.database.as_deref())?;
        self.sessions.fetch_add(1, Ordering::SeqCst);
        let signal = Arc::new(KillSignal::default());
        self.signals.lock().unwrap().insert(info.connection_id, Arc::clone(&signal));
        Ok(Session {
            fake: Arc::clone(&self.0),
            info,
            signal,
            statements: HashMap::new(),
            next_statement: 1,
            cursor_rows_left: 0,
            in_transaction: false,
            changed_database: None,
        })
    }

    fn next_connection_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::SeqCst)
    }

    fn admit(&self) -> Result<Entrance> {
        if self.open.fetch_add(1, Ordering::SeqCst) >= self.connections_max {
            self.open.fetch_sub(1, Ordering::SeqCst);
            return Err(Error::new(ErrorCode::ConCount, "Too many connections"));
        }
        Ok(Entrance::Ordinary)
    }

    fn release(&self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    fn max_allowed_packet(&self) -> usize {
        self.packet_size_max
    }

    fn connect_timeout_s(&self) -> u64 {
        self.connect_timeout_s
    }

    fn count_traffic(&self, received: u64, _sent: u64) {
        self.received.fetch_add(received, Ordering::SeqCst);
    }

    fn count_aborted_connect(&self) {
        self.aborted.fetch_add(1, Ordering::SeqCst);
    }
}

fn check_database(name: Option<&str>) -> Result<()> {
    match name {
        Some("missing") => Err(Error::new(ErrorCode::BadDb, "Unknown database 'missing'")),
        _ => Ok(()),
    }
}

/// Counts a statement that waits, until it is dropped.
struct Waiting<'a>(&'a State);

impl<'a> Waiting<'a> {
    fn new(fake: &'a State) -> Waiting<'a> {
        fake.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting(fake)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Session {
    fn summary(&self) -> Summary {
        Summary { autocommit: true, in_transaction: self.in_transaction, ..Summary::default() }
    }

    fn one_text<S: ResultSink>(&self, name: &str, text: &[u8], sink: &mut S) -> Result<()> {
        sink.columns(&[text_column(name)])?;
        sink.row(&[Value::Str(text.to_vec())])?;
        sink.finish(&self.summary())
    }

    fn stored<S: ResultSink>(&self, sink: &mut S) -> Result<()> {
        sink.columns(&[sbtest_column()])?;
        sink.stored_row(self.fake.layout.row(&self.fake.stored), &[1], &TimeZone::UTC)?;
        sink.finish(&self.summary())
    }

    async fn large<S: ResultSink>(&self, rows: usize, sink: &mut S) -> Result<()> {
        sink.columns(&[text_column("large")])?;
        for number in 0..rows {
            sink.row(&[Value::Str(vec![b'a' + (number % 26) as u8; 10_000])])?;
            if sink.buffered_bytes() > 100_000 {
                sink.flush().await?;
            }
        }
        sink.finish(&self.summary())
    }

    async fn load<S: ResultSink>(&self, name: &[u8], sink: &mut S) -> Result<()> {
        if let Err(error) = sink.request_local_file(name).await {
            sink.error(&error);
            return Ok(());
        }
        if name == b"refused" {
            sink.error(&Error::new(ErrorCode::DupEntry, "Duplicate entry"));
            return Ok(());
        }
        let mut size = 0;
        while let Some(chunk) = sink.local_file_chunk().await? {
            size += chunk.len() as u64;
        }
        sink.finish(&Summary { affected_rows: size, info: "Records: 1".into(), ..self.summary() })
    }

    async fn run<S: ResultSink>(&mut self, sql: &[u8], sink: &mut S) -> Result<()> {
        let (word, rest) = match sql.iter().position(|byte| *byte == b' ') {
            Some(end) => (&sql[..end], &sql[end + 1..]),
            None => (sql, &b""[..]),
        };
        match word {
            b"SELECT" if rest.starts_with(b"c FROM sbtest1") => self.stored(sink),
            b"ECHO" => self.one_text("echo", rest, sink),
            b"BEGIN" => {
                self.in_transaction = true;
                sink.finish(&self.summary())
            }
            b"INSERT" => sink.finish(&Summary {
                affected_rows: 2,
                last_insert_id: 7,
                info: "Records: 2  Duplicates: 0  Warnings: 0".into(),
                ..self.summary()
            }),
            b"MULTI" => {
                sink.columns(&[column("n", SqlType::new(BaseType::Int))])?;
                sink.row(&[Value::Int(1)])?;
                sink.finish(&Summary { more_results: true, ..self.summary() })?;
                sink.finish(&Summary { affected_rows: 5, ..self.summary() })
            }
            b"NULLS" => {
                sink.columns(&[text_column("a"), column("b", SqlType::new(BaseType::Int))])?;
                sink.row(&[Value::Null, Value::Int(-1)])?;
                sink.row(&[Value::str("x"), Value::Null])?;
                sink.finish(&self.summary())
            }
            b"SILENT" => Ok(()),
            b"PANIC" => panic!("a defect of the SQL layer"),
            b"LARGE" => self.large(std::str::from_utf8(rest).unwrap().parse().unwrap(), sink).await,
            b"LOAD" => self.load(rest, sink).await,
            b"WAIT" => {
                let _waiting = Waiting::new(&self.fake);
                std::future::pending().await
            }
            b"RELEASABLE" => {
                let waiting = Waiting::new(&self.fake);
                self.fake.release.notified().await;
                drop(waiting);
                self.one_text("released", b"yes", sink)
            }
            b"select" | b"SELECT" | b"SHOW" | b"show" => self.one_text("text", b"fake", sink),
            b"SET" | b"set" => sink.finish(&self.summary()),
            _ => {
                sink.error(&Error::new(ErrorCode::Parse, "You have an error in your SQL syntax"));
                Ok(())
            }
        }
    }
}

impl FrontendSession for Session {
    async fn query<S: ResultSink>(&mut self, sql: &[u8], sink: &mut S) -> Result<()> {
        self.run(sql, sink).await
    }

    fn hold_packet(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    async fn prepare(&mut self, sql: &[u8]) -> Result<Prepared> {
        if sql.starts_with(b"BAD") {
            return Err(Error::new(ErrorCode::Parse, "You have an error in your SQL syntax"));
        }
        let statement_id = self.next_statement;
        self.next_statement += 1;
        self.statements.insert(statement_id, sql.to_vec());
        let parameter = |_| column("?", SqlType::varchar(21_845, Collation::BINARY));
        let parameters = (0..self.parameter_count(statement_id).unwrap_or(0)).map(parameter).collect();
        let columns = match sql {
            _ if sql.starts_with(b"SELECT c FROM sbtest1") => vec![sbtest_column()],
            _ if sql.starts_with(b"CURSOR") => vec![column("n", SqlType::bigint(false))],
            _ if sql.starts_with(b"INSERT") => Vec::new(),
            _ => vec![text_column("parameters")],
        };
        Ok(Prepared { statement_id, parameters, columns, warnings: 0 })
    }

    async fn execute<S: ResultSink>(
        &mut self,
        statement_id: u32,
        parameters: &[Value],
        cursor: bool,
        sink: &mut S,
    ) -> Result<()> {
        let sql = self.statements.get(&statement_id).cloned().unwrap_or_default();
        if sql.starts_with(b"SELECT c FROM sbtest1") {
            return self.stored(sink);
        }
        if sql.starts_with(b"INSERT") {
            return sink.finish(&self.summary());
        }
        if sql.starts_with(b"CURSOR") {
            sink.columns(&[column("n", SqlType::bigint(false))])?;
            self.cursor_rows_left = 5;
            if !cursor {
                for number in 0..5 {
                    sink.row(&[Value::Int(number)])?;
                }
            }
            return sink.finish(&self.summary());
        }
        self.one_text("parameters", format!("{parameters:?}").as_bytes(), sink)
    }

    async fn fetch<S: ResultSink>(&mut self, _statement_id: u32, rows: u32, sink: &mut S) -> Result<()> {
        sink.columns(&[column("n", SqlType::bigint(false))])?;
        for _ in 0..rows.min(self.cursor_rows_left) {
            sink.row(&[Value::Int(5 - i64::from(self.cursor_rows_left))])?;
            self.cursor_rows_left -= 1;
        }
        sink.finish(&self.summary())
    }

    fn reset_statement(&mut self, _statement_id: u32) -> Result<()> {
        Ok(())
    }

    fn close_statement(&mut self, statement_id: u32) {
        self.statements.remove(&statement_id);
    }

    fn parameter_count(&self, statement_id: u32) -> Option<usize> {
        let sql = self.statements.get(&statement_id)?;
        Some(sql.iter().filter(|byte| **byte == b'?').count())
    }

    async fn change_database(&mut self, database: &str) -> Result<()> {
        check_database(Some(database))?;
        self.info.database = Some(database.to_owned());
        self.changed_database = Some(database.to_owned());
        Ok(())
    }

    async fn list_fields<S: ResultSink>(&mut self, _table: &str, _pattern: &str, sink: &mut S) -> Result<()> {
        sink.columns(&[sbtest_column()])?;
        sink.finish(&self.summary())
    }

    fn statistics(&self) -> String {
        "Uptime: 1  Threads: 1".to_owned()
    }

    async fn kill(&mut self, connection_id: u32) -> Result<()> {
        match self.fake.signals.lock().unwrap().get(&connection_id) {
            Some(signal) => {
                signal.kill();
                Ok(())
            }
            None => Err(Error::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {connection_id}"))),
        }
    }

    fn set_multi_statements(&mut self, on: bool) {
        self.info.multi_statements = on;
    }

    async fn reset(&mut self) -> Result<()> {
        self.statements.clear();
        self.in_transaction = false;
        Ok(())
    }

    async fn change_user(&mut self, info: ConnectInfo) -> Result<()> {
        check_database(info.database.as_deref())?;
        self.info = info;
        Ok(())
    }

    fn status(&self) -> Summary {
        self.summary()
    }

    fn concluding_status(&mut self) -> Summary {
        let schema = self.changed_database.take();
        Summary {
            tracked: schema.map(|schema| Box::new(Tracked { schema: Some(schema), ..Tracked::default() })),
            ..self.summary()
        }
    }

    fn kill_signal(&self) -> Arc<KillSignal> {
        Arc::clone(&self.signal)
    }

    fn may_hold_locks(&self) -> bool {
        false
    }

    fn wait_timeout_s(&self) -> u64 {
        self.fake.wait_timeout_s
    }

    fn max_allowed_packet(&self) -> usize {
        self.fake.packet_size_max
    }

    fn parameter_conversion(&self) -> Option<(Charset, Charset)> {
        None
    }

    fn result_collation(&self) -> Option<Collation> {
        Some(self.info.collation)
    }

    async fn close(self) {
        self.fake.signals.lock().unwrap().remove(&self.info.connection_id);
        self.fake.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}
