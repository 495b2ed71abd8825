//! What all connections of a worker compress with. A context is made when it is first used.

use std::cell::RefCell;
use std::fmt;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// zlib's level has no place in the protocol. At 1 digits shrink by a fifth, at 2 by half; from there on by no more.
const ZLIB_LEVEL: u32 = 2;
/// What clients ask for if they do not care. On packets level 1 is as good, and twice as fast.
const ZSTD_LEVEL_USUAL: u8 = 3;
/// Levels that clients ask for beyond this are served at it: they would cost others on the same thread too much.
const ZSTD_LEVEL_MAX: u8 = 6;
/// The largest window that the contents of a packet can want, as a power of two.
const WINDOW_LOG_MAX: u32 = 24;
/// A context that has grown beyond this is not kept.
const CONTEXT_BYTES_KEPT_MAX: usize = 4 << 20;
/// Capacity of a fresh buffer, and the most of one that is kept.
const BUFFER_SIZE: usize = 16 << 10;
const BUFFER_SIZE_KEPT_MAX: usize = 64 << 10;
const BUFFERS_KEPT_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Zlib,
    Zstd,
}

impl Algorithm {
    /// As in the variable `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd => "zstd",
        }
    }
}

/// What the two sides of a connection have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    pub algorithm: Algorithm,
    /// As the client has it; the server chooses its own.
    pub level: u8,
}

impl Method {
    fn own_level(self) -> i32 {
        if self.level <= ZSTD_LEVEL_USUAL { 1 } else { self.level.min(ZSTD_LEVEL_MAX).into() }
    }
}

#[derive(Default)]
pub struct Codecs {
    deflate: RefCell<Option<Compress>>,
    inflate: RefCell<Option<Decompress>>,
    zstd_compress: RefCell<Option<CCtx<'static>>>,
    zstd_decompress: RefCell<Option<DCtx<'static>>>,
    buffers: RefCell<Vec<Vec<u8>>>,
}

impl fmt::Debug for Codecs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Codecs").finish_non_exhaustive()
    }
}

impl Codecs {
    /// Appends `plain` compressed. `false`, and nothing is appended: it would not become shorter.
    pub fn compress(&self, method: Method, plain: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        // No room for what is not shorter.
        let room = plain.len() - 1;
        let is_shorter = match method.algorithm {
            Algorithm::Zlib => {
                let mut place = self.deflate.borrow_mut();
                let deflate =
                    place.get_or_insert_with(|| Compress::new(flate2::Compression::new(ZLIB_LEVEL), true));
                deflate.reset();
                out.resize(start + room, 0);
                let ended = deflate.compress(plain, &mut out[start..], FlushCompress::Finish);
                out.truncate(start + deflate.total_out() as usize);
                matches!(ended, Ok(Status::StreamEnd))
            }
            Algorithm::Zstd => {
                let mut place = self.zstd_compress.borrow_mut();
                let Some(context) = made(&mut place, CCtx::try_create) else { return false };
                out.resize(start + room, 0);
                let level = CParameter::CompressionLevel(method.own_level());
                let written =
                    context.set_parameter(level).and_then(|_| context.compress2(&mut out[start..], plain));
                out.truncate(start + written.unwrap_or(0));
                written.is_ok()
            }
        };
        if !is_shorter {
            out.truncate(start);
        }
        is_shorter
    }

    /// `None`: there is no memory for it.
    pub fn decompressor(&self, algorithm: Algorithm) -> Option<Decompressor> {
        match algorithm {
            Algorithm::Zlib => {
                let mut inflate = self.inflate.take().unwrap_or_else(|| Decompress::new(true));
                inflate.reset(true);
                Some(Decompressor::Zlib(inflate))
            }
            Algorithm::Zstd => {
                let mut context = self.zstd_decompress.take().or_else(DCtx::try_create)?;
                context.reset(ResetDirective::SessionOnly).ok()?;
                context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).ok()?;
                Some(Decompressor::Zstd(context))
            }
        }
    }

    pub fn take_back(&self, decompressor: Decompressor) {
        match decompressor {
            Decompressor::Zlib(inflate) => *self.inflate.borrow_mut() = Some(inflate),
            Decompressor::Zstd(context) if context.sizeof() <= CONTEXT_BYTES_KEPT_MAX => {
                *self.zstd_decompress.borrow_mut() = Some(context);
            }
            Decompressor::Zstd(_) => {}
        }
    }

    /// An empty buffer.
    pub fn lend_buffer(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_SIZE))
    }

    pub fn take_back_buffer(&self, mut buffer: Vec<u8>) {
        let mut kept = self.buffers.borrow_mut();
        if kept.len() < BUFFERS_KEPT_MAX && (1..=BUFFER_SIZE_KEPT_MAX).contains(&buffer.capacity()) {
            buffer.clear();
            kept.push(buffer);
        }
    }
}

fn made<T>(place: &mut Option<T>, make: impl FnOnce() -> Option<T>) -> Option<&mut T> {
    if place.is_none() {
        *place = make();
    }
    place.as_mut()
}

/// In the middle of one packet.
pub enum Decompressor {
    Zlib(Decompress),
    Zstd(DCtx<'static>),
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Decompressor")
    }
}

/// How far one step has come.
pub struct Progress {
    pub consumed: usize,
    pub produced: usize,
    pub is_end: bool,
}

impl Decompressor {
    /// `None`: the bytes are spoilt.
    pub fn step(&mut self, compressed: &[u8], plain: &mut [u8]) -> Option<Progress> {
        match self {
            Decompressor::Zlib(inflate) => {
                let (consumed, produced) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(compressed, plain, FlushDecompress::None).ok()?;
                Some(Progress {
                    consumed: (inflate.total_in() - consumed) as usize,
                    produced: (inflate.total_out() - produced) as usize,
                    is_end: status == Status::StreamEnd,
                })
            }
            Decompressor::Zstd(context) => {
                let mut input = InBuffer::around(compressed);
                let mut output = OutBuffer::around(plain);
                let hint = context.decompress_stream(&mut output, &mut input).ok()?;
                Some(Progress { consumed: input.pos(), produced: output.pos(), is_end: hint == 0 })
            }
        }
    }
}
