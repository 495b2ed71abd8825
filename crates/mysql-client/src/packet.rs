//! Packets on a socket, and a reader for the fields inside one.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use shoal_tls::ClientTls;
use shoal_tls::rustls::{self, ClientConnection};

use super::{Error, Result};

const CHUNK_BYTES_MAX: usize = 0xff_ffff;

/// A socket that carries packets, in clear or within TLS.
pub struct Channel {
    stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
    sequence: u8,
}

impl Channel {
    pub fn open(host: &str, port: u16, patience: Duration) -> io::Result<Channel> {
        let address = (host, port).to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other(format!("{host} has no address")))?;
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Channel { stream, tls: None, sequence: 0 })
    }

    pub fn restart_sequence(&mut self) {
        self.sequence = 0;
    }

    /// From now on everything is within TLS. The handshake is done when this returns.
    pub fn encrypt(&mut self, tls: &ClientTls, host: &str) -> io::Result<()> {
        let mut session = tls.begin(host).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut self.stream)?;
        }
        self.tls = Some(Box::new(session));
        Ok(())
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The socket itself, below TLS.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Whether bytes (or the end of the stream) arrive within `time`; they are not taken.
    pub fn readable_within(&mut self, time: Duration) -> io::Result<bool> {
        if let Some(session) = &mut self.tls
            && session.process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
        {
            return Ok(true);
        }
        let patience = self.stream.read_timeout()?;
        self.stream.set_read_timeout(Some(time))?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(patience)?;
        match peeked {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(session) => rustls::Stream::new(session.as_mut(), &mut self.stream).read_exact(bytes),
            None => self.stream.read_exact(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(session) => {
                let mut stream = rustls::Stream::new(session.as_mut(), &mut self.stream);
                stream.write_all(bytes)?;
                stream.flush()
            }
            None => self.stream.write_all(bytes),
        }
    }

    /// Sends one packet, in chunks when it is longer than one may be.
    pub fn send(&mut self, body: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(body.len() + 8);
        let mut rest = body;
        loop {
            let chunk = rest.len().min(CHUNK_BYTES_MAX);
            bytes.extend_from_slice(&(chunk as u32).to_le_bytes()[..3]);
            bytes.push(self.sequence);
            bytes.extend_from_slice(&rest[..chunk]);
            self.sequence = self.sequence.wrapping_add(1);
            rest = &rest[chunk..];
            if chunk < CHUNK_BYTES_MAX {
                return self.write_all(&bytes);
            }
        }
    }

    /// Takes one packet, joining its chunks, and checks the sequence numbers.
    ///
    /// A server that ends a connection says so with an error of number 0, which meets a command that is on its way:
    /// like MySQL's own client, this one takes it for the answer.
    pub fn receive(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut header = [0; 4];
            self.read_exact(&mut header)?;
            let farewell = header[3] == 0 && self.sequence == 1 && body.is_empty();
            if header[3] != self.sequence && !farewell {
                return Err(Error::Protocol(format!("sequence {} where {} was due", header[3], self.sequence)));
            }
            self.sequence = self.sequence.wrapping_add(1);
            let chunk = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            let start = body.len();
            body.resize(start + chunk, 0);
            self.read_exact(&mut body[start..])?;
            if farewell && body.first() != Some(&0xff) {
                return Err(Error::Protocol("sequence 0 where 1 was due".into()));
            }
            if chunk < CHUNK_BYTES_MAX {
                return Ok(body);
            }
        }
    }
}

/// Reads the fields of a packet; running past its end is an error.
pub struct Reader<'packet> {
    bytes: &'packet [u8],
}

impl<'packet> Reader<'packet> {
    pub fn new(bytes: &'packet [u8]) -> Self {
        Reader { bytes }
    }

    pub fn take(&mut self, count: usize) -> Result<&'packet [u8]> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(Error::Protocol("a packet ends too early".into()));
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer.
    pub fn length(&mut self) -> Result<u64> {
        match self.u8()? {
            0xfc => Ok(self.u16()? as u64),
            0xfd => {
                let bytes = self.array::<3>()?;
                Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as u64)
            }
            0xfe => self.u64(),
            first @ (0xfb | 0xff) => Err(Error::Protocol(format!("{first:#x} is no length"))),
            first => Ok(first as u64),
        }
    }

    /// A length-encoded string.
    pub fn string(&mut self) -> Result<&'packet [u8]> {
        let length = self.length()?;
        self.take(length as usize)
    }

    /// A length-encoded string, or None for NULL.
    pub fn nullable_string(&mut self) -> Result<Option<&'packet [u8]>> {
        if self.bytes.first() == Some(&0xfb) {
            self.take(1)?;
            return Ok(None);
        }
        self.string().map(Some)
    }

    /// A string that ends with a zero byte.
    pub fn terminated(&mut self) -> Result<&'packet [u8]> {
        let end = self.bytes.iter().position(|&byte| byte == 0);
        let Some(end) = end else {
            return Err(Error::Protocol("a string without its zero byte".into()));
        };
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    pub fn rest(&mut self) -> &'packet [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
