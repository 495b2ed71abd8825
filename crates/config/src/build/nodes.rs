//! Sections to nodes: ids, hosts, roles, ports, directories.
//!
//! A section without a NodeId gets the next number after the last one used, in the order of the file, as NDB gives them
//! out; numbers that other sections ask for are skipped. Two sections with one id are one node with both roles when they are of different
//! kinds and name the same host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use shoal_types::NodeId;

use super::threads::threads;
use super::{Sections, Setting};
use crate::check::Section;
use crate::cluster::{HandlerSocketConfig, NodeConfig, NodeTlsConfig, Roles, host_key};
use crate::defect::{Findings, nearest};
use crate::parameters::{NEVER_SLEEPS, SectionKind};

const NODE_ID_MAX: u32 = 255;
const DATA_NODE_ID_MAX: u32 = 144;
const MGM_PORT_DEFAULT: u16 = 1186;
const SERVER_PORT_DEFAULT: u16 = 2202;
const MYSQL_PORT_DEFAULT: u16 = 3306;

/// Of servers with clients, by the names that MySQL, or MariaDB, gives them.
const SERVER_VARIABLES: [&str; 11] = [
    "admin_address",
    "admin_port",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "tls_version",
    "require_secure_transport",
    "proxy_protocol_networks",
    "tcp_keepalive_time",
    "tcp_keepalive_interval",
    "tcp_keepalive_probes",
];

/// Variables of the error log, which every node has.
const LOG_VARIABLES: [&str; 3] = ["log_error", "log_error_services", "log_error_verbosity"];

/// One node and the sections that describe it, the first of them first.
struct Draft<'a> {
    sections: &'a Sections,
    parts: Vec<&'a Section>,
    host: Option<String>,
    roles: Roles,
}

impl<'a> Draft<'a> {
    /// A setting of any of the node's sections; what stands in one of them itself comes before the defaults of a kind.
    fn setting(&self, name: &str) -> Option<&'a Setting> {
        let knows = |part: &&&Section| crate::parameters::find(part.kind, name).is_some();
        let own = self.parts.iter().filter(knows).find_map(|part| part.get(name));
        own.or_else(|| {
            self.parts.iter().filter(knows).find_map(|part| self.sections.default_setting(part.kind, name))
        })
    }

    fn text(&self, name: &str) -> Option<String> {
        self.setting(name)?.text().map(str::to_owned)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.setting(name)?.number()
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.setting(name).and_then(Setting::flag)
    }

    fn port(&self, name: &str) -> Option<u16> {
        self.number(name).and_then(|port| u16::try_from(port).ok())
    }

    fn line(&self) -> usize {
        self.parts[0].line
    }
}

pub(super) fn nodes(sections: &Sections, findings: &mut Findings) -> Vec<NodeConfig> {
    let mut drafts: BTreeMap<u32, Draft> = BTreeMap::new();
    for (id, section) in ids(sections, findings) {
        let host = host(sections, section, findings);
        let roles = roles(sections, section, findings);
        let Some(draft) = drafts.get_mut(&id) else {
            drafts.insert(id, Draft { sections, parts: vec![section], host, roles });
            continue;
        };
        if draft.parts.iter().any(|part| part.kind == section.kind) {
            let message =
                format!("NodeId={id} is taken by the section in line {}; give every node its own", draft.line());
            findings.defect(section.line, message);
        } else if host
            .as_ref()
            .is_some_and(|host| draft.host.as_ref().is_some_and(|other| !is_same_host(host, other)))
        {
            let message = format!(
                "NodeId={id} is also that of line {}, on another host; one node is one process, so give both the same \
                 HostName or two ids",
                draft.line()
            );
            findings.defect(section.line, message);
        } else {
            draft.host = draft.host.take().or(host);
            draft.roles = draft.roles.or(roles);
            draft.parts.push(section);
        }
    }
    let mut nodes: Vec<NodeConfig> = drafts.iter().map(|(id, draft)| node(*id, draft, findings)).collect();
    default_ports(sections, &mut nodes);
    nodes
}

/// The sections that are nodes, in the order of the file, each with its id.
fn ids<'a>(sections: &'a Sections, findings: &mut Findings) -> Vec<(u32, &'a Section)> {
    let node_kinds = [SectionKind::Data, SectionKind::Management, SectionKind::Api];
    let given = |section: &Section| section.get("NodeId").and_then(Setting::number).map(|id| id as u32);
    let parts: Vec<&Section> =
        sections.all.iter().filter(|section| !section.is_default && node_kinds.contains(&section.kind)).collect();
    let mut taken: Vec<u32> = parts.iter().filter_map(|section| given(section)).collect();
    let mut next = 1;
    let mut numbered = Vec::new();
    for section in parts {
        let id = given(section).unwrap_or_else(|| (next..).find(|id| !taken.contains(id)).unwrap_or(u32::MAX));
        next = id.saturating_add(1);
        taken.push(id);
        let max = if section.kind == SectionKind::Data { DATA_NODE_ID_MAX } else { NODE_ID_MAX };
        if id > max {
            let message =
                format!("no NodeId is left for this node: [{}] ends at {max}; give it a free one", section.word);
            findings.defect(section.line, message);
            continue;
        }
        numbered.push((id, section));
    }
    for kind in node_kinds {
        if let Some(setting) = sections.default_setting(kind, "NodeId") {
            findings.defect(setting.line, "NodeId cannot be a default; put it into the section of the node");
        }
    }
    numbered
}

/// HostName, or that of the computer that ExecuteOnComputer names.
fn host(sections: &Sections, section: &Section, findings: &mut Findings) -> Option<String> {
    if let Some(host) = sections.setting(section, "HostName").and_then(Setting::text) {
        return Some(host.to_owned());
    }
    if let Some(setting) = sections.setting(section, "ExecuteOnComputer") {
        let wanted = setting.text()?;
        let mut computers = sections.of(SectionKind::Computer);
        let computer = computers.find(|computer| computer.get("Id").and_then(Setting::text) == Some(wanted));
        return match computer {
            None => {
                findings.defect(setting.line, format!("there is no [computer] section with Id={wanted}"));
                None
            }
            // A computer without a host is reported once, at the computer.
            Some(computer) => computer.get("HostName").and_then(Setting::text).map(str::to_owned),
        };
    }
    (section.kind != SectionKind::Api).then(|| "localhost".to_owned())
}

/// What the kind of section says, or `Roles`.
fn roles(sections: &Sections, section: &Section, findings: &mut Findings) -> Roles {
    let kind_role = match section.kind {
        SectionKind::Data => Roles { data: true, ..Roles::default() },
        SectionKind::Management => Roles { mgm: true, ..Roles::default() },
        _ if serves_mysql_clients(sections, section) => Roles { sql: true, ..Roles::default() },
        _ => Roles::default(),
    };
    let Some(setting) = sections.setting(section, "Roles") else { return kind_role };
    let mut roles = kind_role;
    for word in setting.text().unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_lowercase().as_str() {
            "mgm" => roles.mgm = true,
            "data" => roles.data = true,
            "sql" => roles.sql = true,
            _ => {
                let hint = nearest(word, ["mgm", "data", "sql"].into_iter()).map_or_else(
                    || "roles are mgm, data and sql".to_owned(),
                    |near| format!("did you mean {near}?"),
                );
                findings.defect(setting.line, format!("Roles: `{word}` is no role; {hint}"));
            }
        }
    }
    if roles.data && section.kind != SectionKind::Data {
        findings.defect(setting.line, "a data node needs a [ndbd] section; put Roles=data,... there");
    }
    roles
}

/// NDB takes [mysqld] and [api] for the same. Here [api] is a slot for tools and native clients, unless it has a port for
/// MySQL clients, or no other section serves these: no [mysqld], and no data node with the sql role.
fn serves_mysql_clients(sections: &Sections, section: &Section) -> bool {
    let has_sql_role = |section: &Section| {
        let roles = sections.setting(section, "Roles").and_then(|setting| setting.text()).unwrap_or_default();
        roles.split(',').any(|word| word.trim().eq_ignore_ascii_case("sql"))
    };
    let is_for_mysql_clients = |section: &Section| {
        section.word == "mysqld" || (section.kind == SectionKind::Data && has_sql_role(section))
    };
    section.word == "mysqld"
        || section.get("MySQLPort").is_some()
        || !sections.all.iter().any(is_for_mysql_clients)
}

fn node(id: u32, draft: &Draft, findings: &mut Findings) -> NodeConfig {
    let directory =
        draft.text("FileSystemPath").or_else(|| draft.text("DataDir")).unwrap_or_else(|| ".".to_owned());
    let threads = threads(|name| draft.setting(name), findings);
    let lock_pages = draft.number("LockPagesInMainMemory").is_some_and(|level| level > 0);
    let server_port = if draft.roles.mgm { draft.port("PortNumber") } else { None };
    NodeConfig {
        id: NodeId(id),
        roles: draft.roles,
        host: draft.host.clone(),
        server_port: server_port.or_else(|| draft.port("ServerPort")).unwrap_or(0),
        mysql_port: if draft.roles.sql { Some(draft.port("MySQLPort").unwrap_or(0)) } else { None },
        mysql_address: draft.text("MySQLAddress"),
        handlersocket: if draft.roles.sql { handlersocket(draft) } else { HandlerSocketConfig::default() },
        http_port: draft.port("HttpPort"),
        http_address: draft.text("HttpAddress"),
        http_tls: draft.flag("HttpTls").unwrap_or(false),
        http_profiles: draft.flag("HttpProfiles").unwrap_or(false),
        http_rest: draft.roles.sql && draft.flag("HttpRest").unwrap_or(false),
        node_tls: NodeTlsConfig {
            is_required: draft.flag("RequireTls").unwrap_or(false),
            requires_certificate: draft.flag("RequireCertificate").unwrap_or(false),
            search_path: draft.text("TlsSearchPath"),
        },
        variables: variables(draft),
        data_dir: PathBuf::from(directory).join(format!("shoal_{id}")),
        // Indexes live in DataMemory; a file that gives them memory of their own means both together.
        data_memory: draft.number("DataMemory").map(|data| data + draft.number("IndexMemory").unwrap_or(0)),
        log_segment_bytes: draft.number("FragmentLogFileSize"),
        checkpoint_bytes_per_second: draft.number("MaxDiskWriteSpeed"),
        execution_threads: threads.count,
        spin_us: draft.number("SchedulerSpinTimer"),
        never_sleeps: draft.text("SpinMethod").is_some_and(|method| method.eq_ignore_ascii_case(NEVER_SLEEPS)),
        use_shm: draft.flag("UseShm").unwrap_or(true),
        lock_pages,
        cpus: threads.cpus,
        node_group: draft.number("NodeGroup").map(|group| group as u32),
        line: draft.line(),
    }
}

/// The parameters have the names of the server's variables.
fn variables(draft: &Draft) -> Vec<(&'static str, String)> {
    let server: &[&str] = if draft.roles.sql { &SERVER_VARIABLES } else { &[] };
    let mut given: Vec<_> = server.iter().filter_map(|&name| Some((name, draft.text(name)?))).collect();
    given.extend(LOG_VARIABLES.iter().filter_map(|&name| Some((name, draft.text(name)?))));
    given
}

fn handlersocket(draft: &Draft) -> HandlerSocketConfig {
    HandlerSocketConfig {
        port: draft.port("HandlerSocketPort"),
        port_wr: draft.port("HandlerSocketPortWr"),
        address: draft.text("HandlerSocketAddress"),
        secret: draft.text("HandlerSocketSecret"),
        secret_wr: draft.text("HandlerSocketSecretWr"),
    }
}

/// Fills in the ports that nobody gave: on each host they count up from the usual one, past those that are given.
/// `[tcp default] PortNumber` is what older files call the first port of the data nodes.
fn default_ports(sections: &Sections, nodes: &mut [NodeConfig]) {
    let base = sections.default_setting(SectionKind::Tcp, "PortNumber").and_then(Setting::number);
    let server_base =
        base.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0).unwrap_or(SERVER_PORT_DEFAULT);
    let mut taken: Vec<(String, u16)> = Vec::new();
    for node in nodes.iter() {
        let handlersocket = &node.handlersocket;
        let ports =
            [Some(node.server_port), node.mysql_port, handlersocket.port, handlersocket.port_wr, node.http_port];
        taken.extend(ports.into_iter().flatten().map(|port| (host_key(node.host.as_deref()), port)));
    }
    for node in nodes {
        let host = host_key(node.host.as_deref());
        let mut choose = |first: u16| {
            let free = |port: &u16| !taken.contains(&(host.clone(), *port));
            let port = (first..=u16::MAX).find(free).unwrap_or(first);
            taken.push((host.clone(), port));
            port
        };
        if node.server_port == 0 {
            node.server_port = choose(if node.roles.mgm { MGM_PORT_DEFAULT } else { server_base });
        }
        if node.mysql_port == Some(0) {
            node.mysql_port = Some(choose(MYSQL_PORT_DEFAULT));
        }
    }
}

fn is_same_host(a: &str, b: &str) -> bool {
    host_key(Some(a)) == host_key(Some(b))
}
