//! What a protocol server (the `mysql` crate) needs of the SQL layer, and what the SQL layer needs of the protocol server.
//!
//! A protocol server owns sockets and packets; it knows nothing of statements. The SQL layer owns sessions and results; it
//! knows nothing of packets. Results flow through [`ResultSink`] so that a stored row becomes wire bytes in one
//! step, without a value in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

pub use shoal_cluster::{Lockout, TlsRequirement};
use shoal_types::row::RowRef;
use shoal_types::{Charset, Collation, Error, ErrorCode, Result, SqlType, TimeZone, Value};

/// One column of a result, as the protocol's column definition wants it.
#[derive(Clone, Debug, Default)]
pub struct ResultColumn {
    /// Empty for expressions.
    pub database: String,
    /// Alias, then real name; empty for expressions.
    pub table: String,
    /// The name behind the alias; empty for expressions.
    pub original_table: String,
    /// The alias, or the name, or the expression's text.
    pub name: String,
    /// The column's own name; empty for expressions.
    pub original_name: String,
    /// The protocol's type, length and decimals follow from it.
    pub sql_type: SqlType,
    /// What does not follow from the type.
    pub flags: ColumnFlags,
}

/// Column flags that do not follow from the type (unsigned, zerofill, binary, blob, enum, set do).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnFlags {
    /// NOT_NULL_FLAG.
    pub not_null: bool,
    /// PRI_KEY_FLAG.
    pub primary_key: bool,
    /// UNIQUE_KEY_FLAG.
    pub unique_key: bool,
    /// First column of a non-unique index.
    pub multiple_key: bool,
    /// AUTO_INCREMENT_FLAG.
    pub auto_increment: bool,
    /// NO_DEFAULT_VALUE_FLAG.
    pub no_default: bool,
    /// ON_UPDATE_NOW_FLAG.
    pub on_update_now: bool,
}

/// The end of one statement.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Rows that were changed or, with CLIENT_FOUND_ROWS, matched.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value that the statement has generated; 0: none.
    pub last_insert_id: u64,
    /// Conditions that SHOW WARNINGS lists.
    pub warnings: u16,
    /// SERVER_STATUS_IN_TRANS.
    pub in_transaction: bool,
    /// SERVER_STATUS_AUTOCOMMIT.
    pub autocommit: bool,
    /// Clients double quotes in the literals that they write, and leave backslashes alone.
    pub no_backslash_escapes: bool,
    /// Text such as "Records: 2  Duplicates: 0  Warnings: 0".
    pub info: String,
    /// Another result of the same query follows.
    pub more_results: bool,
    /// SERVER_PS_OUT_PARAMS: the result is what a procedure has given its OUT parameters.
    pub has_out_parameters: bool,
    /// SERVER_QUERY_NO_INDEX_USED.
    pub no_index_used: bool,
    /// The running transaction may not write.
    pub in_read_only_transaction: bool,
    /// SESSION_TRACK: what has changed in the session.
    pub tracked: Option<Box<Tracked>>,
}

/// What the client is told of changes of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// System variables that have got a value: name and value.
    pub variables: Vec<(&'static str, String)>,
    /// The default database is this now.
    pub schema: Option<String>,
    /// Something has changed, whatever it is.
    pub is_changed: bool,
    /// Eight letters.
    pub transaction_state: Option<String>,
    /// The statements that would begin the transaction elsewhere.
    pub transaction_characteristics: Option<String>,
}

/// How rows are to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Every value as text: COM_QUERY.
    Text,
    /// Numbers and dates in binary form: COM_STMT_EXECUTE.
    Binary,
}

/// Where the results of a statement go. Methods buffer; [`ResultSink::flush`] sends.
///
/// Order: `columns`, rows, `finish`, for a result with rows; `finish` alone for one without. `error` may come at any
/// point and ends the query.
pub trait ResultSink {
    /// Begins a result with rows.
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<()>;
    /// A row of computed values, one a column.
    fn row(&mut self, values: &[Value]) -> Result<()>;
    /// A stored row, of which the columns at `projection` are sent; timestamps are shown in `zone`.
    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()>;
    /// Ends one result.
    fn finish(&mut self, summary: &Summary) -> Result<()>;
    /// Ends the query with an error packet.
    fn error(&mut self, error: &Error);
    /// Bytes waiting to be sent: the executor calls `flush` when there are many.
    fn buffered_bytes(&self) -> usize {
        0
    }
    /// Sends what is buffered, and waits for the client to take it. Errors: the client is gone.
    #[allow(async_fn_in_trait)]
    async fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    /// LOAD DATA LOCAL: asks the client for a file; chunks follow until `None`. Errors: 1235, there is no client.
    #[allow(async_fn_in_trait)]
    async fn request_local_file(&mut self, _name: &[u8]) -> Result<()> {
        Err(Error::unsupported("a file of the client here"))
    }
    /// The next piece of the file; `None`: its end.
    #[allow(async_fn_in_trait)]
    async fn local_file_chunk(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// What a client said of itself when it connected, after authentication.
#[derive(Clone, Debug)]
pub struct ConnectInfo {
    /// From [`Frontend::next_connection_id`].
    pub connection_id: u32,
    /// The name the client gave; the account that it matches may have another.
    pub user: String,
    /// Peer host, without the port.
    pub host: String,
    /// The default database, if the client named one.
    pub database: Option<String>,
    /// Of the handshake: character_set_client and its kin follow from it.
    pub collation: Collation,
    /// CLIENT_FOUND_ROWS: matched rows are counted, not changed ones.
    pub found_rows: bool,
    /// CLIENT_MULTI_STATEMENTS.
    pub multi_statements: bool,
    /// CLIENT_LOCAL_FILES: LOAD DATA LOCAL is possible.
    pub local_files: bool,
    /// CLIENT_IGNORE_SPACE.
    pub ignore_space: bool,
    /// CLIENT_INTERACTIVE: interactive_timeout takes the place of wait_timeout.
    pub interactive: bool,
    /// CLIENT_SESSION_TRACK.
    pub session_track: bool,
    /// CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS: the client can be told to change its password first.
    pub handles_expired_password: bool,
    /// Connection attributes: name and value.
    pub attributes: Vec<(String, String)>,
    /// `None`: the connection is not encrypted.
    pub tls: Option<TlsSession>,
    /// Name and level of the algorithm that its packets are compressed with, if they are.
    pub compression: Option<(&'static str, u8)>,
    /// Whom it is open to.
    pub entrance: Entrance,
}

impl ConnectInfo {
    /// Of a session that the server opens for itself, as this user: no client is there whose wishes count.
    pub fn internal(connection_id: u32, user: String, host: String, database: Option<String>) -> ConnectInfo {
        ConnectInfo {
            connection_id,
            user,
            host,
            database,
            collation: Collation::UTF8MB4_0900_AI_CI,
            found_rows: false,
            multi_statements: false,
            local_files: false,
            ignore_space: false,
            interactive: false,
            session_track: false,
            handles_expired_password: true,
            attributes: Vec::new(),
            tls: None,
            compression: None,
            entrance: Entrance::default(),
        }
    }
}

/// How a connection was let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entrance {
    /// As one of `max_connections`.
    #[default]
    Ordinary,
    /// As the one beyond `max_connections`, which waits for somebody with CONNECTION_ADMIN.
    Spare,
    /// At `admin_address`: without limit, for those with SERVICE_CONNECTION_ADMIN.
    Administrative,
}

/// What became of a connection from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The client has a session.
    LetIn,
    /// It has not proven who it is.
    WrongPassword,
    /// The client was gone, too slow or not to be understood before that.
    BrokenOff,
}

/// Who was not let in, and why.
#[derive(Clone, Copy, Debug)]
pub struct RefusedLogin<'a> {
    /// Of the connection.
    pub connection_id: u32,
    /// As the client gave it; empty: it has not come so far.
    pub user: &'a str,
    /// Where it comes from.
    pub host: &'a str,
    /// Such as `TLSv1.3`; `None`: the connection is not encrypted.
    pub tls: Option<&'static str>,
    /// The error's number.
    pub errno: u16,
    /// And its text.
    pub message: &'a str,
}

/// How a server lets packets be compressed.
#[derive(Clone, Copy, Debug)]
pub struct Compressions {
    /// With zlib.
    pub zlib: bool,
    /// With zstd.
    pub zstd: bool,
    /// Clients may do without.
    pub uncompressed: bool,
}

/// A connection's TLS.
#[derive(Clone, Debug)]
pub struct TlsSession {
    /// Such as `TLSv1.3`.
    pub version: &'static str,
    /// By OpenSSL's name, such as `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// It goes on with the keys of an earlier one.
    pub is_resumed: bool,
}

/// An account as authentication needs it.
#[derive(Clone, Debug)]
pub struct Account {
    /// Empty: the anonymous account.
    pub user: String,
    /// As in the account's name: an address or a pattern.
    pub host: String,
    /// `mysql_native_password` or `caching_sha2_password`.
    pub plugin: String,
    /// mysql_native_password: `*` and 40 hex digits; caching_sha2_password: `$A$005$` salt and digest; empty = no
    /// password.
    pub authentication_string: Vec<u8>,
    /// ACCOUNT LOCK: nobody gets in.
    pub locked: bool,
    /// What the account insists on: REQUIRE.
    pub tls: TlsRequirement,
    /// The password before this one, in the same form, which is good as well; empty: there is none.
    pub old_authentication_string: Vec<u8>,
    /// What too many wrong passwords do.
    pub lockout: Lockout,
}

/// A prepared statement's shape.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// Unique in the session.
    pub statement_id: u32,
    /// One for every `?`.
    pub parameters: Vec<ResultColumn>,
    /// Empty for statements without a result.
    pub columns: Vec<ResultColumn>,
    /// Raised while the statement was prepared.
    pub warnings: u16,
}

/// The server as a protocol server sees it: one per process.
pub trait Frontend: 'static {
    /// What `connect` opens.
    type Session: FrontendSession;

    /// The version in the greeting and in VERSION().
    fn version(&self) -> &str;
    /// The account that `user` connecting from `host` is checked against, if there is one.
    fn account(&self, user: &str, host: &str) -> Option<Account>;
    /// Opens a session for an authenticated client. Errors: unknown database (1049), too many connections (1040).
    #[allow(async_fn_in_trait)]
    async fn connect(&self, info: ConnectInfo) -> Result<Self::Session>;
    /// A connection id that no open connection has.
    fn next_connection_id(&self) -> u32;
    /// Counts a connection that is being made, and tells whom it is open to; `Err` (1040) when `max_connections` and the spare
    /// one are reached. Undone by `release`. Administrative connections are not counted.
    fn admit(&self) -> Result<Entrance>;
    /// The reverse of `admit`, when the connection is over.
    fn release(&self);
    /// Bytes of the longest packet that is taken before a session has its own limit.
    fn max_allowed_packet(&self) -> usize;
    /// Seconds that a client may take for the handshake.
    fn connect_timeout_s(&self) -> u64;
    /// Bytes received and sent, for SHOW STATUS.
    fn count_traffic(&self, received: u64, sent: u64);
    /// The failed logins and half handshakes of SHOW STATUS.
    fn count_aborted_connect(&self);
    /// Whether a client from elsewhere may try to log in. Errors: 1129.
    fn check_host(&self, _host: &str) -> Result<()> {
        Ok(())
    }
    /// What became of one who did.
    fn note_login(&self, _host: &str, _outcome: LoginOutcome) {}
    /// A login, or a change of users, was refused.
    fn note_refused_login(&self, _refused: RefusedLogin<'_>) {}
    /// A TLS handshake was made.
    fn count_encrypted_connect(&self, _is_resumed: bool) {}
    /// The system variable `require_secure_transport`.
    fn requires_secure_transport(&self) -> bool {
        false
    }
    /// The system variable `protocol_compression_algorithms`.
    fn compressions(&self) -> Compressions {
        Compressions { zlib: true, zstd: true, uncompressed: true }
    }
    /// A thread that serves sessions has nothing to do, and is about to look for more or to sleep.
    fn before_sleep(&self) {}
    /// It does sleep, after `before_sleep`.
    fn fall_asleep(&self) {}
    /// It goes on after `fall_asleep`.
    fn wake(&self) {}
    /// Called by every such thread once a second, with what its last call returned, at first 0: memory that the thread holds free goes back.
    fn release_memory(&self, seen: u64) -> u64 {
        seen
    }
}

/// The connection is closed after this error: it holds more memory than it may.
pub fn ends_connection(error: &Error) -> bool {
    error.is(ErrorCode::ConnLimit) || error.is(ErrorCode::GlobalConnLimit)
}

/// How one connection is told from any thread that it has been killed. Looking at it costs one load, so the protocol server can
/// look after every wait without registering anything.
#[derive(Debug, Default)]
pub struct KillSignal {
    killed: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl KillSignal {
    /// Marks the connection as killed and wakes its task.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// For good: a killed connection does not come back.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// Names the task to wake. A kill that came before wakes it at once.
    pub fn register(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        if self.is_killed() {
            waker.wake_by_ref();
        }
    }
}

/// One client's session.
#[allow(async_fn_in_trait)]
pub trait FrontendSession {
    /// Runs every statement of `sql` (several only if multi-statements are on) into `sink`. Statement errors go to
    /// `sink.error`; `Err` means that the connection must be closed.
    async fn query<S: ResultSink>(&mut self, sql: &[u8], sink: &mut S) -> Result<()>;
    /// The name of the query attribute that the session wants to know of; others are not looked at.
    fn wanted_attribute(&self) -> Option<&'static str> {
        None
    }
    /// Its text; of the statements that `query` or `execute` runs next.
    fn set_attribute(&mut self, _value: Vec<u8>) {}
    /// The protocol server is about to keep so many bytes of one packet; 0: it keeps none any more. Errors: there is no memory for them (1041).
    fn hold_packet(&mut self, bytes: usize) -> Result<()>;
    /// The same of values that came by COM_STMT_SEND_LONG_DATA, for all statements together. Errors: 1041; 4081 and 4082, which end the
    /// connection.
    fn hold_long_data(&mut self, _bytes: usize) -> Result<()> {
        Ok(())
    }
    /// Parses and resolves one statement, and keeps it until `close_statement`.
    async fn prepare(&mut self, sql: &[u8]) -> Result<Prepared>;
    /// Runs a prepared statement. `cursor`: keep the result for `fetch` instead of sending rows: `columns` and `finish`
    /// only. A session that sends rows all the same has declined the cursor.
    async fn execute<S: ResultSink>(
        &mut self,
        statement_id: u32,
        parameters: &[Value],
        cursor: bool,
        sink: &mut S,
    ) -> Result<()>;
    /// Sends up to `rows` rows of an open cursor: `columns` (which the protocol server does not send again), rows, `finish`.
    /// The protocol server tells the client that the last row was sent when fewer than `rows` came.
    async fn fetch<S: ResultSink>(&mut self, statement_id: u32, rows: u32, sink: &mut S) -> Result<()>;
    /// COM_STMT_RESET: closes its cursor. Errors: no such statement.
    fn reset_statement(&mut self, statement_id: u32) -> Result<()>;
    /// COM_STMT_CLOSE: an unknown id is ignored, as nobody waits for an answer.
    fn close_statement(&mut self, statement_id: u32);
    /// How many `?` the statement has; `None`: no such statement.
    fn parameter_count(&self, statement_id: u32) -> Option<usize>;
    /// COM_INIT_DB. Errors: unknown database (1049), access denied (1044).
    async fn change_database(&mut self, database: &str) -> Result<()>;
    /// COM_FIELD_LIST: the columns of a table whose names match the pattern.
    async fn list_fields<S: ResultSink>(&mut self, table: &str, pattern: &str, sink: &mut S) -> Result<()>;
    /// COM_STATISTICS: one line for people.
    fn statistics(&self) -> String;
    /// COM_PROCESS_KILL. Errors: no such connection (1094), not allowed (1095).
    async fn kill(&mut self, connection_id: u32) -> Result<()>;
    /// COM_SET_OPTION.
    fn set_multi_statements(&mut self, on: bool);
    /// A command that the session does not see came: for the general log, by MySQL's name.
    fn note_command(&self, _command: &'static str) {}
    /// COM_RESET_CONNECTION: rolls back and resets session state, keeping user and connection.
    async fn reset(&mut self) -> Result<()>;
    /// COM_CHANGE_USER after the new user was authenticated.
    async fn change_user(&mut self, info: ConnectInfo) -> Result<()>;
    /// For packets that the protocol server makes itself: a summary that says nothing but what the session's status flags are.
    fn status(&self) -> Summary;
    /// The same, with what has changed in the session, for the end of a command.
    fn concluding_status(&mut self) -> Summary {
        self.status()
    }
    /// Set by KILL CONNECTION from any thread (shutdown and wait_timeout are the protocol server's). The protocol server then drops what the
    /// session is doing at its next await point and calls `close`; the same happens when the client goes away.
    fn kill_signal(&self) -> Arc<KillSignal>;
    /// Seconds that the session may be idle before it is closed.
    fn wait_timeout_s(&self) -> u64;
    /// A transaction is open that has locked or written something.
    fn may_hold_locks(&self) -> bool;
    /// Bytes of the longest packet that the session takes.
    fn max_allowed_packet(&self) -> usize;
    /// How the texts among a prepared statement's parameters are converted: from character_set_client, to
    /// character_set_connection.
    fn parameter_conversion(&self) -> Option<(Charset, Charset)>;
    /// The character set in which the client wants text (character_set_results).
    fn result_collation(&self) -> Option<Collation>;
    /// Rolls back and forgets the session.
    async fn close(self);
}
