//! Requests over HTTP, byte by byte: a client that is free to be rude.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What comes back until the server closes.
pub fn read_all(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sends these bytes and reads until the server closes.
pub fn send(address: &str, bytes: &[u8]) -> io::Result<String> {
    let mut stream = connect(address);
    stream.write_all(bytes)?;
    read_all(&mut stream)
}

pub fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// # Errors
/// Nobody listens, or the connection ends early.
pub fn try_get(address: &str, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let text = read_all(&mut stream)?;
    parse(&text).ok_or_else(|| io::Error::other(format!("no HTTP: {text}")))
}

pub fn get(address: &str, path: &str) -> Answer {
    try_get(address, path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The samples of a scrape by name and labels, as they stand there. Panics at what Prometheus would not take.
pub fn samples(scrape: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let mut families = BTreeMap::new();
    for line in scrape.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} is there twice");
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
            let base = name.split('{').next().unwrap();
            let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| base.strip_suffix(suffix));
            let family = families.get(base).or_else(|| families.get(histogram?));
            assert!(family.is_some(), "{base} has no TYPE");
            assert!(base.starts_with("shoal_"), "{base}");
            let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(found.insert(name.to_owned(), value).is_none(), "{name} is there twice");
        }
    }
    found
}
