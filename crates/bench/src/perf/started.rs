//! A cluster of this machine for one measurement, made by the very program that measures.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use shoal_testkit::process::{self, Signal};
use shoal_testkit::{Kind, Server, Setup};

/// What a node's line says before the address of its HandlerSocket port.
const HANDLERSOCKET: &str = " hs=";

pub(crate) struct StartedCluster {
    server: Server,
    /// Of the management node.
    pub address: String,
    /// Where it takes MySQL clients.
    pub mysql: String,
}

impl StartedCluster {
    pub fn start(data_nodes: u32, settings: &[String], folder: &Path) -> Result<StartedCluster, String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let mut setup = Setup::new(Kind::Shoal, program)
            .argument(format!("--data-nodes={data_nodes}"))
            .argument("--hs-port=0")
            .parent(folder);
        setup.own_process_group = true;
        for setting in settings {
            setup = setup.argument(format!("--set={setting}"));
        }
        let server = setup.start().map_err(|error| error.to_string())?;
        let path = server.data_dir().join("config.ini");
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let port = text.lines().find_map(|line| line.strip_prefix("PortNumber="));
        let port = port.ok_or_else(|| format!("{} names no port", path.display()))?;
        let (address, mysql) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", server.port()));
        Ok(StartedCluster { server, address, mysql })
    }

    pub fn mysql_port(&self) -> u16 {
        self.server.port()
    }

    /// To every process of it.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let processes = self.server.printed();
        let processes =
            processes.iter().filter_map(|line| line.split_once(" pid=")?.1.split(' ').next()?.parse().ok());
        processes.chain(self.server.process()).try_for_each(|process: u32| process::signal(process, signal))
    }

    /// Where the first node takes HandlerSocket clients.
    pub fn handlersocket(&self) -> Option<SocketAddr> {
        let printed = self.server.printed();
        let (_, address) = printed.iter().find_map(|line| line.split_once(HANDLERSOCKET))?;
        address.split_ascii_whitespace().next()?.parse().ok()
    }
}

impl Drop for StartedCluster {
    fn drop(&mut self) {
        // A process that is stopped hears nothing.
        let _ = self.signal(Signal::Continue);
        // In order, so that its nodes leave nothing behind; otherwise it is killed.
        let _ = self.server.stop();
    }
}
