//! Errors that the protocol server reports on its own, and the error packet.

use shoal_types::{Error, ErrorCode};

use crate::auth::Locked;
use crate::constants::Capabilities;
use crate::packet::{Malformed, PacketError, PacketWriter};

/// An error as the wire carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub errno: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

impl Refusal {
    pub fn new(errno: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Refusal {
        Refusal { errno, sqlstate: *sqlstate, message: message.into() }
    }

    fn of(code: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal::new(code.errno(), code.sqlstate(), message)
    }

    pub fn access_denied(user: &str, host: &str, using_password: bool) -> Refusal {
        let using = if using_password { "YES" } else { "NO" };
        Refusal::of(
            ErrorCode::AccessDenied,
            format!("Access denied for user '{user}'@'{host}' (using password: {using})"),
        )
    }

    pub fn account_locked(user: &str, host: &str) -> Refusal {
        Refusal::of(
            ErrorCode::AccountHasBeenLocked,
            format!("Access denied for user '{user}'@'{host}'. Account is locked."),
        )
    }

    /// Errno 3955: wrong passwords have locked the account.
    pub fn account_blocked(user: &str, host: &str, locked: &Locked) -> Refusal {
        let (days, remaining) = match locked.days {
            Some((days, remaining)) => (days.to_string(), remaining.to_string()),
            None => ("unlimited".to_owned(), "unlimited".to_owned()),
        };
        let attempts = locked.attempts;
        Refusal::of(
            ErrorCode::AccountBlockedByPasswordLock,
            format!(
                "Access denied for user '{user}'@'{host}'. Account is blocked for {days} day(s) ({remaining} day(s) \
                 remaining) due to {attempts} consecutive failed logins."
            ),
        )
    }

    /// The account's method needs a client that can be asked to change its own.
    pub fn old_client() -> Refusal {
        Refusal::of(
            ErrorCode::NotSupportedAuthMode,
            "Client does not support authentication protocol requested by server; consider upgrading MySQL client",
        )
    }

    pub fn secure_transport_required() -> Refusal {
        Refusal::of(
            ErrorCode::SecureTransportRequired,
            "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
        )
    }

    /// Errno 3922: the server's protocol_compression_algorithms has none that the client takes.
    pub fn wrong_compression_algorithm(name: &str) -> Refusal {
        Refusal::of(ErrorCode::WrongCompressionAlgorithmClient, format!("Invalid compression algorithm '{name}'."))
    }

    pub fn wrong_compression_level(name: &str) -> Refusal {
        Refusal::of(
            ErrorCode::WrongCompressionLevelClient,
            format!("Invalid zstd compression level for algorithm '{name}'."),
        )
    }

    /// Errno 1130, as MariaDB has it.
    pub fn proxy_not_allowed(host: &str) -> Refusal {
        Refusal::of(ErrorCode::HostNotPrivileged, format!("Proxy header is not accepted from {host}"))
    }

    pub fn bad_handshake() -> Refusal {
        Refusal::of(ErrorCode::Handshake, "Bad handshake")
    }

    pub fn unknown_command() -> Refusal {
        Refusal::of(ErrorCode::UnknownCom, "Unknown command")
    }

    pub fn unsupported_command(name: &str) -> Refusal {
        Refusal::of(ErrorCode::NotSupportedYet, format!("This version of Shoal doesn't yet support '{name}'"))
    }

    /// Errno 1835.
    pub fn malformed_packet() -> Refusal {
        Refusal::of(ErrorCode::MalformedPacket, "Malformed communication packet.")
    }

    pub fn wrong_execute_arguments() -> Refusal {
        Refusal::of(ErrorCode::WrongArguments, "Incorrect arguments to mysqld_stmt_execute")
    }

    pub fn unknown_statement(statement_id: u32, command: &str) -> Refusal {
        Refusal::of(
            ErrorCode::UnknownStmtHandler,
            format!("Unknown prepared statement handler ({statement_id}) given to {command}"),
        )
    }

    /// Errno 1390.
    pub fn too_many_placeholders() -> Refusal {
        Refusal::of(ErrorCode::PsManyParam, "Prepared statement contains too many placeholders")
    }

    pub fn long_data_too_large() -> Refusal {
        Refusal::of(
            ErrorCode::UnknownError,
            "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
             'max_allowed_packet' bytes",
        )
    }

    pub fn interrupted() -> Refusal {
        Refusal::of(ErrorCode::QueryInterrupted, "Query execution was interrupted")
    }

    pub fn shutting_down() -> Refusal {
        Refusal::of(ErrorCode::ServerShutdown, "Server shutdown in progress")
    }

    /// Errno 4031: wait_timeout ran out.
    pub fn inactive() -> Refusal {
        Refusal::of(
            ErrorCode::ClientInteractionTimeout,
            "The client was disconnected by the server because of inactivity. See wait_timeout and \
             interactive_timeout for configuring this behavior.",
        )
    }

    /// The SQL layer ended a statement without saying how. A defect, but not one to keep a client waiting over.
    pub fn no_outcome() -> Refusal {
        Refusal::of(ErrorCode::UnknownError, "The statement ended without a result")
    }

    /// Appends the error packet. Before the handshake the client does not expect an SQLSTATE.
    pub fn write(&self, capabilities: Capabilities, out: &mut PacketWriter) {
        write_error(self.errno, &self.sqlstate, &self.message, capabilities, out);
    }
}

pub fn write_error(
    errno: u16,
    sqlstate: &[u8; 5],
    message: &str,
    capabilities: Capabilities,
    out: &mut PacketWriter,
) {
    let payload = out.begin();
    payload.push(0xff);
    payload.extend_from_slice(&errno.to_le_bytes());
    if capabilities.has(Capabilities::PROTOCOL_41) {
        payload.push(b'#');
        payload.extend_from_slice(sqlstate);
    }
    payload.extend_from_slice(message.as_bytes());
    out.end();
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Refusal {
        Refusal::new(error.errno(), error.sqlstate(), error.message())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::from(&error)
    }
}

impl From<Malformed> for Refusal {
    fn from(_: Malformed) -> Refusal {
        Refusal::malformed_packet()
    }
}

impl From<PacketError> for Refusal {
    fn from(error: PacketError) -> Refusal {
        let code = match error {
            PacketError::OutOfOrder => ErrorCode::NetPacketsOutOfOrder,
            PacketError::TooLarge => ErrorCode::NetPacketTooLarge,
            PacketError::Spoilt => ErrorCode::NetUncompressError,
        };
        Refusal::of(code, error.to_string())
    }
}
