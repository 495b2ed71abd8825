//! A client of the HandlerSocket protocol that knows nothing but lines, and a notation for them.
//!
//! In texts of tests `|` stands for a tab and `~` for the zero byte that is NULL.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::{Client, TestServer};

/// No answer takes longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct HandlerSocket {
    stream: TcpStream,
    received: Vec<u8>,
}

/// The ports of a server: for reading, and for writing.
#[derive(Clone, Copy, Debug)]
pub struct HandlerSocketPorts {
    pub reading: u16,
    pub writing: u16,
}

impl HandlerSocketPorts {
    /// Asks the server by SQL.
    pub fn of(client: &mut Client) -> HandlerSocketPorts {
        let mut port = |name: &str| {
            let text = client.text(&format!("SELECT @@{name}")).unwrap();
            text[0].parse().unwrap_or_else(|_| panic!("{name} is {text:?}"))
        };
        HandlerSocketPorts { reading: port("handlersocket_port"), writing: port("handlersocket_port_wr") }
    }

    /// A server with both ports, and more arguments.
    pub fn start(arguments: &[&str]) -> (TestServer, HandlerSocketPorts) {
        let all: Vec<&str> = ["--hs-port", "0", "--hs-port-wr", "0"].iter().chain(arguments).copied().collect();
        let server = TestServer::start_with(&all);
        let ports = HandlerSocketPorts::of(&mut server.client());
        (server, ports)
    }

    /// Ports that nobody listens on just now, for servers that cannot choose.
    pub fn free() -> HandlerSocketPorts {
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [reading, writing] = sockets.map(|socket| socket.local_addr().unwrap().port());
        HandlerSocketPorts { reading, writing }
    }

    pub fn reader(&self) -> HandlerSocket {
        HandlerSocket::connect(self.reading)
    }

    pub fn writer(&self) -> HandlerSocket {
        HandlerSocket::connect(self.writing)
    }
}

impl HandlerSocket {
    pub fn connect(port: u16) -> HandlerSocket {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        HandlerSocket { stream, received: Vec::new() }
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Sends bytes as they are; false if the server has closed the connection.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next line without its end; `None` when the server has closed the connection.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.received.drain(..=end).collect();
                line.pop();
                return Some(line);
            }
            let mut room = [0; 4096];
            match self.stream.read(&mut room) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&room[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("no answer within {PATIENCE:?}")
                }
                Err(_) => return None,
            }
        }
    }

    /// Sends a request and yields its answer, both in the notation of tests.
    pub fn ask(&mut self, request: &str) -> String {
        self.send(&wire(request));
        self.answer()
    }

    pub fn answer(&mut self) -> String {
        self.receive().map_or_else(|| "closed".to_owned(), |line| shown(&line))
    }

    /// Sends all requests at once.
    pub fn ask_all(&mut self, requests: &[&str]) -> Vec<String> {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| wire(request)).collect();
        self.send(&bytes);
        requests.iter().map(|_| self.answer()).collect()
    }

    /// Checks a dialogue of requests and answers.
    pub fn follow(&mut self, dialogue: &[(&str, &str)]) {
        for (request, answer) in dialogue {
            assert_eq!(self.ask(request), *answer, "to {request}");
        }
    }
}

/// A request as it is sent.
pub fn wire(text: &str) -> Vec<u8> {
    let byte = |byte: u8| match byte {
        b'|' => b'\t',
        b'~' => 0,
        other => other,
    };
    text.bytes().map(byte).chain([b'\n']).collect()
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).replace('\t', "|").replace('\0', "~")
}
