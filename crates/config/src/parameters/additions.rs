//! Parameters that NDB does not have.

use super::SectionKind::{Api, Data, Management, Tcp};
use super::{Effect, PORT_MAX, Parameter, USED, choice, flag, number, text};

const NO_HTTP: Effect = Effect::None("this version has no HTTP door");

pub(super) const TABLE: &[Parameter] = &[
    choice(Data, "CommitDurability", &["disk", "replicated"], USED),
    number(Data, "NoOfPartitions", "", (1, 1024), USED),
    number(Data, "ElectionTimeout", "", (50, 60_000), USED),
    text(Data, "Roles", "data", USED),
    number(Data, "MySQLPort", "3306", (1, PORT_MAX), USED),
    text(Data, "MySQLAddress", "", USED),
    number(Data, "HandlerSocketPort", "", (1, PORT_MAX), USED),
    number(Data, "HandlerSocketPortWr", "", (1, PORT_MAX), USED),
    text(Data, "HandlerSocketAddress", "127.0.0.1", USED),
    text(Data, "HandlerSocketSecret", "", USED),
    text(Data, "HandlerSocketSecretWr", "", USED),
    number(Data, "HttpPort", "", (1, PORT_MAX), NO_HTTP),
    text(Management, "Roles", "mgm", USED),
    number(Management, "MySQLPort", "3306", (1, PORT_MAX), USED),
    text(Management, "MySQLAddress", "", USED),
    number(Management, "HandlerSocketPort", "", (1, PORT_MAX), USED),
    number(Management, "HandlerSocketPortWr", "", (1, PORT_MAX), USED),
    text(Management, "HandlerSocketAddress", "127.0.0.1", USED),
    text(Management, "HandlerSocketSecret", "", USED),
    text(Management, "HandlerSocketSecretWr", "", USED),
    number(Management, "HttpPort", "", (1, PORT_MAX), NO_HTTP),
    number(Management, "MaxNoOfExecutionThreads", "", (1, 1024), USED),
    number(Management, "SchedulerSpinTimer", "200", (0, 500), USED),
    text(Api, "Roles", "sql", USED),
    number(Api, "ServerPort", "", (1, PORT_MAX), USED),
    number(Api, "MySQLPort", "3306", (1, PORT_MAX), USED),
    text(Api, "MySQLAddress", "", USED),
    number(Api, "HandlerSocketPort", "", (1, PORT_MAX), USED),
    number(Api, "HandlerSocketPortWr", "", (1, PORT_MAX), USED),
    text(Api, "HandlerSocketAddress", "127.0.0.1", USED),
    text(Api, "HandlerSocketSecret", "", USED),
    text(Api, "HandlerSocketSecretWr", "", USED),
    number(Api, "HttpPort", "", (1, PORT_MAX), NO_HTTP),
    text(Api, "DataDir", ".", USED),
    number(Api, "MaxNoOfExecutionThreads", "", (1, 1024), USED),
    number(Api, "SchedulerSpinTimer", "200", (0, 500), USED),
    flag(Api, "UseShm", "true", USED),
    flag(Management, "UseShm", "true", USED),
    number(Api, "ConnectionPool", "", (1, 63), USED),
    number(Tcp, "ConnectionPool", "", (1, 63), USED),
];
