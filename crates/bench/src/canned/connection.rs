//! One client connection of the responder: bytes in, canned replies out.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::protocol::{self, CLIENT_DEPRECATE_EOF, Replies, STATEMENT_SELECT};

const HEADER_BYTES: usize = 4;
const FIRST_BUFFER_BYTES: usize = 16 * 1024;
/// A client that sends a longer packet is cut off; sysbench stays far below.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
const COM_STMT_CLOSE: u8 = 0x19;

#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    Open,
    Closed,
}

pub struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    authenticated: bool,
    deprecate_eof: bool,
}

impl Connection {
    /// Takes over a greeted, non-blocking stream.
    pub fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            input: vec![0; FIRST_BUFFER_BYTES],
            filled: 0,
            output: Vec::with_capacity(1024),
            authenticated: false,
            deprecate_eof: false,
        }
    }

    /// Takes what one receive gives and answers every complete packet in it with one send.
    pub fn serve(&mut self, replies: &Replies) -> io::Result<Progress> {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return Ok(Progress::Closed),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Open),
            Err(error) => return Err(error),
        }
        self.output.clear();
        let mut start = 0;
        while let Some(end) = self.packet_end(start) {
            if self.answer(start + HEADER_BYTES, end, replies) == Progress::Closed {
                return Ok(Progress::Closed);
            }
            start = end;
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        self.make_room()?;
        self.send()?;
        Ok(Progress::Open)
    }

    fn packet_length(&self, start: usize) -> Option<usize> {
        let header = self.input[..self.filled].get(start..start + HEADER_BYTES)?;
        Some(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
    }

    fn packet_end(&self, start: usize) -> Option<usize> {
        let end = start + HEADER_BYTES + self.packet_length(start)?;
        (end <= self.filled).then_some(end)
    }

    /// Grows the buffer to the packet that is still on its way.
    fn make_room(&mut self) -> io::Result<()> {
        let Some(length) = self.packet_length(0) else {
            return Ok(());
        };
        if length >= PACKET_BYTES_MAX {
            return Err(io::Error::other("packet too long"));
        }
        if HEADER_BYTES + length > self.input.len() {
            self.input.resize(HEADER_BYTES + length, 0);
        }
        Ok(())
    }

    fn answer(&mut self, start: usize, end: usize, replies: &Replies) -> Progress {
        let body = &self.input[start..end];
        if !self.authenticated {
            let Some(flags) = body.first_chunk::<4>() else {
                return Progress::Closed;
            };
            self.deprecate_eof = u32::from_le_bytes(*flags) & CLIENT_DEPRECATE_EOF != 0;
            self.authenticated = true;
            self.output.extend_from_slice(&replies.welcome);
            return Progress::Open;
        }
        let Some((&command, rest)) = body.split_first() else {
            return Progress::Closed;
        };
        match command {
            COM_QUIT => return Progress::Closed,
            COM_STMT_CLOSE | COM_STMT_SEND_LONG_DATA => {}
            COM_QUERY if protocol::is_select(rest) => {
                self.output.extend_from_slice(replies.text_row(self.deprecate_eof))
            }
            COM_STMT_PREPARE => protocol::prepared(&mut self.output, rest, self.deprecate_eof),
            COM_STMT_EXECUTE if rest.first() == Some(&(STATEMENT_SELECT as u8)) => {
                self.output.extend_from_slice(replies.binary_row(self.deprecate_eof))
            }
            _ => self.output.extend_from_slice(&replies.ok),
        }
        Progress::Open
    }

    /// Replies are far smaller than a socket buffer and the client waits for each, so a full buffer is a client
    /// that does not read: it is cut off instead of being buffered for.
    fn send(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.output)
    }
}
