//! A session of a client that speaks TLS, zlib and zstd: logs in without a password, runs statements of the text protocol.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use shoal_testkit::client::{COM_QUERY, COM_QUIT, Reader};

use super::transport::{Compression, Transport, client_config};

const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_CONNECT_WITH_DB: u32 = 1 << 3;
const CLIENT_COMPRESS: u32 = 1 << 5;
const CLIENT_PROTOCOL_41: u32 = 1 << 9;
const CLIENT_SSL: u32 = 1 << 11;
const CLIENT_TRANSACTIONS: u32 = 1 << 13;
const CLIENT_SECURE_CONNECTION: u32 = 1 << 15;
const CLIENT_PLUGIN_AUTH: u32 = 1 << 19;
const CLIENT_ZSTD_COMPRESSION: u32 = 1 << 26;
const COLLATION_UTF8MB4_GENERAL_CI: u8 = 45;
/// What MySQL's clients ask for if they are not told.
const ZSTD_LEVEL: u8 = 3;
const OK: u8 = 0x00;
const MORE_OF_LOGIN: u8 = 0x01;
const SWITCH_OR_EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// An EOF packet is shorter than any row that begins with the same byte.
const EOF_BYTES_MAX: usize = 8;

/// Where to, and how.
#[derive(Clone)]
pub struct Target {
    pub host: String,
    pub port: u16,
    /// An account without a password.
    pub user: String,
    pub database: String,
    pub compression: Compression,
    pub tls: Option<Arc<ClientConfig>>,
}

impl Target {
    /// `authority`: with it, TLS.
    pub fn new(
        (host, port): (&str, u16),
        (user, database): (&str, &str),
        compression: Compression,
        authority: Option<&PathBuf>,
        resumes: bool,
    ) -> io::Result<Target> {
        let tls = authority.map(|path| client_config(path, resumes)).transpose()?;
        Ok(Target { host: host.into(), port, user: user.into(), database: database.into(), compression, tls })
    }
}

/// What a statement was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Rows(u64),
    /// The server's error number.
    Refused(u16),
}

pub struct Connection {
    transport: Transport,
    statement: Vec<u8>,
}

impl Connection {
    pub fn open(target: &Target) -> io::Result<Connection> {
        let mut transport = Transport::connect(&target.host, target.port)?;
        let (offered, plugin) = greeting(transport.receive()?)?;
        let mut claimed = CLIENT_LONG_PASSWORD
            | CLIENT_CONNECT_WITH_DB
            | CLIENT_PROTOCOL_41
            | CLIENT_TRANSACTIONS
            | CLIENT_SECURE_CONNECTION
            | CLIENT_PLUGIN_AUTH;
        claimed |= match target.compression {
            Compression::None => 0,
            Compression::Zlib => CLIENT_COMPRESS,
            Compression::Zstd => CLIENT_ZSTD_COMPRESSION,
        };
        if target.tls.is_some() {
            claimed |= CLIENT_SSL;
        }
        let absent = claimed & !offered & (CLIENT_SSL | CLIENT_COMPRESS | CLIENT_ZSTD_COMPRESSION);
        if absent != 0 {
            let what = if absent & CLIENT_SSL != 0 { "TLS" } else { target.compression.name() };
            return Err(io::Error::other(format!("the server offers no {what}")));
        }
        let mut answer = claimed.to_le_bytes().to_vec();
        answer.extend_from_slice(&(1u32 << 30).to_le_bytes());
        answer.push(COLLATION_UTF8MB4_GENERAL_CI);
        answer.extend_from_slice(&[0; 23]);
        let mut sequence = 1;
        if let Some(config) = &target.tls {
            transport.send(sequence, &answer)?;
            transport = transport.encrypt(config)?;
            sequence += 1;
        }
        // No password: its proof is empty.
        answer.extend_from_slice(target.user.as_bytes());
        answer.extend_from_slice(&[0, 0]);
        answer.extend_from_slice(target.database.as_bytes());
        answer.push(0);
        answer.extend_from_slice(plugin.as_bytes());
        answer.push(0);
        if target.compression == Compression::Zstd {
            answer.push(ZSTD_LEVEL);
        }
        transport.send(sequence, &answer)?;
        loop {
            match transport.receive()? {
                [OK, ..] => break,
                [MORE_OF_LOGIN, ..] => sequence += 1,
                [SWITCH_OR_EOF, ..] => {
                    sequence += 2;
                    transport.send(sequence, &[])?;
                }
                refusal => return Err(refused(refusal)),
            }
        }
        transport.compress(target.compression)?;
        Ok(Connection { transport, statement: Vec::new() })
    }

    /// Whether the session of TLS was resumed.
    pub fn is_resumed(&self) -> bool {
        self.transport.is_resumed()
    }

    /// Bytes that have come over the line.
    pub fn received(&self) -> u64 {
        self.transport.received
    }

    /// Runs one statement and reads all of its answer.
    pub fn query(&mut self, sql: &str) -> io::Result<Answer> {
        self.statement.clear();
        self.statement.push(COM_QUERY);
        self.statement.extend_from_slice(sql.as_bytes());
        self.transport.send(0, &self.statement)?;
        let columns = match self.transport.receive()? {
            [OK, ..] => return Ok(Answer::Done),
            refusal @ [ERROR, ..] => return Ok(Answer::Refused(errno(refusal))),
            head => Reader::new(head).length().map_err(io::Error::other)?,
        };
        // The definitions of the columns, and the EOF after them.
        for _ in 0..=columns {
            self.transport.receive()?;
        }
        let mut rows = 0;
        loop {
            match self.transport.receive()? {
                [SWITCH_OR_EOF, rest @ ..] if rest.len() < EOF_BYTES_MAX => return Ok(Answer::Rows(rows)),
                refusal @ [ERROR, ..] => return Ok(Answer::Refused(errno(refusal))),
                _ => rows += 1,
            }
        }
    }

    /// Says goodbye.
    pub fn quit(mut self) -> io::Result<()> {
        self.transport.send(0, &[COM_QUIT])
    }
}

/// What the server can do, and the plugin that it proposes.
fn greeting(packet: &[u8]) -> io::Result<(u32, String)> {
    if packet.first() == Some(&ERROR) {
        return Err(refused(packet));
    }
    let read = || -> Result<(u32, String), shoal_testkit::Error> {
        let mut fields = Reader::new(packet);
        fields.u8()?;
        fields.terminated()?;
        fields.take(4 + 8 + 1)?;
        let low = fields.u16()?;
        fields.take(1 + 2)?;
        let high = fields.u16()?;
        fields.take(1 + 10 + 13)?;
        let plugin = String::from_utf8_lossy(fields.terminated()?).into_owned();
        Ok((u32::from(high) << 16 | u32::from(low), plugin))
    };
    read().map_err(io::Error::other)
}

fn errno(packet: &[u8]) -> u16 {
    match packet {
        [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

fn refused(packet: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(packet.get(3..).unwrap_or_default()).into_owned();
    io::Error::other(format!("the server refuses the connection: {} {text}", errno(packet)))
}
