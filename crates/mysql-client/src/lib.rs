//! A blocking MySQL client that shows what is on the wire.
//!
//! Text rows come as the bytes the server sent, binary rows as typed [`Value`]s. Packets over 16 MiB are split
//! and joined. Raw packets can be sent and received, so a test can also misbehave.
//!
//! `shoal sql` uses it, the benchmarks and the tests. It speaks TCP, in clear or with TLS, with `mysql_native_password` and
//! `caching_sha2_password`, of which the full exchange is encrypted by TLS or by the server's RSA key. It does not compress.

mod auth;
mod packet;
mod statement;
mod value;

pub use packet::{Channel, Reader};
pub use statement::Statement;
pub use value::{Column, Value};

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::time::Duration;

use shoal_tls::ClientTls;

pub const CLIENT_FOUND_ROWS: u32 = 1 << 1;
pub const CLIENT_SESSION_TRACK: u32 = 1 << 23;
const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_LONG_FLAG: u32 = 1 << 2;
const CLIENT_CONNECT_WITH_DB: u32 = 1 << 3;
/// The client answers requests for files: whoever sends LOAD DATA LOCAL takes the request from the channel.
const CLIENT_LOCAL_FILES: u32 = 1 << 7;
const CLIENT_PROTOCOL_41: u32 = 1 << 9;
const CLIENT_SSL: u32 = 1 << 11;
const CLIENT_TRANSACTIONS: u32 = 1 << 13;
const CLIENT_SECURE_CONNECTION: u32 = 1 << 15;
const CLIENT_MULTI_STATEMENTS: u32 = 1 << 16;
const CLIENT_MULTI_RESULTS: u32 = 1 << 17;
const CLIENT_PS_MULTI_RESULTS: u32 = 1 << 18;
const CLIENT_PLUGIN_AUTH: u32 = 1 << 19;

pub const SERVER_STATUS_IN_TRANS: u16 = 1;
pub const SERVER_STATUS_AUTOCOMMIT: u16 = 2;
pub const SERVER_MORE_RESULTS_EXISTS: u16 = 8;
pub const SERVER_STATUS_CURSOR_EXISTS: u16 = 64;
pub const SERVER_STATUS_LAST_ROW_SENT: u16 = 128;
pub const SERVER_STATUS_NO_BACKSLASH_ESCAPES: u16 = 512;
pub const SERVER_STATUS_IN_TRANS_READONLY: u16 = 8192;
pub const SERVER_SESSION_STATE_CHANGED: u16 = 16384;

pub const COM_QUIT: u8 = 0x01;
pub const COM_INIT_DB: u8 = 0x02;
pub const COM_QUERY: u8 = 0x03;
pub const COM_STATISTICS: u8 = 0x09;
pub const COM_PING: u8 = 0x0e;
pub const COM_CHANGE_USER: u8 = 0x11;
pub const COM_STMT_PREPARE: u8 = 0x16;
pub const COM_STMT_EXECUTE: u8 = 0x17;
pub const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
pub const COM_STMT_CLOSE: u8 = 0x19;
pub const COM_STMT_RESET: u8 = 0x1a;
pub const COM_STMT_FETCH: u8 = 0x1c;
pub const COM_RESET_CONNECTION: u8 = 0x1f;

const COLLATION_UTF8MB4_GENERAL_CI: u8 = 45;
pub const COLLATION_UTF8MB4_0900_AI_CI: u8 = 255;
const PACKET_BYTES_MAX: u32 = 1 << 30;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a command has no result.
#[derive(Debug)]
pub enum Error {
    /// The connection is gone; whether the command took effect is unknown.
    Io(io::Error),
    /// The server refused the command.
    Server { errno: u16, sqlstate: String, message: String },
    /// The server sent something that the protocol does not allow here.
    Protocol(String),
}

impl Error {
    /// The server's error number, or 0 for any other failure.
    pub fn errno(&self) -> u16 {
        match self {
            Error::Server { errno, .. } => *errno,
            _ => 0,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => write!(out, "connection: {error}"),
            Error::Server { errno, sqlstate, message } => write!(out, "ERROR {errno} ({sqlstate}): {message}"),
            Error::Protocol(what) => write!(out, "protocol: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

/// Whether what is sent and received is encrypted.
#[derive(Clone, Debug, Default)]
pub enum Encryption {
    #[default]
    None,
    /// With servers that offer it.
    IfOffered(ClientTls),
    /// A server that does not offer it is an error, before it has been told anything.
    Required(ClientTls),
}

/// Who connects, and how.
#[derive(Clone, Debug)]
pub struct Login {
    /// A name or an address.
    pub host: String,
    pub user: String,
    pub password: String,
    pub database: String,
    pub extra_capabilities: u32,
    /// Whether the server may ask for local files at all; see [`CLIENT_LOCAL_FILES`].
    pub local_infile: bool,
    /// The number of the collation of texts that are sent.
    pub collation: u8,
    pub encryption: Encryption,
    /// No answer within this time is an [`Error::Io`].
    pub patience: Duration,
}

impl Default for Login {
    fn default() -> Self {
        Login {
            host: "127.0.0.1".into(),
            user: "root".into(),
            password: String::new(),
            database: String::new(),
            extra_capabilities: 0,
            local_infile: true,
            collation: COLLATION_UTF8MB4_GENERAL_CI,
            encryption: Encryption::None,
            patience: Duration::from_secs(60),
        }
    }
}

impl Login {
    pub fn user(user: &str, password: &str) -> Login {
        Login { user: user.into(), password: password.into(), ..Login::default() }
    }
}

/// What an OK packet says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: u16,
    pub warnings: u16,
    pub info: String,
    /// With [`CLIENT_SESSION_TRACK`]: kinds of what has changed in the session, and the texts.
    pub changes: Vec<(u8, Vec<String>)>,
}

/// A complete result set.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
    pub status: u16,
    pub warnings: u16,
}

impl Rows {
    /// Rows as text, values separated by commas: handy in assertions.
    pub fn text(&self) -> Vec<String> {
        let line = |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>();
        self.rows.iter().map(|row| line(row).join(",")).collect()
    }
}

/// One result of a command.
#[derive(Clone, Debug)]
pub enum Reply {
    Done(Done),
    Rows(Rows),
}

impl Reply {
    pub fn status(&self) -> u16 {
        match self {
            Reply::Done(done) => done.status,
            Reply::Rows(rows) => rows.status,
        }
    }

    pub fn done(self) -> Result<Done> {
        match self {
            Reply::Done(done) => Ok(done),
            Reply::Rows(_) => Err(Error::Protocol("rows where none were expected".into())),
        }
    }

    pub fn rows(self) -> Result<Rows> {
        match self {
            Reply::Rows(rows) => Ok(rows),
            Reply::Done(_) => Err(Error::Protocol("no rows where some were expected".into())),
        }
    }
}

/// A connection that has logged in.
pub struct Client {
    channel: Channel,
    connection_id: u32,
    salt: Vec<u8>,
    server_version: String,
    /// The statement that is being executed was to open a cursor.
    asked_for_cursor: bool,
}

impl Client {
    /// Connects to the local `port` as root without a password.
    pub fn connect(port: u16) -> Result<Client> {
        Client::log_in(port, &Login::default())
    }

    /// Connects to a port of the login's host.
    pub fn log_in(port: u16, login: &Login) -> Result<Client> {
        let mut channel = Channel::open(&login.host, port, login.patience)?;
        let greeting = auth::read_greeting(&mut channel)?;
        let mut head = Vec::new();
        let tls = tls_to_use(login, greeting.capabilities)?;
        let capabilities = capabilities(login) | if tls.is_some() { CLIENT_SSL } else { 0 };
        head.extend_from_slice(&capabilities.to_le_bytes());
        head.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
        head.push(login.collation);
        head.extend_from_slice(&[0; 23]);
        if let Some(tls) = tls {
            channel.send(&head)?;
            channel.encrypt(tls, &login.host)?;
        }
        let mut body = head;
        push_terminated(&mut body, &login.user);
        let answer = auth::scramble(&greeting.plugin, &login.password, &greeting.salt)?;
        body.push(answer.len() as u8);
        body.extend_from_slice(&answer);
        if !login.database.is_empty() {
            push_terminated(&mut body, &login.database);
        }
        push_terminated(&mut body, &greeting.plugin);
        channel.send(&body)?;
        auth::finish(&mut channel, &login.password, &greeting.salt)?;
        Ok(Client {
            channel,
            connection_id: greeting.connection_id,
            salt: greeting.salt,
            server_version: greeting.version,
            asked_for_cursor: false,
        })
    }

    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The raw packets underneath.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// The socket alone, for programs that serve many of them at a time.
    pub fn into_stream(self) -> TcpStream {
        self.channel.into_stream()
    }

    /// Sends a statement without waiting for its reply; [`Client::receive_reply`] takes that.
    pub fn send_query(&mut self, sql: &str) -> Result<()> {
        self.command(COM_QUERY, sql.as_bytes())
    }

    /// Runs text that may hold several statements and returns all their results.
    pub fn run(&mut self, sql: &str) -> Result<Vec<Reply>> {
        self.send_query(sql)?;
        let mut replies = vec![self.receive_reply()?];
        while replies.last().is_some_and(|reply| reply.status() & SERVER_MORE_RESULTS_EXISTS != 0) {
            replies.push(self.receive_reply()?);
        }
        Ok(replies)
    }

    /// Runs one statement that returns no rows.
    pub fn execute(&mut self, sql: &str) -> Result<Done> {
        self.send_query(sql)?;
        self.receive_reply()?.done()
    }

    /// Runs one statement that returns rows.
    pub fn query(&mut self, sql: &str) -> Result<Rows> {
        self.send_query(sql)?;
        self.receive_reply()?.rows()
    }

    /// Runs one query and returns its rows as text, see [`Rows::text`].
    pub fn text(&mut self, sql: &str) -> Result<Vec<String>> {
        Ok(self.query(sql)?.text())
    }

    /// Takes one result of the text protocol.
    pub fn receive_reply(&mut self) -> Result<Reply> {
        self.receive_result(value::text_row)
    }

    /// Whether the server answers the statement in flight within `time`.
    pub fn answers_within(&mut self, time: Duration) -> Result<bool> {
        Ok(self.channel.readable_within(time)?)
    }

    pub fn ping(&mut self) -> Result<Done> {
        self.command(COM_PING, &[])?;
        self.receive_reply()?.done()
    }

    pub fn use_database(&mut self, name: &str) -> Result<Done> {
        self.command(COM_INIT_DB, name.as_bytes())?;
        self.receive_reply()?.done()
    }

    pub fn reset_connection(&mut self) -> Result<Done> {
        self.command(COM_RESET_CONNECTION, &[])?;
        self.receive_reply()?.done()
    }

    pub fn change_user(&mut self, login: &Login) -> Result<()> {
        let plugin = "mysql_native_password";
        let mut body = Vec::new();
        push_terminated(&mut body, &login.user);
        let answer = auth::scramble(plugin, &login.password, &self.salt)?;
        body.push(answer.len() as u8);
        body.extend_from_slice(&answer);
        push_terminated(&mut body, &login.database);
        body.extend_from_slice(&(COLLATION_UTF8MB4_GENERAL_CI as u16).to_le_bytes());
        push_terminated(&mut body, plugin);
        self.command(COM_CHANGE_USER, &body)?;
        auth::finish(&mut self.channel, &login.password, &self.salt)
    }

    /// Starts a command: a new exchange with the sequence at zero.
    pub fn command(&mut self, command: u8, body: &[u8]) -> Result<()> {
        let mut packet = Vec::with_capacity(body.len() + 1);
        packet.push(command);
        packet.extend_from_slice(body);
        self.channel.restart_sequence();
        self.asked_for_cursor = false;
        self.channel.send(&packet)?;
        Ok(())
    }

    fn receive_result(&mut self, decode: fn(&[u8], &[Column]) -> Result<Vec<Value>>) -> Result<Reply> {
        let packet = self.channel.receive()?;
        match packet.first() {
            Some(0x00) => return Ok(Reply::Done(read_ok(&packet)?)),
            Some(0xff) => return Err(read_error(&packet)),
            Some(0xfb) => return Err(Error::Protocol("the server asks for a local file".into())),
            _ => {}
        }
        let count = Reader::new(&packet).length()?;
        let columns = self.receive_columns(count as usize)?;
        let mut result = Rows { status: columns.1, columns: columns.0, ..Rows::default() };
        // With an open cursor the rows wait for COM_STMT_FETCH. A procedure's cursors are none of the client's.
        if self.asked_for_cursor && result.status & SERVER_STATUS_CURSOR_EXISTS != 0 {
            return Ok(Reply::Rows(result));
        }
        self.receive_rows(&mut result, decode)?;
        Ok(Reply::Rows(result))
    }

    fn receive_columns(&mut self, count: usize) -> Result<(Vec<Column>, u16)> {
        let mut columns = Vec::new();
        for _ in 0..count {
            let packet = self.channel.receive()?;
            if packet.first() == Some(&0xff) {
                return Err(read_error(&packet));
            }
            let column = Column::read(&packet);
            columns.push(column.map_err(|error| Error::Protocol(format!("{error} in the column {packet:x?}")))?);
        }
        let packet = self.channel.receive()?;
        match read_eof(&packet) {
            Some((status, _)) => Ok((columns, status)),
            None => Err(Error::Protocol("no EOF after the columns".into())),
        }
    }

    fn receive_rows(
        &mut self,
        result: &mut Rows,
        decode: fn(&[u8], &[Column]) -> Result<Vec<Value>>,
    ) -> Result<()> {
        loop {
            let packet = self.channel.receive()?;
            if let Some((status, warnings)) = read_eof(&packet) {
                result.status = status;
                result.warnings = warnings;
                return Ok(());
            }
            if packet.first() == Some(&0xff) {
                return Err(read_error(&packet));
            }
            result.rows.push(decode(&packet, &result.columns)?);
        }
    }
}

fn capabilities(login: &Login) -> u32 {
    let mut capabilities = CLIENT_LONG_PASSWORD
        | CLIENT_LONG_FLAG
        | CLIENT_PROTOCOL_41
        | CLIENT_TRANSACTIONS
        | CLIENT_SECURE_CONNECTION
        | CLIENT_MULTI_STATEMENTS
        | CLIENT_MULTI_RESULTS
        | CLIENT_PS_MULTI_RESULTS
        | CLIENT_PLUGIN_AUTH
        | login.extra_capabilities;
    if login.local_infile {
        capabilities |= CLIENT_LOCAL_FILES;
    }
    if !login.database.is_empty() {
        capabilities |= CLIENT_CONNECT_WITH_DB;
    }
    capabilities
}

fn tls_to_use(login: &Login, of_server: u32) -> Result<Option<&ClientTls>> {
    let is_offered = of_server & CLIENT_SSL != 0;
    match &login.encryption {
        Encryption::None => Ok(None),
        Encryption::IfOffered(tls) => Ok(Some(tls).filter(|_| is_offered)),
        Encryption::Required(tls) if is_offered => Ok(Some(tls)),
        Encryption::Required(_) => Err(Error::Protocol("TLS is required, and the server has none".into())),
    }
}

fn push_terminated(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(text.as_bytes());
    body.push(0);
}

fn read_eof(packet: &[u8]) -> Option<(u16, u16)> {
    match packet {
        [0xfe, warnings_low, warnings_high, low, high] => {
            Some((u16::from_le_bytes([*low, *high]), u16::from_le_bytes([*warnings_low, *warnings_high])))
        }
        _ => None,
    }
}

fn read_ok(packet: &[u8]) -> Result<Done> {
    let mut reader = Reader::new(&packet[1..]);
    let mut done = Done {
        affected_rows: reader.length()?,
        last_insert_id: reader.length()?,
        status: reader.u16()?,
        warnings: reader.u16()?,
        info: String::from_utf8_lossy(reader.string().unwrap_or_default()).into_owned(),
        changes: Vec::new(),
    };
    if done.status & SERVER_SESSION_STATE_CHANGED != 0 {
        let mut changes = Reader::new(reader.string()?);
        while !changes.is_empty() {
            let kind = changes.u8()?;
            let (mut entry, mut texts) = (Reader::new(changes.string()?), Vec::new());
            while !entry.is_empty() {
                texts.push(String::from_utf8_lossy(entry.string()?).into_owned());
            }
            done.changes.push((kind, texts));
        }
    }
    Ok(done)
}

fn read_error(packet: &[u8]) -> Error {
    let mut reader = Reader::new(&packet[1..]);
    let Ok(errno) = reader.u16() else {
        return Error::Protocol("an error packet without a number".into());
    };
    let rest = String::from_utf8_lossy(reader.rest()).into_owned();
    match rest.strip_prefix('#').and_then(|rest| rest.split_at_checked(5)) {
        Some((sqlstate, message)) => Error::Server { errno, sqlstate: sqlstate.into(), message: message.into() },
        None => Error::Server { errno, sqlstate: String::new(), message: rest },
    }
}
