//! Numbers of the MySQL client/server protocol, as its documentation names them.

use std::ops::BitOr;

/// Capability flags of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u32);

impl Capabilities {
    pub const LONG_PASSWORD: Capabilities = Capabilities(1);
    pub const FOUND_ROWS: Capabilities = Capabilities(1 << 1);
    pub const LONG_FLAG: Capabilities = Capabilities(1 << 2);
    pub const CONNECT_WITH_DB: Capabilities = Capabilities(1 << 3);
    pub const COMPRESS: Capabilities = Capabilities(1 << 5);
    pub const ODBC: Capabilities = Capabilities(1 << 6);
    pub const LOCAL_FILES: Capabilities = Capabilities(1 << 7);
    pub const IGNORE_SPACE: Capabilities = Capabilities(1 << 8);
    pub const PROTOCOL_41: Capabilities = Capabilities(1 << 9);
    pub const INTERACTIVE: Capabilities = Capabilities(1 << 10);
    pub const SSL: Capabilities = Capabilities(1 << 11);
    pub const IGNORE_SIGPIPE: Capabilities = Capabilities(1 << 12);
    pub const TRANSACTIONS: Capabilities = Capabilities(1 << 13);
    pub const SECURE_CONNECTION: Capabilities = Capabilities(1 << 15);
    pub const MULTI_STATEMENTS: Capabilities = Capabilities(1 << 16);
    pub const MULTI_RESULTS: Capabilities = Capabilities(1 << 17);
    pub const PS_MULTI_RESULTS: Capabilities = Capabilities(1 << 18);
    pub const PLUGIN_AUTH: Capabilities = Capabilities(1 << 19);
    pub const CONNECT_ATTRS: Capabilities = Capabilities(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Capabilities = Capabilities(1 << 21);
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: Capabilities = Capabilities(1 << 22);
    pub const SESSION_TRACK: Capabilities = Capabilities(1 << 23);
    pub const DEPRECATE_EOF: Capabilities = Capabilities(1 << 24);
    pub const ZSTD_COMPRESSION: Capabilities = Capabilities(1 << 26);
    pub const QUERY_ATTRIBUTES: Capabilities = Capabilities(1 << 27);

    /// What this server always offers. LONG_PASSWORD tells MariaDB's clients that there are no MariaDB extensions.
    pub const SERVER: Capabilities = Capabilities(
        Self::LONG_PASSWORD.0
            | Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::ODBC.0
            | Self::LOCAL_FILES.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::CAN_HANDLE_EXPIRED_PASSWORDS.0
            | Self::SESSION_TRACK.0
            | Self::DEPRECATE_EOF.0
            | Self::QUERY_ATTRIBUTES.0,
    );

    pub fn has(self, flag: Capabilities) -> bool {
        self.0 & flag.0 == flag.0
    }

    pub fn common(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & other.0)
    }
}

impl BitOr for Capabilities {
    type Output = Capabilities;
    fn bitor(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 | other.0)
    }
}

/// The first byte of a command packet.
pub mod command {
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const SHUTDOWN: u8 = 0x08;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0a;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const DEBUG: u8 = 0x0d;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// Status flags of OK and EOF packets.
pub mod status {
    pub const IN_TRANSACTION: u16 = 1;
    pub const AUTOCOMMIT: u16 = 1 << 1;
    pub const MORE_RESULTS_EXIST: u16 = 1 << 3;
    /// The rows are what a procedure has given its OUT parameters.
    pub const PS_OUT_PARAMS: u16 = 1 << 12;
    pub const NO_INDEX_USED: u16 = 1 << 5;
    pub const CURSOR_EXISTS: u16 = 1 << 6;
    pub const LAST_ROW_SENT: u16 = 1 << 7;
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    pub const IN_READ_ONLY_TRANSACTION: u16 = 1 << 13;
    pub const SESSION_STATE_CHANGED: u16 = 1 << 14;
}

/// Column types as they are numbered on the wire.
pub mod column_type {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const VECTOR: u8 = 242;
    pub const BOOL: u8 = 244;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Flags of a column definition.
pub mod column_flag {
    pub const NOT_NULL: u16 = 1;
    pub const PRIMARY_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT_VALUE: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    pub const PART_KEY: u16 = 1 << 14;
}
