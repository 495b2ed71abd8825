//! One connection of the driver: a statement out, its answer in, bytes as they come.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use shoal_testkit::client::{COM_QUERY, Reader};

use super::{Next, Script, Tally};

const HEADER_BYTES: usize = 4;
const FIRST_BUFFER_BYTES: usize = 4 * 1024;
/// A longer packet goes on in the next one; no script of the driver has such statements or rows.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// What a statement was answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// 0 if all went well.
    pub errno: u16,
    pub message: String,
    pub affected_rows: u64,
    pub rows: u64,
    /// Of the first row; `None` for NULL, too.
    pub first_value: Option<String>,
}

/// Where in an answer the next packet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    First,
    Columns { left: u64 },
    Rows,
}

pub struct Connection {
    pub stream: TcpStream,
    script: Box<dyn Script>,
    input: Vec<u8>,
    filled: usize,
    statement: String,
    packet: Vec<u8>,
    stage: Stage,
    answer: Answer,
    /// Whether `answer` is that of a statement before.
    has_answer: bool,
    kind: Next,
    began: Instant,
}

impl Connection {
    pub fn new(stream: TcpStream, script: Box<dyn Script>) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection {
            stream,
            script,
            input: vec![0; FIRST_BUFFER_BYTES],
            filled: 0,
            statement: String::new(),
            packet: Vec::new(),
            stage: Stage::Idle,
            answer: Answer::default(),
            has_answer: false,
            kind: Next::Done,
            began: Instant::now(),
        })
    }

    pub fn is_waiting(&self) -> bool {
        self.stage != Stage::Idle
    }

    /// Sends the next statement. While everything ends, only what an event began is gone on with.
    pub fn go_on(&mut self, is_ending: bool, now: Instant, tally: &mut Tally) -> io::Result<()> {
        self.stage = Stage::Idle;
        let is_inside = matches!(self.kind, Next::Begin | Next::Middle);
        if is_ending && !is_inside {
            return Ok(());
        }
        self.statement.clear();
        let last = self.has_answer.then_some(&self.answer);
        self.kind = self.script.next(last, &mut self.statement);
        match self.kind {
            Next::Done => return Ok(()),
            Next::Event | Next::Begin => self.began = now,
            Next::Middle | Next::End | Next::Apart => {}
        }
        self.packet.clear();
        let length = self.statement.len() + 1;
        if length >= PACKET_BYTES_MAX {
            return Err(io::Error::other("a statement is too long for the driver"));
        }
        self.packet.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        self.packet.extend_from_slice(&[0, COM_QUERY]);
        self.packet.extend_from_slice(self.statement.as_bytes());
        self.stage = Stage::First;
        self.answer = Answer::default();
        self.send().inspect_err(|_| tally.error(0, "connection lost"))
    }

    /// Statements are far smaller than a socket's buffer, so a full one is a server that does not read.
    fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.packet)
    }

    /// Takes what has come, and goes on when the answer is complete.
    pub fn receive(&mut self, is_ending: bool, tally: &mut Tally) -> io::Result<()> {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return Err(io::Error::other("the server closed a connection")),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut start = 0;
        let mut is_complete = false;
        while let Some(length) =
            self.length_at(start).filter(|length| start + HEADER_BYTES + length <= self.filled)
        {
            let body = start + HEADER_BYTES..start + HEADER_BYTES + length;
            start = body.end;
            is_complete = take(&self.input[body], &mut self.stage, &mut self.answer)?;
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        let wanted = self.length_at(0).map_or(0, |length| length + HEADER_BYTES);
        if wanted > self.input.len() || self.filled == self.input.len() {
            self.input.resize(wanted.max(self.input.len() * 2), 0);
        }
        if is_complete { self.answered(is_ending, tally) } else { Ok(()) }
    }

    fn length_at(&self, start: usize) -> Option<usize> {
        let header = self.input[..self.filled].get(start..start + HEADER_BYTES)?;
        Some(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
    }

    fn answered(&mut self, is_ending: bool, tally: &mut Tally) -> io::Result<()> {
        let now = Instant::now();
        self.has_answer = true;
        if self.answer.errno != 0 {
            tally.error(self.answer.errno, &self.answer.message);
            // The script decides how to go on; what has begun is not an event that ended well.
            self.kind = Next::Apart;
        } else if matches!(self.kind, Next::Event | Next::End) {
            tally.event(self.began, now);
        }
        self.go_on(is_ending, now, tally)
    }
}

/// Whether the answer is complete with this packet.
fn take(packet: &[u8], stage: &mut Stage, answer: &mut Answer) -> io::Result<bool> {
    let is_eof = packet.first() == Some(&0xfe) && packet.len() < 9;
    if packet.first() == Some(&0xff) {
        let mut reader = Reader::new(&packet[1..]);
        answer.errno = reader.u16().map_err(io::Error::other)?;
        answer.message = String::from_utf8_lossy(reader.rest()).into_owned();
        return Ok(true);
    }
    match *stage {
        Stage::Idle => return Err(io::Error::other("the server sent what nobody asked for")),
        Stage::First if packet.first() == Some(&0x00) => {
            answer.affected_rows = Reader::new(&packet[1..]).length().map_err(io::Error::other)?;
            return Ok(true);
        }
        Stage::First => {
            let count = Reader::new(packet).length().map_err(io::Error::other)?;
            // And the packet that ends the columns.
            *stage = Stage::Columns { left: count + 1 };
        }
        Stage::Columns { left: 1 } => *stage = Stage::Rows,
        Stage::Columns { left } => *stage = Stage::Columns { left: left - 1 },
        Stage::Rows if is_eof => return Ok(true),
        Stage::Rows => {
            if answer.rows == 0 {
                let value = Reader::new(packet).nullable_string().map_err(io::Error::other)?;
                answer.first_value = value.map(|value| String::from_utf8_lossy(value).into_owned());
            }
            answer.rows += 1;
        }
    }
    Ok(false)
}
