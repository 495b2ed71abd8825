//! What a session remembers between statements, as expressions see it.

use std::any::Any;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use shoal_expr::{RandomState, SessionValues, UserLocks};
use shoal_types::{Signalled, SqlType, Value, Warning};

use super::shared::UserVariables;
use crate::account::AccountKey;
use crate::account::access::Access;
use crate::execute::memory::{Held, StatementMemory};
use crate::frontend::ConnectInfo;
use crate::server::Server;
use crate::user_locks::SessionLocks;
use crate::variables::inside::SetInside;

/// What a user variable takes besides its name and its text.
const VARIABLE_BYTES: usize = size_of::<(String, (Value, SqlType))>();

/// User variables, identities and the results of the last statement.
pub struct SessionState {
    pub connection_id: u32,
    pub user: String,
    pub host: String,
    /// The account that matched, and its active roles.
    pub access: Rc<Access>,
    pub database: Option<String>,
    /// Others look at them.
    user_variables: Arc<Mutex<UserVariables>>,
    user_variables_bytes: usize,
    user_variables_held: Held,
    /// The account that has logged in, if it is a proxy user: the session's is another one.
    pub proxy_user: Option<AccountKey>,
    /// LAST_INSERT_ID(): the first value that the last INSERT generated.
    pub last_insert_id: u64,
    /// Set by LAST_INSERT_ID(expr) while the statement runs.
    pub assigned_insert_id: Option<u64>,
    /// The last statement called LAST_INSERT_ID(expr).
    pub insert_id_assigned: bool,
    pub row_count: i64,
    pub found_rows: u64,
    pub random: RandomState,
    /// Conditions of the last statement that could raise any.
    pub warnings: Vec<Warning>,
    pub warning_count: usize,
    /// What SIGNAL said of the first of them.
    pub signalled: Option<Arc<Signalled>>,
    /// System variables that functions and triggers of the running statement have set.
    pub set_inside: Option<Box<SetInside>>,
    pub locks: SessionLocks,
}

impl SessionState {
    /// A fresh state for a client whose login matched `account` (user, host).
    pub fn new(
        info: &ConnectInfo,
        account: AccountKey,
        server: &Arc<Server>,
        memory: &Rc<StatementMemory>,
        user_variables: &Arc<Mutex<UserVariables>>,
    ) -> SessionState {
        user_variables.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let seed = u64::from(info.connection_id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        SessionState {
            connection_id: info.connection_id,
            user: info.user.clone(),
            host: info.host.clone(),
            access: Rc::new(Access::at_login(server, account)),
            database: info.database.clone(),
            user_variables: Arc::clone(user_variables),
            user_variables_bytes: 0,
            user_variables_held: Held::new(memory),
            proxy_user: None,
            last_insert_id: 0,
            assigned_insert_id: None,
            insert_id_assigned: false,
            row_count: 0,
            found_rows: 0,
            random: RandomState::new(seed >> 32 ^ clock_micros() as u64, seed),
            warnings: Vec::new(),
            warning_count: 0,
            signalled: None,
            set_inside: None,
            locks: SessionLocks { table: Arc::clone(&server.user_locks), connection: info.connection_id },
        }
    }

    /// The user variables, with names in lower case, have these types.
    pub fn has_variable_types(&self, types: &[(String, Option<SqlType>)]) -> bool {
        if types.is_empty() {
            return true;
        }
        let variables = self.user_variables.lock().unwrap_or_else(PoisonError::into_inner);
        let mut types = types.iter();
        types.all(|(name, sql_type)| variables.get(name).map(|(_, known)| known) == sql_type.as_ref())
    }

    /// A stored program of this database begins; what is put back behind it, if that is another one.
    pub fn enter_database(&mut self, database: &str) -> Option<Option<String>> {
        let is_other = self.database.as_deref() != Some(database);
        is_other.then(|| self.database.replace(database.to_owned()))
    }

    /// What SIGNAL said of the condition at `index` of SHOW WARNINGS.
    pub fn signalled_at(&self, index: usize) -> Option<&Signalled> {
        self.signalled.as_deref().filter(|_| index == 0)
    }

    /// The number that the condition at `index` of SHOW WARNINGS has.
    pub fn errno_at(&self, index: usize) -> u16 {
        let listed = || self.warnings.get(index).map_or(0, |warning| warning.code.errno());
        self.signalled_at(index).map_or_else(listed, |signalled| signalled.errno)
    }
}

/// Microseconds since 1970 UTC.
fn clock_micros() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

impl SessionValues for SessionState {
    fn user_variable(&self, name: &str) -> Option<(Value, SqlType)> {
        self.user_variables.lock().unwrap_or_else(PoisonError::into_inner).get(&name.to_lowercase()).cloned()
    }

    fn set_user_variable(&mut self, name: &str, value: Value, sql_type: SqlType) {
        let name = name.to_lowercase();
        self.user_variables_bytes += value.heap_bytes();
        let added = VARIABLE_BYTES + name.len();
        let mut variables = self.user_variables.lock().unwrap_or_else(PoisonError::into_inner);
        match variables.insert(name, (value, sql_type)) {
            Some((old, _)) => self.user_variables_bytes -= old.heap_bytes(),
            None => self.user_variables_bytes += added,
        }
        self.user_variables_held.set_anyway(self.user_variables_bytes);
    }

    fn connection_id(&self) -> u32 {
        self.connection_id
    }

    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.access.account.0, self.access.account.1)
    }

    fn current_role(&self) -> String {
        self.access.current_role()
    }

    fn password_strength(&self, password: &[u8]) -> u32 {
        let names = [self.user.as_str(), self.access.account.0.as_str()];
        self.access.password_strength(&names, password)
    }

    fn session_user(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    fn version(&self) -> &str {
        crate::server::VERSION
    }

    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.assigned_insert_id = Some(id);
    }

    fn row_count(&self) -> i64 {
        self.row_count
    }

    fn found_rows(&self) -> u64 {
        self.found_rows
    }

    fn random_state(&mut self) -> &mut RandomState {
        &mut self.random
    }

    fn random_bytes(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let word = foldhash::fast::RandomState::default();
            use std::hash::{BuildHasher, Hasher};
            let mut hasher = word.build_hasher();
            hasher.write_u64((self.random.next_number() * 1e18) as u64);
            chunk.copy_from_slice(&hasher.finish().to_le_bytes()[..chunk.len()]);
        }
    }

    fn clock_micros(&self) -> i64 {
        clock_micros()
    }

    fn locks(&mut self) -> Option<&mut dyn UserLocks> {
        Some(&mut self.locks)
    }

    fn itself(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}
