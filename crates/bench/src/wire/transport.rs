//! The bytes of one connection: a socket, TLS around it, and compressed packets within that.
//!
//! What is received is uncompressed into one buffer, out of which packets are taken in place. What is sent are short statements, which go as
//! they are: the protocol allows that inside compressed packets too, and a client library does the same below its threshold.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use zstd::zstd_safe::DCtx;

/// Of a packet, and of a compressed one.
const HEADER_BYTES: usize = 4;
const FRAME_HEADER_BYTES: usize = 7;
const READ_BYTES: usize = 16 << 10;
/// A certificate that a server made for itself bears this name, whatever address it is reached by.
const SERVER_NAME: &str = "localhost";

/// What the two sides compress with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    None,
    Zlib,
    Zstd,
}

impl Compression {
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Zlib => "zlib",
            Compression::Zstd => "zstd",
        }
    }
}

/// What clients trust and agree to. `resumes`: sessions are gone on with that were begun by earlier connections.
pub fn client_config(authority: &Path, resumes: bool) -> io::Result<Arc<ClientConfig>> {
    let certificate = CertificateDer::from_pem_file(authority)
        .map_err(|error| io::Error::other(format!("{}: {error}", authority.display())))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(io::Error::other)?;
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    if !resumes {
        config.resumption = Resumption::disabled();
    }
    Ok(Arc::new(config))
}

enum Socket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

enum Inflater {
    None,
    Zlib(Box<Decompress>),
    Zstd(DCtx<'static>),
}

/// Invariant: `start <= plain.len()`; what lies from `start` on is received and not taken.
pub struct Transport {
    socket: Socket,
    inflater: Inflater,
    /// Compressed packets as they came, whole ones and a part of one.
    raw: Vec<u8>,
    plain: Vec<u8>,
    start: usize,
    /// Bytes that came over the line, as far as this side sees them: TLS's own are not among them.
    pub received: u64,
}

impl Transport {
    pub fn connect(host: &str, port: u16) -> io::Result<Transport> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_nodelay(true)?;
        let socket = Socket::Plain(stream);
        let (raw, plain) = (Vec::new(), Vec::new());
        Ok(Transport { socket, inflater: Inflater::None, raw, plain, start: 0, received: 0 })
    }

    /// Goes on in TLS; the handshake is over when this returns.
    pub fn encrypt(self, config: &Arc<ClientConfig>) -> io::Result<Transport> {
        let Socket::Plain(mut stream) = self.socket else { return Err(io::Error::other("encrypted twice")) };
        let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
        let mut session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut stream)?;
        }
        Ok(Transport { socket: Socket::Tls(Box::new(StreamOwned::new(session, stream))), ..self })
    }

    /// From here on packets come in compressed ones.
    pub fn compress(&mut self, compression: Compression) -> io::Result<()> {
        self.inflater = match compression {
            Compression::None => Inflater::None,
            Compression::Zlib => Inflater::Zlib(Box::new(Decompress::new(true))),
            Compression::Zstd => {
                Inflater::Zstd(DCtx::try_create().ok_or_else(|| io::Error::other("no memory for zstd"))?)
            }
        };
        Ok(())
    }

    /// Whether the session of TLS is one that an earlier connection began.
    pub fn is_resumed(&self) -> bool {
        let Socket::Tls(tls) = &self.socket else { return false };
        tls.conn.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// One packet: `sequence` of the plain protocol; a compressed packet around it is the first of its exchange.
    pub fn send(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
        let mut bytes = Vec::with_capacity(payload.len() + HEADER_BYTES + FRAME_HEADER_BYTES);
        if !matches!(self.inflater, Inflater::None) {
            let [x, y, z, _] = ((payload.len() + HEADER_BYTES) as u32).to_le_bytes();
            bytes.extend_from_slice(&[x, y, z, 0, 0, 0, 0]);
        }
        bytes.extend_from_slice(&[a, b, c, sequence]);
        bytes.extend_from_slice(payload);
        match &mut self.socket {
            Socket::Plain(stream) => stream.write_all(&bytes),
            Socket::Tls(stream) => stream.write_all(&bytes).and_then(|()| stream.flush()),
        }
    }

    /// The payload of the next packet.
    pub fn receive(&mut self) -> io::Result<&[u8]> {
        let size = loop {
            let waiting = &self.plain[self.start..];
            if let Some(&[a, b, c, _]) = waiting.first_chunk::<HEADER_BYTES>() {
                let size = u32::from_le_bytes([a, b, c, 0]) as usize;
                if waiting.len() >= HEADER_BYTES + size {
                    break size;
                }
            }
            self.fill()?;
        };
        let from = self.start + HEADER_BYTES;
        self.start = from + size;
        Ok(&self.plain[from..from + size])
    }

    fn fill(&mut self) -> io::Result<()> {
        self.plain.drain(..self.start);
        self.start = 0;
        let is_plain = matches!(self.inflater, Inflater::None);
        let into = if is_plain { &mut self.plain } else { &mut self.raw };
        let at = into.len();
        into.resize(at + READ_BYTES, 0);
        let read = match &mut self.socket {
            Socket::Plain(stream) => stream.read(&mut into[at..]),
            Socket::Tls(stream) => stream.read(&mut into[at..]),
        };
        into.truncate(at + *read.as_ref().unwrap_or(&0));
        self.received += read? as u64;
        if into.len() == at {
            return Err(io::Error::other("the server has closed the connection"));
        }
        if is_plain { Ok(()) } else { self.inflate() }
    }

    /// Uncompresses all packets that are there in full.
    fn inflate(&mut self) -> io::Result<()> {
        let mut done = 0;
        while let Some(&[a, b, c, _, x, y, z]) = self.raw[done..].first_chunk::<FRAME_HEADER_BYTES>() {
            let size = u32::from_le_bytes([a, b, c, 0]) as usize;
            let plain_size = u32::from_le_bytes([x, y, z, 0]) as usize;
            let Some(contents) = self.raw[done + FRAME_HEADER_BYTES..].get(..size) else { break };
            match plain_size {
                0 => self.plain.extend_from_slice(contents),
                _ => uncompress(&mut self.inflater, contents, plain_size, &mut self.plain)?,
            }
            done += FRAME_HEADER_BYTES + size;
        }
        self.raw.drain(..done);
        Ok(())
    }
}

fn uncompress(inflater: &mut Inflater, contents: &[u8], size: usize, plain: &mut Vec<u8>) -> io::Result<()> {
    let at = plain.len();
    plain.resize(at + size, 0);
    let is_right = match inflater {
        Inflater::None => false,
        Inflater::Zlib(inflate) => {
            inflate.reset(true);
            let status = inflate.decompress(contents, &mut plain[at..], FlushDecompress::Finish);
            matches!(status, Ok(Status::StreamEnd)) && inflate.total_out() == size as u64
        }
        Inflater::Zstd(context) => context.decompress(&mut plain[at..], contents) == Ok(size),
    };
    if is_right { Ok(()) } else { Err(io::Error::other("a compressed packet is spoilt")) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use flate2::{Compress, FlushCompress};
    use zstd::zstd_safe::CCtx;

    use super::*;

    fn frame(contents: &[u8], plain_size: usize) -> Vec<u8> {
        let (size, plain) = ((contents.len() as u32).to_le_bytes(), (plain_size as u32).to_le_bytes());
        [&size[..3], &[0], &plain[..3], contents].concat()
    }

    fn compressed(compression: Compression, plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(plain.len() + 100);
        match compression {
            Compression::None => {}
            Compression::Zlib => {
                let mut deflate = Compress::new(flate2::Compression::new(6), true);
                deflate.compress_vec(plain, &mut out, FlushCompress::Finish).unwrap();
            }
            Compression::Zstd => drop(CCtx::try_create().unwrap().compress(&mut out, plain, 3).unwrap()),
        }
        out
    }

    /// What a client receives of a server that sends `wire` in small pieces.
    fn received(compression: Compression, wire: Vec<u8>) -> io::Result<Vec<Vec<u8>>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            wire.chunks(17).for_each(|piece| stream.write_all(piece).unwrap());
        });
        let mut transport = Transport::connect("127.0.0.1", port)?;
        transport.compress(compression)?;
        let packets = (0..2).map(|_| transport.receive().map(<[u8]>::to_vec)).collect();
        server.join().unwrap();
        packets
    }

    #[test]
    fn packets_are_taken_out_of_compressed_ones_whatever_their_bounds() {
        let long = [&[0xe8, 3, 0, 0][..], &[b'a'; 1000]].concat();
        for compression in [Compression::Zlib, Compression::Zstd] {
            let (first, second) = long.split_at(500);
            let wire = [
                frame(&compressed(compression, first), first.len()),
                frame(&compressed(compression, second), second.len()),
                frame(&[2, 0, 0, 1, b'o', b'k'], 0),
            ];
            let packets = received(compression, wire.concat()).unwrap();
            assert!(packets == [vec![b'a'; 1000], b"ok".to_vec()]);
            let lies = frame(&compressed(compression, first), first.len() + 1);
            assert!(received(compression, lies).unwrap_err().to_string().contains("spoilt"));
        }
    }
}
