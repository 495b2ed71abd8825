//! The language of the management client: NDB's commands, in any case, to [`Command`].
//!
//! Knows words only; what a command means for a node is elsewhere. What NDB has and Shoal has not is refused by name.

use shoal_types::NodeId;

use crate::base::cluster_log::Severity;

/// Lines of the cluster log that CLUSTERLOG shows when it is not told how many.
const LINES_SHOWN: usize = 50;

/// Whom a command is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// The data and SQL nodes; of STATUS and REPORT all nodes.
    All,
    /// These, whatever their roles.
    Nodes(Vec<NodeId>),
}

/// A command of the management client, parsed. The words are NDB's `ndb_mgm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// SHOW: the nodes of the configuration, and which of them are there.
    Show,
    /// `id` STATUS.
    Status(Targets),
    /// `id` START.
    Start(Targets),
    /// `force`: also when a partition is left without a majority.
    Stop {
        /// Who stops.
        targets: Targets,
        /// `-f`.
        force: bool,
    },
    /// `id` RESTART: the next node when the one before has started and caught up.
    Restart {
        /// Who is restarted.
        targets: Targets,
        /// As in `Stop`.
        force: bool,
    },
    /// `id` REPORT MEMORY.
    ReportMemory(Targets),
    /// TLS INFO: which links of the management node are encrypted.
    TlsInfo,
    /// The newest lines of the cluster log.
    Log(usize),
    /// CLUSTERLOG ON, OFF, TOGGLE and INFO.
    LogFilter(LogFilter),
    /// ENTER SINGLE USER MODE: only this node may use the data.
    EnterSingleUser(NodeId),
    /// EXIT SINGLE USER MODE.
    ExitSingleUser,
    /// SHUTDOWN: all nodes of the cluster stop.
    Shutdown,
    /// HELP, perhaps on one command.
    Help(Option<String>),
    /// For the client itself.
    Connect(Option<String>),
    /// QUIT or EXIT: for the client itself.
    Quit,
}

/// What CLUSTERLOG ON, OFF, TOGGLE and INFO do with severities; none named: with all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFilter {
    /// Write events of these severities.
    On(Vec<Severity>),
    /// Leave them out.
    Off(Vec<Severity>),
    /// The reverse of what is set.
    Toggle(Vec<Severity>),
    /// Show what is set, and change nothing.
    Info,
}

struct Described {
    name: &'static str,
    usage: &'static str,
    what: &'static str,
}

const COMMANDS: &[Described] = &[
    Described {
        name: "SHOW",
        usage: "SHOW",
        what: "All nodes by kind: id, address, state, version, roles, which partitions each leads; * marks the leader \
               of the dictionary.",
    },
    Described {
        name: "STATUS",
        usage: "[<id>... | ALL] STATUS",
        what: "State and uptime of nodes, what a starting node waits for, and how far a node is that catches up.",
    },
    Described {
        name: "START",
        usage: "<id>... START",
        what: "Tells how a stopped node is started: its process has to be started on its host.",
    },
    Described {
        name: "STOP",
        usage: "{<id>... | ALL} STOP [-f]",
        what: "Ends nodes in an orderly way; others take over first. ALL: all data and SQL nodes. Refused when a \
               partition would be left without a majority, unless -f is given.",
    },
    Described {
        name: "RESTART",
        usage: "{<id>... | ALL} RESTART [-f]",
        what: "Restarts nodes one after the other, the next when the one before it has started and caught up. ALL: all \
               data and SQL nodes. Management nodes are restarted by their ids.",
    },
    Described {
        name: "REPORT",
        usage: "{<id>... | ALL} REPORT MEMORY",
        what: "Memory for rows and indexes: used and limit.",
    },
    Described {
        name: "CLUSTERLOG",
        usage: "CLUSTERLOG [<lines>] | CLUSTERLOG {ON | OFF | TOGGLE} [<severity>...] | CLUSTERLOG INFO",
        what: "The newest events of all nodes; which severities management nodes write into their log files: DEBUG, \
               INFO, WARNING, ERROR, CRITICAL, ALERT.",
    },
    Described {
        name: "TLS INFO",
        usage: "TLS INFO",
        what: "The certificate of the management node that answers, and which of its links to other nodes have TLS.",
    },
    Described {
        name: "ENTER SINGLE USER MODE",
        usage: "ENTER SINGLE USER MODE <id>",
        what: "Only the node with this id serves statements on tables from now on.",
    },
    Described {
        name: "EXIT SINGLE USER MODE",
        usage: "EXIT SINGLE USER MODE",
        what: "All nodes serve statements again.",
    },
    Described {
        name: "SHUTDOWN",
        usage: "SHUTDOWN",
        what: "Stops the whole cluster: data and SQL nodes first, then the management nodes.",
    },
    Described {
        name: "CONNECT",
        usage: "CONNECT [<host>:<port>]",
        what: "Connects to another management node, or to the same ones again.",
    },
    Described { name: "HELP", usage: "HELP [<command>]", what: "This list, or one command of it." },
    Described { name: "QUIT", usage: "QUIT | EXIT", what: "Leaves the management client." },
];

/// Commands of NDB that have no meaning here or are not there yet, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("CREATE", "node groups follow from config.ini and cannot be added while the cluster runs"),
    ("DROP", "node groups follow from config.ini and cannot be dropped"),
    ("ABORT", "this version makes no backups"),
    ("NODELOG", "node logs have no switches; CLUSTERLOG has"),
    ("PURGE", "there are no stale sessions: a node that is gone holds nothing"),
    ("DUMP", "there is nothing like DUMP; STATUS, REPORT MEMORY and information_schema tell"),
    ("PROMPT", "the prompt is fixed"),
    ("ACTIVATE", "nodes follow from config.ini; start the node with `shoal start`"),
    ("DEACTIVATE", "nodes follow from config.ini; stop the node with STOP"),
];

impl Command {
    /// # Errors
    /// A sentence that says what is wrong and what is near.
    pub fn parse(line: &str) -> Result<Command, String> {
        let line = line.trim().trim_end_matches(';');
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (targets, rest) = targets(&words)?;
        let Some((&first, arguments)) = rest.split_first() else {
            return Err(match targets {
                None => "an empty command; HELP lists all commands".into(),
                Some(_) => "a command is missing after the nodes, such as STATUS, STOP or RESTART".into(),
            });
        };
        match (upper(first).as_str(), targets) {
            ("STATUS", targets) => bare(arguments, Command::Status(targets.unwrap_or(Targets::All))),
            ("REPORT", targets) => report(arguments, targets.unwrap_or(Targets::All)),
            ("START", None) if arguments.first().is_some_and(|word| upper(word) == "BACKUP") => {
                Err("START BACKUP is not supported: this version makes no backups; use mysqldump".into())
            }
            ("START", Some(targets)) => bare(arguments, Command::Start(targets)),
            ("STOP", Some(targets)) => Ok(Command::Stop { targets, force: force(arguments)? }),
            ("RESTART", Some(targets)) => Ok(Command::Restart { targets, force: force(arguments)? }),
            (name @ ("START" | "STOP" | "RESTART"), None) => {
                Err(format!("{name} of which node? Write <id> {name}, or ALL {name}"))
            }
            ("CLUSTERLOG", None) => cluster_log(arguments),
            ("CLUSTERLOG", Some(_)) => {
                Err("categories of single nodes cannot be filtered; CLUSTERLOG ON and OFF filter by severity"
                    .into())
            }
            (name, Some(_)) if find(name).is_some() => {
                Err(format!("{name} is not for single nodes; write it without ids"))
            }
            ("TLS", None) => match arguments.split_first() {
                Some((what, rest)) if what.eq_ignore_ascii_case("INFO") => bare(rest, Command::TlsInfo),
                _ => Err("TLS what? There is TLS INFO".into()),
            },
            ("SHOW", None) => bare(arguments, Command::Show),
            ("SHUTDOWN", None) => bare(arguments, Command::Shutdown),
            ("ENTER" | "EXIT", None) if !arguments.is_empty() => single_user(first, arguments),
            ("EXIT" | "QUIT" | "BYE", None) => bare(arguments, Command::Quit),
            ("ENTER", None) => single_user(first, arguments),
            ("HELP" | "?", None) => {
                Ok(Command::Help((!arguments.is_empty()).then(|| arguments.join(" ").to_ascii_uppercase())))
            }
            ("CONNECT", None) => match arguments {
                [] => Ok(Command::Connect(None)),
                [address] => Ok(Command::Connect(Some((*address).to_owned()))),
                _ => Err("CONNECT takes one address, such as CONNECT 127.0.0.1:1186".into()),
            },
            (name, _) => Err(unknown(name)),
        }
    }

    /// What HELP answers.
    ///
    /// # Errors
    /// There is no such command.
    pub fn help(topic: Option<&str>) -> Result<String, String> {
        let Some(topic) = topic else {
            let mut text = String::from("The commands; HELP <command> says more:\n");
            for command in COMMANDS {
                text.push_str("  ");
                text.push_str(command.usage);
                text.push('\n');
            }
            return Ok(text);
        };
        let command = find(topic).ok_or_else(|| unknown(topic))?;
        Ok(format!("{}\n  {}\n", command.usage, command.what))
    }

    /// It changes nothing.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Command::Show | Command::Status(_) | Command::ReportMemory(_) | Command::Log(_) | Command::TlsInfo
        )
    }

    /// It may take as long as nodes take to stop and to catch up.
    pub fn takes_long(&self) -> bool {
        matches!(self, Command::Stop { .. } | Command::Restart { .. } | Command::Shutdown)
    }
}

fn upper(word: &str) -> String {
    word.to_ascii_uppercase()
}

fn find(topic: &str) -> Option<&'static Described> {
    let topic = upper(topic);
    let topic = if topic == "EXIT" || topic == "BYE" { "QUIT" } else { topic.as_str() };
    COMMANDS
        .iter()
        .find(|command| command.name == topic)
        .or_else(|| COMMANDS.iter().find(|command| command.name.split(' ').next() == topic.split(' ').next()))
}

/// `ALL` or ids in front of a command.
fn targets<'a, 'b>(words: &'b [&'a str]) -> Result<(Option<Targets>, &'b [&'a str]), String> {
    if let Some((first, rest)) = words.split_first()
        && first.eq_ignore_ascii_case("ALL")
    {
        return Ok((Some(Targets::All), rest));
    }
    let is_number = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let count = words.iter().take_while(is_number).count();
    let (ids, rest) = words.split_at(count);
    if ids.is_empty() {
        return Ok((None, rest));
    }
    let ids: Result<Vec<NodeId>, String> = ids.iter().map(|word| node_id(word)).collect();
    Ok((Some(Targets::Nodes(ids?)), rest))
}

fn node_id(word: &str) -> Result<NodeId, String> {
    let id = word.parse().ok().filter(|id| (1..=shoal_transport::NODE_ID_MAX).contains(id));
    id.map(NodeId).ok_or_else(|| format!("`{word}` is no node id; SHOW lists the nodes"))
}

fn bare(arguments: &[&str], command: Command) -> Result<Command, String> {
    match arguments.first() {
        None => Ok(command),
        Some(word) => Err(format!("`{word}` is one word too many")),
    }
}

fn force(options: &[&str]) -> Result<bool, String> {
    let mut force = false;
    for option in options {
        match option.to_ascii_lowercase().as_str() {
            "-f" => force = true,
            "-a" => return Err("-a (abort) is not supported: nodes always end their statements in order".into()),
            "-n" => return Err("-n (no start) is not supported: use STOP, and `shoal start` on the host".into()),
            "-i" => {
                return Err(
                    "-i (initial) is not supported: stop the node, empty its DataDir and start it; it gets all \
                            rows from the others"
                        .into(),
                );
            }
            _ => return Err(format!("the option `{option}` is not known; there is -f: even if partitions stop")),
        }
    }
    Ok(force)
}

fn report(arguments: &[&str], targets: Targets) -> Result<Command, String> {
    match arguments {
        [what] if upper(what).starts_with("MEM") => Ok(Command::ReportMemory(targets)),
        [what] if upper(what).starts_with("BACK") => {
            Err("REPORT BACKUPSTATUS is not supported: this version makes no backups".into())
        }
        [what] if upper(what).starts_with("EVENT") => {
            Err("REPORT EVENTLOG is not supported; CLUSTERLOG shows the events of all nodes".into())
        }
        _ => Err("REPORT what? There is REPORT MEMORY".into()),
    }
}

fn cluster_log(arguments: &[&str]) -> Result<Command, String> {
    let Some((first, rest)) = arguments.split_first() else { return Ok(Command::Log(LINES_SHOWN)) };
    if let Ok(lines) = first.parse() {
        return bare(rest, Command::Log(lines));
    }
    let severities = || rest.iter().map(|word| severity(word)).collect::<Result<Vec<Severity>, String>>();
    Ok(Command::LogFilter(match upper(first).as_str() {
        "ON" => LogFilter::On(severities()?),
        "OFF" => LogFilter::Off(severities()?),
        "TOGGLE" => LogFilter::Toggle(severities()?),
        "INFO" => return bare(rest, Command::LogFilter(LogFilter::Info)),
        _ => return Err(format!("`{first}`: expected a number of lines, ON, OFF, TOGGLE or INFO")),
    }))
}

fn severity(word: &str) -> Result<Severity, String> {
    let known = Severity::ALL.into_iter().find(|severity| severity.name() == upper(word));
    known.ok_or_else(|| {
        let names = Severity::ALL.map(Severity::name).join(", ");
        format!("`{word}` is no severity; there are {names}")
    })
}

fn single_user(first: &str, arguments: &[&str]) -> Result<Command, String> {
    let words: Vec<String> = arguments.iter().map(|word| upper(word)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (upper(first).as_str(), words.as_slice()) {
        ("ENTER", ["SINGLE", "USER", "MODE", id]) => Ok(Command::EnterSingleUser(node_id(id)?)),
        ("ENTER", _) => Err("write ENTER SINGLE USER MODE <id>, with the id of the node that stays open".into()),
        (_, ["SINGLE", "USER", "MODE"]) => Ok(Command::ExitSingleUser),
        _ => Err("write EXIT SINGLE USER MODE to end it, or EXIT to leave this client".into()),
    }
}

fn unknown(name: &str) -> String {
    let first = upper(name.split(' ').next().unwrap_or(name));
    if let Some((_, why)) = REFUSED.iter().find(|(known, _)| *known == first) {
        return format!("{first} is not supported: {why}");
    }
    let names = COMMANDS.iter().map(|command| command.name).chain(["EXIT"]);
    let near = names.map(|known| (distance(&first, known.split(' ').next().unwrap_or(known)), known)).min();
    match near {
        Some((distance, known)) if distance <= 2 || distance * 2 < first.len() => {
            format!("the command `{name}` is not known; did you mean {known}? HELP lists all commands")
        }
        _ => format!("the command `{name}` is not known; HELP lists all commands"),
    }
}

/// Insertions, deletions and replacements between two words.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(ids: &[u32]) -> Targets {
        Targets::Nodes(ids.iter().map(|&id| NodeId(id)).collect())
    }

    #[test]
    fn commands_are_read_in_any_case_with_and_without_a_semicolon() {
        let parsed = |line| Command::parse(line).unwrap();
        assert_eq!(parsed("show"), Command::Show);
        assert_eq!(parsed("  Show ;"), Command::Show);
        assert_eq!(parsed("STATUS"), Command::Status(Targets::All));
        assert_eq!(parsed("all status"), Command::Status(Targets::All));
        assert_eq!(parsed("2 3 status"), Command::Status(nodes(&[2, 3])));
        assert_eq!(parsed("1 STOP"), Command::Stop { targets: nodes(&[1]), force: false });
        assert_eq!(parsed("1 stop -F"), Command::Stop { targets: nodes(&[1]), force: true });
        assert_eq!(parsed("ALL RESTART"), Command::Restart { targets: Targets::All, force: false });
        assert_eq!(parsed("1 start"), Command::Start(nodes(&[1])));
        assert_eq!(parsed("ALL REPORT MemoryUsage"), Command::ReportMemory(Targets::All));
        assert_eq!(parsed("enter single user mode 4"), Command::EnterSingleUser(NodeId(4)));
        assert_eq!(parsed("EXIT SINGLE USER MODE"), Command::ExitSingleUser);
        assert_eq!(parsed("shutdown"), Command::Shutdown);
        assert_eq!(parsed("exit"), Command::Quit);
        assert_eq!(parsed("help stop"), Command::Help(Some("STOP".into())));
        assert_eq!(parsed("clusterlog"), Command::Log(LINES_SHOWN));
        assert_eq!(parsed("clusterlog 7"), Command::Log(7));
        assert_eq!(parsed("tls info"), Command::TlsInfo);
        let off = LogFilter::Off(vec![Severity::Info, Severity::Debug]);
        assert_eq!(parsed("clusterlog off info debug"), Command::LogFilter(off));
        assert_eq!(parsed("connect host:1186"), Command::Connect(Some("host:1186".into())));
    }

    #[test]
    fn what_is_not_understood_is_named_with_the_way_out() {
        let refused = |line: &str| Command::parse(line).unwrap_err();
        for (line, expected) in [
            ("shwo", "did you mean SHOW"),
            ("restrat", "did you mean RESTART"),
            ("xyzzy", "HELP lists all commands"),
            ("stop", "STOP of which node"),
            ("1", "a command is missing"),
            ("", "an empty command"),
            ("0 stop", "`0` is no node id"),
            ("256 status", "`256` is no node id"),
            ("99999999999999999999 status", "is no node id"),
            ("1 restart -i", "empty its DataDir"),
            ("1 stop -x", "`-x` is not known"),
            ("show nodes", "`nodes` is one word too many"),
            ("3 shutdown", "without ids"),
            ("start backup", "makes no backups"),
            ("create nodegroup 1,2", "node groups follow from config.ini"),
            ("clusterlog on loud", "`loud` is no severity"),
            ("clusterlog sideways", "expected a number of lines"),
            ("enter single user mode", "with the id"),
            ("exit single", "EXIT SINGLE USER MODE"),
            ("all report", "REPORT MEMORY"),
            ("tls", "TLS INFO"),
            ("1 clusterlog info=4", "filter by severity"),
        ] {
            let error = refused(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn every_command_has_help() {
        let all = Command::help(None).unwrap();
        for command in COMMANDS {
            assert!(all.contains(command.usage), "{}", command.name);
            assert!(Command::help(Some(command.name)).unwrap().contains(command.what));
        }
        assert!(Command::help(Some("ENTER")).unwrap().contains("SINGLE USER"));
        assert!(Command::help(Some("EXIT")).unwrap().contains("Leaves"));
        assert!(Command::help(Some("DANCE")).unwrap_err().contains("not known"));
    }
}
