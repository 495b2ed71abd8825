//! What evaluation needs besides the row: parameters, the statement's clock, SQL mode, warnings, the session.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use shoal_types::{
    Charset, Collation, DateRules, DateTime, Error, ErrorCode, Result, SqlType, TemporalContext, TimeZone, Value,
    Warning, WarningLevel,
};

use crate::regexp::RegexCache;

/// The parts of `sql_mode` that change results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    /// ERROR_FOR_DIVISION_BY_ZERO
    pub error_for_division_by_zero: bool,
    /// NO_ZERO_DATE
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES
    pub allow_invalid_dates: bool,
    /// NO_UNSIGNED_SUBTRACTION
    pub no_unsigned_subtraction: bool,
    /// NO_BACKSLASH_ESCAPES
    pub no_backslash_escapes: bool,
    /// PAD_CHAR_TO_FULL_LENGTH
    pub pad_char_to_full_length: bool,
    /// TIME_TRUNCATE_FRACTIONAL
    pub time_truncate_fractional: bool,
}

impl Default for SqlMode {
    /// The default of MySQL 8.4.
    fn default() -> SqlMode {
        SqlMode {
            strict: true,
            error_for_division_by_zero: true,
            no_zero_date: true,
            no_zero_in_date: true,
            allow_invalid_dates: false,
            no_unsigned_subtraction: false,
            no_backslash_escapes: false,
            pad_char_to_full_length: false,
            time_truncate_fractional: false,
        }
    }
}

/// How AES_ENCRYPT encrypts: `block_encryption_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEncryption {
    /// 16, 24 or 32.
    pub key_bytes: u8,
    /// How blocks are chained.
    pub mode: BlockMode,
}

/// How blocks are chained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockMode {
    /// Not at all.
    Ecb,
    /// Each with the one before it.
    Cbc,
    /// By a register that takes in 1 bit of the result at a time.
    Cfb1,
    /// 8 bits.
    Cfb8,
    /// All 128.
    Cfb128,
    /// By a register that takes in none of it.
    Ofb,
}

impl Default for BlockEncryption {
    fn default() -> BlockEncryption {
        BlockEncryption { key_bytes: 16, mode: BlockMode::Ecb }
    }
}

impl BlockEncryption {
    /// The one of a name such as `aes-128-ecb`.
    pub fn named(name: &str) -> Option<BlockEncryption> {
        let (bits, mode) = name.strip_prefix("aes-")?.split_once('-')?;
        let key_bytes = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return None,
        };
        let mode = match mode {
            "ecb" => BlockMode::Ecb,
            "cbc" => BlockMode::Cbc,
            "cfb1" => BlockMode::Cfb1,
            "cfb8" => BlockMode::Cfb8,
            "cfb128" => BlockMode::Cfb128,
            "ofb" => BlockMode::Ofb,
            _ => return None,
        };
        Some(BlockEncryption { key_bytes, mode })
    }
}

/// System variables that evaluation reads; fixed for one statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The parts of it that change results.
    pub sql_mode: SqlMode,
    /// Digits that a division adds to its dividend's scale.
    pub div_precision_increment: u8,
    /// Bytes.
    pub group_concat_max_len: usize,
    /// Bytes: string functions yield NULL and a warning rather than more.
    pub max_allowed_packet: usize,
    /// Of AES_ENCRYPT and AES_DECRYPT.
    pub block_encryption: BlockEncryption,
    /// Windows add numbers that are not exact anew for each frame, instead of taking away what leaves it.
    pub windowing_use_high_precision: bool,
    /// WEEK's second argument where it is left out, 0 to 7.
    pub default_week_format: u8,
    /// In which the client sends statements.
    pub character_set_client: Charset,
    /// Of literals, and of texts made from numbers.
    pub collation_connection: Collation,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sql_mode: SqlMode::default(),
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            block_encryption: BlockEncryption::default(),
            windowing_use_high_precision: true,
            default_week_format: 0,
            character_set_client: Charset::Utf8mb4,
            collation_connection: Collation::UTF8MB4_0900_AI_CI,
        }
    }
}

/// The diagnostics area's conditions: the first `limit` are kept, all are counted.
#[derive(Clone, Debug)]
pub struct Warnings {
    list: Vec<Warning>,
    count: usize,
    limit: usize,
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings::with_limit(1024)
    }
}

impl Warnings {
    /// `limit` is max_error_count.
    pub fn with_limit(limit: usize) -> Warnings {
        Warnings { list: Vec::new(), count: 0, limit }
    }

    /// Counts a condition, and keeps it if there is room. The message is made only if it is kept.
    pub fn push(&mut self, level: WarningLevel, code: ErrorCode, message: impl FnOnce() -> String) {
        self.count += 1;
        if self.list.len() < self.limit {
            self.list.push(Warning { level, code, message: message() });
        }
    }

    /// Adds what another collector (a data node's) gathered.
    pub fn append(&mut self, other: Warnings) {
        self.count += other.count;
        let room = self.limit.saturating_sub(self.list.len());
        self.list.extend(other.list.into_iter().take(room));
    }

    /// The conditions that were kept, oldest first.
    pub fn list(&self) -> &[Warning] {
        &self.list
    }

    /// Conditions raised, kept or not.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Conditions that can still be kept.
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.list.len())
    }

    /// Forgets all conditions; the limit stays.
    pub fn clear(&mut self) {
        self.list.clear();
        self.count = 0;
    }
}

/// What functions ask of the session. Implemented by the SQL layer.
pub trait SessionValues {
    /// The value and type of a user variable; `None` if it was never set. Names are without `@`.
    fn user_variable(&self, name: &str) -> Option<(Value, SqlType)>;
    /// Names are without `@`.
    fn set_user_variable(&mut self, name: &str, value: Value, sql_type: SqlType);
    /// CONNECTION_ID().
    fn connection_id(&self) -> u32;
    /// DATABASE(); `None` if none was chosen.
    fn database(&self) -> Option<&str>;
    /// The account that was checked: `user@host` for CURRENT_USER().
    fn current_user(&self) -> String;
    /// The active roles, or NONE: CURRENT_ROLE().
    fn current_role(&self) -> String;
    /// The name the client gave and its host: USER().
    fn session_user(&self) -> String;
    /// VERSION().
    fn version(&self) -> &str;
    /// LAST_INSERT_ID().
    fn last_insert_id(&self) -> u64;
    /// LAST_INSERT_ID(expr).
    fn set_last_insert_id(&mut self, id: u64);
    /// ROW_COUNT() of the previous statement.
    fn row_count(&self) -> i64;
    /// FOUND_ROWS().
    fn found_rows(&self) -> u64;
    /// The two words of the session's RAND() generator, which RAND() advances.
    fn random_state(&mut self) -> &mut RandomState;
    /// Fills `out` with bytes that nobody can foretell: RANDOM_BYTES() and others.
    fn random_bytes(&mut self, out: &mut [u8]);
    /// VALIDATE_PASSWORD_STRENGTH(); 0 where nobody looks at passwords.
    fn password_strength(&self, _password: &[u8]) -> u32 {
        0
    }
    /// The clock at this moment, microseconds since 1970 UTC: SYSDATE(), UUID().
    fn clock_micros(&self) -> i64;
    /// GET_LOCK and its kin.
    fn locks(&mut self) -> Option<&mut dyn UserLocks> {
        None
    }
    /// The session itself, for an executor that runs more than expressions.
    fn itself(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// User-level locks (GET_LOCK ...). Names were checked and lower-cased.
pub trait UserLocks {
    /// `Some(true)` got it, `Some(false)` held by another and `timeout` is zero, `None` it has to be waited for.
    fn get(&mut self, name: &str, timeout: Duration) -> Option<bool>;
    /// `Some(true)` released, `Some(false)` held by another, `None` does not exist.
    fn release(&mut self, name: &str) -> Option<bool>;
    /// RELEASE_ALL_LOCKS(): how many were released.
    fn release_all(&mut self) -> u64;
    /// The connection that holds it.
    fn holder(&self, name: &str) -> Option<u32>;
}

/// A user-level lock that somebody else holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRequest {
    /// Checked and in lower case.
    pub name: String,
    /// How long the caller is ready to wait.
    pub timeout: Duration,
}

/// What the calls on user-level locks in one expression yielded. GET_LOCK() cannot wait where it is evaluated: it fails,
/// the executor waits and evaluates the expression again, and then the calls before it must not act once more.
#[derive(Debug, Default)]
pub struct LockCalls {
    outcomes: Vec<Value>,
    replayed: usize,
}

impl LockCalls {
    /// The next call's outcome, if it was made in an earlier evaluation.
    pub(crate) fn replay(&mut self) -> Option<Value> {
        let outcome = self.outcomes.get(self.replayed).cloned()?;
        self.replayed += 1;
        Some(outcome)
    }

    pub(crate) fn push(&mut self, outcome: Value) {
        self.outcomes.push(outcome);
        self.replayed = self.outcomes.len();
    }

    /// The call that had to wait has this outcome; the expression is evaluated again.
    pub fn settle(&mut self, outcome: Value) {
        self.outcomes.push(outcome);
        self.replayed = 0;
    }

    /// The expression was evaluated.
    #[inline]
    pub fn clear(&mut self) {
        self.outcomes.clear();
        self.replayed = 0;
    }
}

/// MySQL's generator behind RAND().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomState {
    seed1: u64,
    seed2: u64,
}

impl RandomState {
    const MAX_VALUE: u64 = 0x3FFF_FFFF;

    /// From the words of the `rand_seed1` and `rand_seed2` variables.
    pub fn new(seed1: u64, seed2: u64) -> RandomState {
        RandomState { seed1: seed1 % Self::MAX_VALUE, seed2: seed2 % Self::MAX_VALUE }
    }

    /// RAND(seed).
    pub fn from_seed(seed: i64) -> RandomState {
        let seed = seed as u32;
        let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
        let second = seed.wrapping_mul(0x1000_0001);
        RandomState::new(u64::from(first), u64::from(second))
    }

    /// The next number, at least 0 and below 1.
    pub fn next_number(&mut self) -> f64 {
        self.seed1 = (self.seed1 * 3 + self.seed2) % Self::MAX_VALUE;
        self.seed2 = (self.seed1 + self.seed2 + 33) % Self::MAX_VALUE;
        self.seed1 as f64 / Self::MAX_VALUE as f64
    }
}

/// Everything evaluation needs besides the row. One per execution of a statement (RAND(seed) and compiled patterns
/// keep state in it).
pub struct EvalContext<'a> {
    /// Values of the expressions' parameter slots, by their index.
    pub parameters: &'a [Value],
    /// The session's time zone.
    pub zone: &'a TimeZone,
    /// The statement's time, microseconds since 1970 UTC: NOW() and its kin.
    pub now_micros: i64,
    /// As they were when the statement began.
    pub settings: Settings,
    /// The statement changes data, so strict mode makes errors of some warnings ...
    pub changes_data: bool,
    /// ... unless it said IGNORE.
    pub ignore_errors: bool,
    /// Conditions that evaluation has raised so far.
    pub warnings: Warnings,
    /// Absent at data nodes; functions that need it then fail.
    pub session: Option<&'a mut dyn SessionValues>,
    /// SLEEP() asks for a pause here and yields 0; the executor awaits it (and clears it) after the row.
    pub pending_sleep: Option<Duration>,
    /// A pause was cut short where that is an answer and no error: SLEEP() yields 1 and asks for nothing.
    pub is_sleep_interrupted: bool,
    /// GET_LOCK() failed because it has to wait for this; an executor that can wait there does, and tries again.
    pub pending_lock: Option<LockRequest>,
    /// What calls on user-level locks have yielded, should the expression be evaluated again.
    pub lock_calls: LockCalls,
    pub(crate) random: HashMap<usize, RandomState>,
    pub(crate) patterns: RegexCache,
    /// For sort keys and other bytes that do not outlive one operator.
    pub(crate) scratch: Vec<u8>,
    temporal: Option<Arc<TemporalContext>>,
}

impl<'a> EvalContext<'a> {
    /// Of a statement that reads, without a session and without warnings.
    pub fn new(
        parameters: &'a [Value],
        zone: &'a TimeZone,
        now_micros: i64,
        settings: Settings,
    ) -> EvalContext<'a> {
        EvalContext {
            parameters,
            zone,
            now_micros,
            settings,
            changes_data: false,
            ignore_errors: false,
            warnings: Warnings::default(),
            session: None,
            pending_sleep: None,
            is_sleep_interrupted: false,
            pending_lock: None,
            lock_calls: LockCalls::default(),
            random: HashMap::new(),
            patterns: RegexCache::default(),
            scratch: Vec::new(),
            temporal: None,
        }
    }

    /// Adds the session, for functions that need it.
    pub fn with_session(mut self, session: &'a mut dyn SessionValues) -> EvalContext<'a> {
        self.session = Some(session);
        self
    }

    /// A context for a nested execution (a subquery) with parameters of its own. It shares clock, settings and session;
    /// its warnings are its own and are to be appended to this one's.
    pub fn with_other_parameters<'b>(&'b mut self, parameters: &'b [Value]) -> EvalContext<'b> {
        EvalContext {
            parameters,
            zone: self.zone,
            now_micros: self.now_micros,
            settings: self.settings,
            changes_data: self.changes_data,
            ignore_errors: self.ignore_errors,
            warnings: Warnings::with_limit(self.warnings.room()),
            session: self.session.as_mut().map(|session| &mut **session as &mut dyn SessionValues),
            pending_sleep: None,
            is_sleep_interrupted: self.is_sleep_interrupted,
            pending_lock: None,
            lock_calls: LockCalls::default(),
            random: HashMap::new(),
            patterns: RegexCache::default(),
            scratch: Vec::new(),
            temporal: self.temporal.clone(),
        }
    }

    /// The session, or an error where there is none.
    pub fn session(&mut self) -> Result<&mut dyn SessionValues> {
        match &mut self.session {
            Some(session) => Ok(&mut **session as &mut dyn SessionValues),
            None => Err(Error::unknown("this function can only be used where a session is at hand")),
        }
    }

    /// The statement's time in the session's zone.
    pub fn now(&self, fsp: u8) -> DateTime {
        self.zone.from_utc_micros(self.now_micros, 6).truncate(fsp)
    }

    /// How texts become dates: the dates that the SQL mode refuses only when they are stored are taken here.
    pub(crate) fn temporal(&mut self) -> Arc<TemporalContext> {
        if self.temporal.is_none() {
            let rules = DateRules {
                allow_invalid_dates: self.settings.sql_mode.allow_invalid_dates,
                ..DateRules::default()
            };
            let today = self.now(0).date();
            self.temporal = Some(Arc::new(TemporalContext { rules, zone: self.zone.clone(), today }));
        }
        self.temporal.clone().unwrap_or_default()
    }

    /// Bad data in a statement that changes data in strict mode is an error rather than a warning.
    pub fn is_strict(&self) -> bool {
        self.changes_data && !self.ignore_errors && self.settings.sql_mode.strict
    }

    /// Raises a condition of level Warning, which never ends the statement.
    pub fn warn(&mut self, code: ErrorCode, message: impl FnOnce() -> String) {
        self.warnings.push(WarningLevel::Warning, code, message);
    }

    /// A warning, or in strict data-changing statements an error.
    pub fn warn_or_fail(&mut self, code: ErrorCode, message: impl FnOnce() -> String) -> Result<()> {
        if self.is_strict() {
            return Err(Error::new(code, message()));
        }
        self.warn(code, message);
        Ok(())
    }

    /// 1292 "Truncated incorrect DOUBLE value: 'x'".
    pub(crate) fn warn_truncated(&mut self, kind: &str, text: &[u8]) -> Result<()> {
        self.warn_or_fail(ErrorCode::TruncatedWrongValue, || {
            format!("Truncated incorrect {kind} value: '{}'", printable(text))
        })
    }

    /// 1292 "Incorrect datetime value: 'x'".
    pub(crate) fn warn_incorrect(&mut self, kind: &str, text: &[u8]) -> Result<()> {
        self.warn_or_fail(ErrorCode::TruncatedWrongValue, || {
            format!("Incorrect {kind} value: '{}'", printable(text))
        })
    }

    /// Division by zero: NULL with a warning, or an error, or silence, by SQL mode.
    pub(crate) fn division_by_zero(&mut self) -> Result<Value> {
        if self.settings.sql_mode.error_for_division_by_zero {
            self.warn_or_fail(ErrorCode::DivisionByZero, || "Division by 0".to_owned())?;
        }
        Ok(Value::Null)
    }

    /// 1301: a result longer than max_allowed_packet becomes NULL.
    pub(crate) fn too_long(&mut self, function: &str) -> Result<Value> {
        let limit = self.settings.max_allowed_packet;
        self.warn_or_fail(ErrorCode::WarnAllowedPacketOverflowed, || {
            format!("Result of {function}() was larger than max_allowed_packet ({limit}) - truncated")
        })?;
        Ok(Value::Null)
    }
}

/// Text for a message: at most 128 characters, bytes that are not UTF-8 as `\xHH`.
pub fn printable(text: &[u8]) -> String {
    let mut out = String::new();
    let mut left = 128usize;
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            if left == 0 {
                return out;
            }
            out.push(character);
            left -= 1;
        }
        for byte in chunk.invalid() {
            if left == 0 {
                return out;
            }
            out.push_str(&format!("\\x{byte:02X}"));
            left -= 1;
        }
    }
    out
}
