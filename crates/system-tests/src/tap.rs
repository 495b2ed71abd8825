//! Bytes as they pass between two ports: a proxy that looks.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Listens on a port of its own and leads every connection to another one. Ends with the process.
pub struct Tap {
    port: u16,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    pub fn before(port: u16) -> Tap {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let tap = Tap { port: listener.local_addr().unwrap().port(), seen: Arc::default() };
        let seen = Arc::clone(&tap.seen);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Nobody listens there: whoever has connected sees an end.
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let (Ok(to_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else { continue };
                for (from, to) in [(client, server), (from_server, to_client)] {
                    let seen = Arc::clone(&seen);
                    thread::spawn(move || pass(from, to, &seen));
                }
            }
        });
        tap
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn seen_bytes(&self) -> usize {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub fn has_seen(&self, text: &str) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, seen: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        seen.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
