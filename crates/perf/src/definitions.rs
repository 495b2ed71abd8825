//! Definitions by SQL: a MySQL client that can log in as root without a password and run statements without results.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
/// LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 | 1 << 9 | 1 << 15 | 1 << 19;
const UTF8MB4: u8 = 255;
const COM_QUERY: u8 = 3;
const ERROR: u8 = 0xff;
const SWITCH: u8 = 0xfe;

struct Connection {
    socket: TcpStream,
}

/// Runs statements, one after the other.
pub(crate) fn execute(address: &str, statements: &[&str]) -> Result<(), String> {
    let broken = |error: std::io::Error| format!("the MySQL connection to {address} broke: {error}");
    let socket = TcpStream::connect(address).map_err(|error| format!("cannot connect to {address}: {error}"))?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    let mut connection = Connection { socket };
    connection.log_in().map_err(broken)?;
    for statement in statements {
        let mut command = vec![COM_QUERY];
        command.extend_from_slice(statement.as_bytes());
        connection.send(0, &command).map_err(broken)?;
        let (_, reply) = connection.receive().map_err(broken)?;
        if reply.first() == Some(&ERROR) {
            return Err(format!("{statement}: {}", String::from_utf8_lossy(reply.get(9..).unwrap_or_default())));
        }
    }
    Ok(())
}

impl Connection {
    fn log_in(&mut self) -> std::io::Result<()> {
        self.receive()?;
        let mut reply = CAPABILITIES.to_le_bytes().to_vec();
        reply.extend_from_slice(&(16u32 << 20).to_le_bytes());
        reply.push(UTF8MB4);
        reply.extend_from_slice(&[0; 23]);
        // No password is an empty answer to any challenge.
        reply.extend_from_slice(b"root\0\0mysql_native_password\0");
        self.send(1, &reply)?;
        let (number, answer) = self.receive()?;
        let answer = match answer.first() {
            Some(&SWITCH) => {
                self.send(number + 1, &[])?;
                self.receive()?.1
            }
            _ => answer,
        };
        match answer.first() {
            Some(&ERROR) => Err(std::io::Error::other("root is not let in without a password")),
            _ => Ok(()),
        }
    }

    fn send(&mut self, number: u8, payload: &[u8]) -> std::io::Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(number);
        packet.extend_from_slice(payload);
        self.socket.write_all(&packet)
    }

    fn receive(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 4];
        self.socket.read_exact(&mut head)?;
        let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        self.socket.read_exact(&mut payload)?;
        Ok((head[3], payload))
    }
}
