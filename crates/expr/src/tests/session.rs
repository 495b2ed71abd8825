//! A session for tests.

use std::collections::HashMap;
use std::time::Duration;

use shoal_types::{SqlType, Value};

use crate::context::{RandomState, SessionValues, UserLocks};

pub struct TestSession {
    variables: HashMap<String, (Value, SqlType)>,
    random: RandomState,
    last_insert_id: u64,
    locks: TestLocks,
}

#[derive(Default)]
struct TestLocks {
    held: Vec<String>,
}

impl Default for TestSession {
    fn default() -> TestSession {
        TestSession {
            variables: HashMap::new(),
            random: RandomState::new(1, 2),
            last_insert_id: 7,
            locks: TestLocks::default(),
        }
    }
}

impl SessionValues for TestSession {
    fn user_variable(&self, name: &str) -> Option<(Value, SqlType)> {
        self.variables.get(name).cloned()
    }

    fn set_user_variable(&mut self, name: &str, value: Value, sql_type: SqlType) {
        self.variables.insert(name.to_owned(), (value, sql_type));
    }

    fn connection_id(&self) -> u32 {
        42
    }

    fn database(&self) -> Option<&str> {
        Some("test")
    }

    fn current_user(&self) -> String {
        "root@%".to_owned()
    }

    fn current_role(&self) -> String {
        "`r`@`%`".to_owned()
    }

    fn session_user(&self) -> String {
        "root@localhost".to_owned()
    }

    fn version(&self) -> &str {
        "8.4.0-shoal"
    }

    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }

    fn row_count(&self) -> i64 {
        -1
    }

    fn found_rows(&self) -> u64 {
        3
    }

    fn random_state(&mut self) -> &mut RandomState {
        &mut self.random
    }

    fn random_bytes(&mut self, out: &mut [u8]) {
        for byte in out {
            *byte = (self.random.next_number() * 256.0) as u8;
        }
    }

    fn clock_micros(&self) -> i64 {
        super::now_micros()
    }

    fn locks(&mut self) -> Option<&mut dyn UserLocks> {
        Some(&mut self.locks)
    }
}

impl UserLocks for TestLocks {
    fn get(&mut self, name: &str, _timeout: Duration) -> Option<bool> {
        self.held.push(name.to_owned());
        Some(true)
    }

    fn release(&mut self, name: &str) -> Option<bool> {
        let position = self.held.iter().position(|held| held == name)?;
        self.held.remove(position);
        Some(true)
    }

    fn release_all(&mut self) -> u64 {
        std::mem::take(&mut self.held).len() as u64
    }

    fn holder(&self, name: &str) -> Option<u32> {
        self.held.iter().any(|held| held == name).then_some(42)
    }
}
