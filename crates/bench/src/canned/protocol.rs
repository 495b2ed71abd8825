//! The bytes of the MySQL protocol that the responder can say, each built once.

/// Capability bits that the responder understands.
const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_LONG_FLAG: u32 = 1 << 2;
const CLIENT_CONNECT_WITH_DB: u32 = 1 << 3;
const CLIENT_PROTOCOL_41: u32 = 1 << 9;
const CLIENT_TRANSACTIONS: u32 = 1 << 13;
const CLIENT_SECURE_CONNECTION: u32 = 1 << 15;
const CLIENT_MULTI_STATEMENTS: u32 = 1 << 16;
const CLIENT_MULTI_RESULTS: u32 = 1 << 17;
const CLIENT_PLUGIN_AUTH: u32 = 1 << 19;
pub const CLIENT_DEPRECATE_EOF: u32 = 1 << 24;

const CAPABILITIES: u32 = CLIENT_LONG_PASSWORD
    | CLIENT_LONG_FLAG
    | CLIENT_CONNECT_WITH_DB
    | CLIENT_PROTOCOL_41
    | CLIENT_TRANSACTIONS
    | CLIENT_SECURE_CONNECTION
    | CLIENT_MULTI_STATEMENTS
    | CLIENT_MULTI_RESULTS
    | CLIENT_PLUGIN_AUTH
    | CLIENT_DEPRECATE_EOF;

const STATUS_AUTOCOMMIT: u16 = 2;
const COLLATION_LATIN1: u8 = 8;
const COLUMN_TYPE_STRING: u8 = 0xfe;
const COLUMN_LENGTH: u32 = 120;

/// A value as sysbench writes it into column `c`: ten groups of eleven digits, 119 characters.
const VALUE: &[u8] = b"68487932199-96439406143-93774651418-41631865787-96406072701-\
20604855487-25459966574-28203206787-41238978918-19503783441";

/// Statement ids carry the kind of the statement in their lowest bit, so that no table of statements is needed.
pub const STATEMENT_SELECT: u32 = 2;
pub const STATEMENT_OTHER: u32 = 1;

/// The initial handshake packet.
pub fn greeting() -> Vec<u8> {
    let mut body = vec![10];
    body.extend_from_slice(b"8.4.0-canned\0");
    body.extend_from_slice(&1u32.to_le_bytes());
    body.extend_from_slice(b"saltsalt\0");
    body.extend_from_slice(&(CAPABILITIES as u16).to_le_bytes());
    body.push(COLLATION_LATIN1);
    body.extend_from_slice(&STATUS_AUTOCOMMIT.to_le_bytes());
    body.extend_from_slice(&((CAPABILITIES >> 16) as u16).to_le_bytes());
    body.push(21);
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"saltsaltsalt\0");
    body.extend_from_slice(b"mysql_native_password\0");
    let mut packet = Vec::new();
    push_packet(&mut packet, 0, &body);
    packet
}

/// Every reply, for clients with and without `CLIENT_DEPRECATE_EOF`.
pub struct Replies {
    pub ok: Vec<u8>,
    /// The reply to the handshake response: OK with the next sequence number.
    pub welcome: Vec<u8>,
    text_row: [Vec<u8>; 2],
    binary_row: [Vec<u8>; 2],
}

impl Replies {
    pub fn new() -> Replies {
        let mut welcome = ok_packet(2);
        welcome.shrink_to_fit();
        Replies {
            ok: ok_packet(1),
            welcome,
            text_row: [result_set(false, false), result_set(false, true)],
            binary_row: [result_set(true, false), result_set(true, true)],
        }
    }

    pub fn text_row(&self, deprecate_eof: bool) -> &[u8] {
        &self.text_row[deprecate_eof as usize]
    }

    pub fn binary_row(&self, deprecate_eof: bool) -> &[u8] {
        &self.binary_row[deprecate_eof as usize]
    }
}

impl Default for Replies {
    fn default() -> Self {
        Replies::new()
    }
}

/// Appends the reply to COM_STMT_PREPARE of `sql` to `out`.
pub fn prepared(out: &mut Vec<u8>, sql: &[u8], deprecate_eof: bool) {
    let parameters = sql.iter().filter(|&&byte| byte == b'?').count() as u16;
    let select = is_select(sql);
    let statement = if select { STATEMENT_SELECT } else { STATEMENT_OTHER };
    let mut body = vec![0];
    body.extend_from_slice(&statement.to_le_bytes());
    body.extend_from_slice(&(select as u16).to_le_bytes());
    body.extend_from_slice(&parameters.to_le_bytes());
    body.extend_from_slice(&[0; 3]);
    let mut sequence = 1;
    push_next(out, &mut sequence, &body);
    for definitions in [parameters, select as u16] {
        for _ in 0..definitions {
            push_next(out, &mut sequence, &column_definition());
        }
        if definitions > 0 && !deprecate_eof {
            push_next(out, &mut sequence, &eof_body());
        }
    }
}

/// Whether the statement asks for rows.
pub fn is_select(sql: &[u8]) -> bool {
    let start = sql.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(sql.len());
    sql[start..].get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"select"))
}

fn result_set(binary: bool, deprecate_eof: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sequence = 1;
    push_next(&mut out, &mut sequence, &[1]);
    push_next(&mut out, &mut sequence, &column_definition());
    if !deprecate_eof {
        push_next(&mut out, &mut sequence, &eof_body());
    }
    let mut row = if binary { vec![0, 0] } else { Vec::new() };
    push_string(&mut row, VALUE);
    push_next(&mut out, &mut sequence, &row);
    let end = if deprecate_eof {
        let [low, high] = STATUS_AUTOCOMMIT.to_le_bytes();
        vec![0xfe, 0, 0, low, high, 0, 0]
    } else {
        eof_body()
    };
    push_next(&mut out, &mut sequence, &end);
    out
}

fn column_definition() -> Vec<u8> {
    let mut body = Vec::new();
    for text in ["def", "sbtest", "sbtest1", "sbtest1", "c", "c"] {
        push_string(&mut body, text.as_bytes());
    }
    body.push(0x0c);
    body.extend_from_slice(&(COLLATION_LATIN1 as u16).to_le_bytes());
    body.extend_from_slice(&COLUMN_LENGTH.to_le_bytes());
    body.push(COLUMN_TYPE_STRING);
    body.extend_from_slice(&1u16.to_le_bytes());
    body.extend_from_slice(&[0; 3]);
    body
}

fn eof_body() -> Vec<u8> {
    let [low, high] = STATUS_AUTOCOMMIT.to_le_bytes();
    vec![0xfe, 0, 0, low, high]
}

fn ok_packet(sequence: u8) -> Vec<u8> {
    let [low, high] = STATUS_AUTOCOMMIT.to_le_bytes();
    let mut packet = Vec::new();
    push_packet(&mut packet, sequence, &[0, 0, 0, low, high, 0, 0]);
    packet
}

fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    debug_assert!(text.len() < 251, "longer strings need another prefix");
    out.push(text.len() as u8);
    out.extend_from_slice(text);
}

fn push_next(out: &mut Vec<u8>, sequence: &mut u8, body: &[u8]) {
    push_packet(out, *sequence, body);
    *sequence = sequence.wrapping_add(1);
}

fn push_packet(out: &mut Vec<u8>, sequence: u8, body: &[u8]) {
    let length = (body.len() as u32).to_le_bytes();
    out.extend_from_slice(&length[..3]);
    out.push(sequence);
    out.extend_from_slice(body);
}
