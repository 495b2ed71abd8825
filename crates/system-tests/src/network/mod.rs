//! A network of namespaces, one for every node, whose paths can be broken in the ways in which networks break.
//!
//! All namespaces hang on one bridge, which the test itself reaches too. What is wrong with a path is a rule of nftables in the
//! namespace of whoever receives: what it drops is lost without a word, as on a broken line, and what it rejects is answered with a
//! reset, as by a firewall or by a host whose process is gone.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// What delays packets where the kernel has nothing that does.
const LATE: &str = include_str!("late.py");

/// What becomes of packets on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Lost without a word.
    Drop,
    /// Answered with a TCP reset.
    Reject,
    /// So many of a hundred are lost, at most 99.
    Lose(u32),
}

static NETWORKS: AtomicU32 = AtomicU32::new(0);

/// Namespaces for the nodes 1 to `count`; gone when dropped.
pub struct Network {
    /// Unique on the machine, short enough for the name of an interface.
    name: String,
    subnet: String,
    count: u32,
    /// Processes that delay what nodes send, and the nodes.
    late: Mutex<Vec<(u32, Child)>>,
}

fn run(line: &str) -> Result<(), String> {
    let mut words = line.split_ascii_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output().map_err(|error| format!("{line}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

impl Network {
    /// # Errors
    /// Why namespaces cannot be had here.
    pub fn new(count: u32) -> Result<Network, String> {
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = format!("s{:x}n{number}", process & 0xf_ffff);
        // Of the private range, and not where another test's network is.
        let subnet = format!("10.{}.{}", 100 + process % 100, (process / 100 + number) % 250);
        let network = Network { name, subnet, count, late: Mutex::default() };
        network.make()?;
        Ok(network)
    }

    fn make(&self) -> Result<(), String> {
        let (name, subnet) = (&self.name, &self.subnet);
        run(&format!("ip link add {name} type bridge"))?;
        run(&format!("ip address add {subnet}.254/24 dev {name}"))?;
        run(&format!("ip link set {name} up"))?;
        for node in 1..=self.count {
            let (space, outer) = (self.namespace(node), format!("{name}v{node}"));
            run(&format!("ip netns add {space}"))?;
            run(&format!("ip link add {outer} type veth peer name eth0 netns {space}"))?;
            run(&format!("ip link set {outer} master {name} up"))?;
            self.inside(node, &format!("ip address add {subnet}.{node}/24 dev eth0"))?;
            self.inside(node, "ip link set eth0 up")?;
            self.inside(node, "ip link set lo up")?;
            self.inside(node, "nft add table ip paths")?;
            self.inside(node, "nft add chain ip paths broken { type filter hook input priority 0 ; }")?;
        }
        Ok(())
    }

    fn namespace(&self, node: u32) -> String {
        format!("{}-{node}", self.name)
    }

    fn inside(&self, node: u32, line: &str) -> Result<(), String> {
        run(&format!("ip netns exec {} {line}", self.namespace(node)))
    }

    pub fn address(&self, node: u32) -> String {
        format!("{}.{node}", self.subnet)
    }

    /// What is put before a node's command line.
    pub fn wrapper(&self, node: u32) -> Vec<String> {
        ["ip".into(), "netns".into(), "exec".into(), self.namespace(node)].into()
    }

    /// What happens to what `from` sends to `to` from now on.
    pub fn spoil(&self, from: u32, to: u32, verdict: Verdict) {
        let rule = match verdict {
            Verdict::Drop => "drop".into(),
            Verdict::Reject => "meta l4proto tcp reject with tcp reset".into(),
            Verdict::Lose(percent) => format!("numgen random mod 100 < {percent} drop"),
        };
        self.must(to, &format!("nft add rule ip paths broken ip saddr {} {rule}", self.address(from)));
    }

    /// What `from` sends to `to` is lost from now on.
    pub fn cut_one_way(&self, from: u32, to: u32) {
        self.spoil(from, to, Verdict::Drop);
    }

    pub fn cut(&self, one: u32, other: u32) {
        self.cut_one_way(one, other);
        self.cut_one_way(other, one);
    }

    /// Resets the connections that there are between two nodes; new ones can be made.
    pub fn reset(&self, one: u32, other: u32) {
        self.must(one, &format!("ss --kill --no-header dst {}", self.address(other)));
    }

    /// A node sends no more than so many kilobits a second from now on, and what waits for more than a second is lost.
    ///
    /// # Errors
    /// This system cannot do that.
    pub fn narrow(&self, node: u32, kilobits: u32) -> Result<(), String> {
        self.inside(node, &format!("tc qdisc replace dev eth0 root tbf rate {kilobits}kbit burst 16kb latency 1s"))
    }

    /// One of ten packets that a node sends arrives late from now on, by a time that varies: it is overtaken. By the kernel's `netem`, or
    /// by a program if it has none.
    ///
    /// # Errors
    /// This system cannot do that.
    pub fn delay(&self, node: u32, milliseconds: u32) -> Result<(), String> {
        let line =
            format!("tc qdisc replace dev eth0 root netem delay {milliseconds}ms {milliseconds}ms reorder 90%");
        self.inside(node, &line).or_else(|_| self.delay_by_program(node, milliseconds))
    }

    fn delay_by_program(&self, node: u32, milliseconds: u32) -> Result<(), String> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(node), "python3", "-c", LATE]);
        command.args([format!("{}.0/24", self.subnet), self.address(node), milliseconds.to_string()]);
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = pipes.spawn().map_err(|error| format!("python3: {error}"))?;
        let mut line = String::new();
        let output = program.stdout.take().map(BufReader::new);
        let read = output.map_or(Ok(0), |mut output| output.read_line(&mut line));
        if read.is_ok() && line.trim() == "ready" {
            self.late.lock().unwrap_or_else(PoisonError::into_inner).push((node, program));
            return Ok(());
        }
        let _ = program.kill();
        let mut errors = String::new();
        let _ = program.stderr.take().map(|mut output| output.read_to_string(&mut errors));
        let _ = program.wait();
        Err(format!("no netem, and no TUN device: {}", errors.lines().last().unwrap_or_default()))
    }

    /// Nothing is late any more; what was on its way is lost.
    fn end_delays(&self) {
        for (node, mut program) in self.late.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = self.inside(node, "ip rule del pref 10");
            let _ = program.kill();
            let _ = program.wait();
        }
    }

    fn must(&self, node: u32, line: &str) {
        self.inside(node, line).unwrap_or_else(|error| panic!("{error}"));
    }

    /// All paths are as they were.
    pub fn heal(&self) {
        self.end_delays();
        for node in 1..=self.count {
            self.must(node, "nft flush chain ip paths broken");
            // There may be nothing to remove.
            let _ = self.inside(node, "tc qdisc del dev eth0 root");
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.end_delays();
        for node in 1..=self.count {
            let _ = run(&format!("ip netns del {}", self.namespace(node)));
        }
        let _ = run(&format!("ip link del {}", self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;

    #[test]
    fn a_path_is_cut_one_way_and_healed() {
        let network = match Network::new(2) {
            Ok(network) => network,
            Err(error) => return skip(&error),
        };
        let reaches = |from: u32, to: u32| {
            // A datagram to a closed port is answered with a refusal if both ways are open.
            let python = format!(
                "import socket;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.settimeout(0.3);\
                 s.connect(('{}',9));s.send(b'x');s.recv(1)",
                network.address(to)
            );
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &network.namespace(from), "python3", "-c", &python]);
            let output = command.output().unwrap();
            String::from_utf8_lossy(&output.stderr).contains("ConnectionRefused")
        };
        assert!(reaches(1, 2), "the namespaces are not connected");
        network.cut_one_way(1, 2);
        assert!(!reaches(1, 2));
        // The answers to the other side are lost as well, but its datagrams arrive.
        network.heal();
        assert!(reaches(1, 2) && reaches(2, 1));
        network.spoil(2, 1, Verdict::Lose(99));
        assert!((0..8).any(|_| !reaches(2, 1)));
        network.heal();
    }

    #[test]
    fn what_is_delayed_is_overtaken_and_arrives() {
        let network = match Network::new(2) {
            Ok(network) => network,
            Err(error) => return skip(&error),
        };
        if let Err(error) = network.delay(1, 20) {
            return skip(&error);
        }
        let python = |node: u32, program: String| {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &network.namespace(node), "python3", "-c", &program]);
            command.stdout(Stdio::piped()).spawn().unwrap()
        };
        let receiver = format!(
            "import socket;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.settimeout(20);s.bind(('{}',999));\
             print('ready',flush=True);print(*[int(s.recv(9)) for _ in range(300)])",
            network.address(2)
        );
        let mut receiver = python(2, receiver);
        let mut output = BufReader::new(receiver.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let sender = format!(
            "import socket,time;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
             for n in range(300): s.sendto(b'%d'%n,('{}',999));time.sleep(0.0005)",
            network.address(2)
        );
        assert!(python(1, sender).wait().unwrap().success());
        line.clear();
        output.read_line(&mut line).unwrap();
        receiver.wait().unwrap();
        let numbers: Vec<u32> = line.split_ascii_whitespace().map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 300, "all arrive");
        assert!(!numbers.is_sorted(), "some are overtaken");
        network.heal();
    }
}
