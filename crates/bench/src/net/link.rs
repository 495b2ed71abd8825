//! A line of a chosen bandwidth between clients and the servers of this machine.
//!
//! Clients run in a network namespace of their own; a pair of virtual devices connects it to the host, and a token bucket at either end lets
//! no more through than the line has. Servers stay where they are, on loopback: what comes out of the line is addressed to the same port
//! there, so that to a server its clients are on another machine. All of it is gone when the value is dropped. Where the system has no
//! namespaces, a [`Relay`] stands in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::relay::Relay;

/// How long a packet waits at most before it is lost, as in the buffers of a switch.
const QUEUE_MS: u32 = 20;
/// What may pass at once: at least this, and what the line carries in a millisecond.
const BURST_BYTES_MIN: u64 = 32 << 10;
const MEGABITS_AT_FIRST: u32 = 1000;

pub enum Link {
    Kernel(Namespace),
    /// Why the kernel makes none; relays by the port of the server that they lead to.
    UserSpace {
        reason: String,
        megabits: Arc<AtomicU32>,
        relays: RefCell<BTreeMap<u16, Relay>>,
    },
}

impl Link {
    pub fn new() -> Link {
        match Namespace::new() {
            Ok(namespace) => Link::Kernel(namespace),
            Err(reason) => Link::in_user_space(reason),
        }
    }

    fn in_user_space(reason: String) -> Link {
        let megabits = Arc::new(AtomicU32::new(MEGABITS_AT_FIRST));
        Link::UserSpace { reason, megabits, relays: RefCell::default() }
    }

    /// Both directions carry so much from now on.
    pub fn shape(&self, megabits: u32) -> io::Result<()> {
        match self {
            Link::Kernel(namespace) => namespace.shape(megabits).map_err(io::Error::other),
            Link::UserSpace { megabits: current, .. } => {
                current.store(megabits, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Where clients on the line find a server.
    pub fn address_of(&self, port: u16) -> io::Result<(String, u16)> {
        match self {
            Link::Kernel(namespace) => Ok((namespace.host(), port)),
            Link::UserSpace { megabits, relays, .. } => {
                let mut relays = relays.borrow_mut();
                let relay = match relays.entry(port) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(Relay::to(port, megabits)?),
                };
                Ok(("127.0.0.1".into(), relay.port()))
            }
        }
    }

    /// A program that runs at the clients' end.
    pub fn command(&self, program: &Path) -> Command {
        match self {
            Link::Kernel(namespace) => namespace.command(program),
            Link::UserSpace { .. } => Command::new(program),
        }
    }

    /// What the figures have to say of the line, if it is not the kernel's.
    pub fn note(&self) -> Option<String> {
        match self {
            Link::Kernel(_) => None,
            Link::UserSpace { reason, .. } => Some(format!(
                "The line is a relay in user space, and clients are on the server's machine: the kernel makes none ({reason})."
            )),
        }
    }
}

pub struct Namespace {
    /// Of the namespace, of the device at the host's end and of the rules that lead to the servers.
    name: String,
    /// The first three numbers of the addresses.
    subnet: String,
}

fn run(line: &str) -> Result<(), String> {
    let mut words = line.split_ascii_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

impl Namespace {
    /// # Errors
    /// Why this system cannot have one: it takes root, `ip`, `tc` and `nft`.
    fn new() -> Result<Namespace, String> {
        let process = std::process::id();
        let name = format!("sb{:x}", process & 0xff_ffff);
        let namespace = Namespace { name, subnet: format!("10.{}.{}", 210 + process % 40, process / 40 % 250) };
        namespace.make()?;
        namespace.shape(MEGABITS_AT_FIRST)?;
        Ok(namespace)
    }

    fn make(&self) -> Result<(), String> {
        let (name, subnet, host) = (&self.name, &self.subnet, self.host());
        run(&format!("ip netns add {name}"))?;
        run(&format!("ip link add {name} type veth peer name eth0 netns {name}"))?;
        run(&format!("ip address add {host}/24 dev {name}"))?;
        run(&format!("ip link set {name} up"))?;
        self.inside(&format!("ip address add {subnet}.1/24 dev eth0"))?;
        self.inside("ip link set eth0 up")?;
        let setting = format!("/proc/sys/net/ipv4/conf/{name}/route_localnet");
        fs::write(&setting, "1").map_err(|error| format!("{setting}: {error}"))?;
        run(&format!("nft add table ip {name}"))?;
        run(&format!("nft add chain ip {name} arriving {{ type nat hook prerouting priority -100 ; }}"))?;
        run(&format!(
            "nft add rule ip {name} arriving iif {name} ip daddr {host} meta l4proto tcp dnat to 127.0.0.1"
        ))
    }

    fn inside(&self, line: &str) -> Result<(), String> {
        run(&format!("ip netns exec {} {line}", self.name))
    }

    /// # Errors
    /// The kernel has no token bucket.
    fn shape(&self, megabits: u32) -> Result<(), String> {
        let burst = BURST_BYTES_MIN.max(u64::from(megabits) * 125);
        let bucket = format!("root tbf rate {megabits}mbit burst {burst} latency {QUEUE_MS}ms");
        run(&format!("tc qdisc replace dev {} {bucket}", self.name))?;
        self.inside(&format!("tc qdisc replace dev eth0 {bucket}"))
    }

    fn host(&self) -> String {
        format!("{}.254", self.subnet)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The device goes with the namespace.
        let _ = run(&format!("ip netns del {}", self.name));
        let _ = run(&format!("nft delete table ip {}", self.name));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use shoal_testkit::server::find_program;

    use super::*;

    #[test]
    fn a_listener_on_loopback_is_reached_over_the_line_no_faster_than_it_carries() {
        let Some(python) = find_program("python3") else { return eprintln!("skipped: no python3") };
        let link = match Namespace::new() {
            Ok(link) => link,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        link.shape(100).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!(
            "import socket;s=socket.create_connection(('{}',{port}),10);n=0\n\
             while (b:=s.recv(65536)): n+=len(b)\nprint(n)",
            link.host()
        );
        let mut client = link.command(&python);
        let client = client.args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stream, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip().to_string(), format!("{}.1", link.subnet));
        let began = Instant::now();
        stream.write_all(&vec![7; 5_000_000]).unwrap();
        drop(stream);
        let output = client.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "5000000");
        // 40 megabits at 100 a second.
        assert!(began.elapsed() > Duration::from_millis(350), "{:?}", began.elapsed());
    }
}
