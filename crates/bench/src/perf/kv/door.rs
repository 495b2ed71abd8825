//! The ways to a row by its key: how a connection begins, and the bytes of one request.
//!
//! Keys and values have fixed widths, so every reply of a door has one length, and a client that knows it needs no parser: what
//! limits the figures is the server.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;

use shoal_testkit::Client;
use shoal_testkit::client::Value;

/// The first key; all have seven digits.
pub const FIRST_KEY: u32 = 1_000_000;
pub const VALUE_BYTES: usize = 32;
pub const DATABASE: &str = "kv";
pub const TABLE: &str = "kv";
/// The length of a MySQL packet's head.
const HEAD_BYTES: usize = 4;
const COM_QUERY: u8 = 0x03;
const COM_STMT_EXECUTE: u8 = 0x17;

/// The value of a key in its `generation`: the first is what was loaded.
pub fn append_value(key: u32, generation: u32, out: &mut Vec<u8>) {
    let mut state = u64::from(key) << 32 | u64::from(generation);
    for _ in 0..VALUE_BYTES / 16 {
        state = (state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Writing into a vector cannot fail.
        let _ = write!(out, "{state:016x}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Echo,
    Memcached,
    Redis,
    HandlerSocket,
    HandlerSocketUpdate,
    HandlerSocketInsert,
    MysqlText,
    MysqlPrepared,
    Native,
    NativeUpdate,
    NativeInsert,
}

/// A connection that has been greeted, and what its requests need.
pub struct Opened {
    pub stream: TcpStream,
    statement: u32,
}

fn failed(what: impl std::fmt::Display) -> io::Error {
    io::Error::other(what.to_string())
}

impl Door {
    /// Whether replies carry the row's value.
    pub fn tells_value(self) -> bool {
        !matches!(self, Door::Echo) && !self.writes()
    }

    fn writes(self) -> bool {
        self.inserts() || matches!(self, Door::HandlerSocketUpdate | Door::NativeUpdate)
    }

    /// Whether keys are to be those of no row.
    pub fn inserts(self) -> bool {
        matches!(self, Door::HandlerSocketInsert | Door::NativeInsert)
    }

    /// `secret`: what a HandlerSocket port wants to hear first.
    pub fn open(self, port: u16, secret: Option<&str>) -> io::Result<Opened> {
        match self {
            Door::MysqlText | Door::MysqlPrepared => return self.open_mysql(port),
            _ => {}
        }
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let columns = match self {
            Door::HandlerSocket | Door::HandlerSocketUpdate => "v",
            Door::HandlerSocketInsert => "id,v",
            _ => return Ok(Opened { stream, statement: 0 }),
        };
        let secret = secret.map(|secret| format!("A\t1\t{secret}\n"));
        let open = format!("P\t1\t{DATABASE}\t{TABLE}\tPRIMARY\t{columns}\n");
        for request in secret.into_iter().chain([open]) {
            stream.write_all(request.as_bytes())?;
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            if line != "0\t1\n" {
                return Err(failed(format!("{:?} was answered with {line:?}", request.trim_end())));
            }
        }
        Ok(Opened { stream, statement: 0 })
    }

    fn open_mysql(self, port: u16) -> io::Result<Opened> {
        let mut client = Client::connect(port).map_err(failed)?;
        client.use_database(DATABASE).map_err(failed)?;
        let mut statement = 0;
        if self == Door::MysqlPrepared {
            let prepared = client.prepare("SELECT v FROM kv WHERE id = ?").map_err(failed)?;
            // The first execution tells the types; those that follow do not.
            client.run_statement(&prepared, &[Value::UInt(u64::from(FIRST_KEY))]).map_err(failed)?;
            statement = prepared.id;
        }
        let stream = client.channel().stream().try_clone()?;
        Ok(Opened { stream, statement })
    }
}

impl Opened {
    /// Appends the request for `key`. `generation` makes new values of it.
    pub fn append(&self, door: Door, key: u32, generation: u32, out: &mut Vec<u8>) {
        // Writing into a vector cannot fail.
        let _ = match door {
            Door::Echo | Door::HandlerSocket => writeln!(out, "1\t=\t1\t{key}"),
            Door::Memcached => write!(out, "get {key}\r\n"),
            Door::Redis => write!(out, "*2\r\n$3\r\nGET\r\n$7\r\n{key}\r\n"),
            Door::HandlerSocketUpdate => {
                let head = write!(out, "1\t=\t1\t{key}\t1\t0\tU\t");
                append_value(key, generation, out);
                out.push(b'\n');
                head
            }
            Door::HandlerSocketInsert => {
                let head = write!(out, "1\t+\t2\t{key}\t");
                append_value(key, generation, out);
                out.push(b'\n');
                head
            }
            // Its operations are not bytes that a benchmark could make.
            Door::Native | Door::NativeUpdate | Door::NativeInsert => Ok(()),
            Door::MysqlText => packet(out, COM_QUERY, |out| {
                let _ = write!(out, "SELECT v FROM kv WHERE id = {key}");
            }),
            Door::MysqlPrepared => packet(out, COM_STMT_EXECUTE, |out| {
                out.extend_from_slice(&self.statement.to_le_bytes());
                // No cursor, one iteration, no NULL, types as before.
                out.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0]);
                out.extend_from_slice(&u64::from(key).to_le_bytes());
            }),
        };
    }
}

fn packet(out: &mut Vec<u8>, command: u8, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    out.push(command);
    body(out);
    let length = ((out.len() - start - HEAD_BYTES) as u32).to_le_bytes();
    out[start..start + 3].copy_from_slice(&length[..3]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_width_and_differ_by_key_and_generation() {
        let value = |key, generation| {
            let mut out = Vec::new();
            append_value(key, generation, &mut out);
            out
        };
        assert_eq!(value(FIRST_KEY, 0).len(), VALUE_BYTES);
        assert_ne!(value(FIRST_KEY, 0), value(FIRST_KEY + 1, 0));
        assert_ne!(value(FIRST_KEY, 0), value(FIRST_KEY, 1));
    }
}
