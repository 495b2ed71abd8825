//! What connections may hold: each by itself (`connection_memory_limit`) and all together (`global_connection_memory_limit`).
//!
//! A connection holds [`CONNECTION_BYTES`] and what its statements keep ([`StatementMemory`]). All connections are counted together
//! while their sessions have `global_connection_memory_tracking`, in steps of `connection_memory_chunk_size`. A connection that
//! would hold too much gets an error and is closed, as in MySQL; those with CONNECTION_ADMIN or SUPER are counted and not
//! limited.
//!
//! [`StatementMemory`]: super::memory::StatementMemory

use std::sync::atomic::{AtomicU64, Ordering};

use shoal_types::{Error, ErrorCode, Result};

use crate::variables::SessionVariables;

/// What a connection takes that does nothing.
pub const CONNECTION_BYTES: u64 = 16 << 10;

/// The limits of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub connection_bytes_max: u64,
    /// The connection is counted among all in such steps.
    pub chunk_bytes: u64,
    /// It is counted among all.
    pub is_counted: bool,
    /// It gets errors, too.
    pub is_enforced: bool,
}

impl ConnectionLimits {
    pub const NONE: ConnectionLimits =
        ConnectionLimits { connection_bytes_max: u64::MAX, chunk_bytes: 0, is_counted: false, is_enforced: false };

    /// Those of a session; `is_exempt`: of an administrator's.
    pub fn of(variables: &SessionVariables, is_exempt: bool) -> ConnectionLimits {
        ConnectionLimits {
            connection_bytes_max: variables.connection_memory_limit,
            chunk_bytes: variables.connection_memory_chunk_size,
            is_counted: variables.global_connection_memory_tracking,
            is_enforced: !is_exempt,
        }
    }
}

/// What all connections hold that are counted.
#[derive(Debug)]
pub struct ConnectionsMemory {
    held_bytes: AtomicU64,
    limit_bytes: AtomicU64,
}

impl Default for ConnectionsMemory {
    fn default() -> ConnectionsMemory {
        ConnectionsMemory { held_bytes: AtomicU64::new(0), limit_bytes: AtomicU64::new(u64::MAX) }
    }
}

impl ConnectionsMemory {
    /// The status variable `Global_connection_memory`.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// # Errors
    /// 4081, if it is enforced: together they would hold too much.
    pub fn take(&self, bytes: u64, is_enforced: bool) -> Result<()> {
        let held = self.held_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let limit = self.limit_bytes.load(Ordering::Relaxed);
        if is_enforced && held > limit {
            self.give_back(bytes);
            let text = "Connection closed. Global connection memory limit";
            let message = format!("{text} {limit} bytes exceeded. Consumed {held} bytes.");
            return Err(Error::new(ErrorCode::GlobalConnLimit, message));
        }
        Ok(())
    }

    pub fn give_back(&self, bytes: u64) {
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Errno 4082.
pub fn too_much(limit_bytes: u64, consumed_bytes: u64) -> Error {
    let message = format!(
        "Connection closed. Connection memory limit {limit_bytes} bytes exceeded. Consumed {consumed_bytes} bytes."
    );
    Error::new(ErrorCode::ConnLimit, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shoal_cluster::MemoryBudget;

    use super::*;
    use crate::execute::memory::{Held, StatementMemory};

    fn limits(connection_bytes_max: u64, is_enforced: bool) -> ConnectionLimits {
        ConnectionLimits { connection_bytes_max, chunk_bytes: 8192, is_counted: true, is_enforced }
    }

    #[test]
    fn a_connection_that_holds_too_much_is_refused_more_and_gives_all_back() {
        let (budget, all) = (Arc::new(MemoryBudget::new(1 << 30)), Arc::new(ConnectionsMemory::default()));
        let memory = StatementMemory::of_connection(Arc::clone(&budget), Arc::clone(&all));
        memory.limit(limits(1 << 20, true)).unwrap();
        assert_eq!(all.held_bytes(), CONNECTION_BYTES);
        let mut held = Held::new(&memory);
        let mut bytes = 0;
        let error = loop {
            match held.add(1000) {
                Ok(()) => bytes += 1000,
                Err(error) => break error,
            }
        };
        assert_eq!(error.errno(), 4082);
        let consumed = CONNECTION_BYTES + bytes + 1000;
        let text = format!("Connection memory limit 1048576 bytes exceeded. Consumed {consumed} bytes.");
        assert!(error.message().contains(&text), "{error}");
        assert!(consumed > 1 << 20 && consumed < (1 << 20) + 2000);
        assert!((CONNECTION_BYTES + bytes..=(1 << 20) + 8192).contains(&all.held_bytes()), "{}", all.held_bytes());
        held.shrink_to(0);
        assert!(all.held_bytes() <= CONNECTION_BYTES + 2 * 8192, "{}", all.held_bytes());
        drop(held);
        drop(memory);
        assert_eq!((all.held_bytes(), budget.statement_bytes()), (0, 0));
    }

    #[test]
    fn all_connections_have_one_limit_that_administrators_pass() {
        let (budget, all) = (Arc::new(MemoryBudget::new(1 << 30)), Arc::new(ConnectionsMemory::default()));
        all.set_limit_bytes(1 << 20);
        let connection = |is_enforced| {
            let memory = StatementMemory::of_connection(Arc::clone(&budget), Arc::clone(&all));
            memory.limit(limits(u64::MAX, is_enforced)).map(|()| memory)
        };
        let (first, second) = (connection(true).unwrap(), connection(true).unwrap());
        let (mut one, mut other) = (Held::new(&first), Held::new(&second));
        one.add(600 << 10).unwrap();
        other.add(300 << 10).unwrap();
        let before = all.held_bytes();
        assert_eq!(other.add(300 << 10).unwrap_err().errno(), 4081);
        assert_eq!(all.held_bytes(), before, "what was refused is not counted");
        let administrator = connection(false).unwrap();
        let mut much = Held::new(&administrator);
        much.add(2 << 20).unwrap();
        assert!(all.held_bytes() > 2 << 20);
        assert_eq!(connection(true).err().map(|error| error.errno()), Some(4081), "nor is anybody let in");
        drop(much);
        other.add(50 << 10).unwrap();
        administrator.limit(ConnectionLimits::NONE).unwrap();
        let counted = all.held_bytes();
        drop((one, other));
        drop((first, second));
        assert!(counted > 0 && all.held_bytes() == 0, "{}", all.held_bytes());
    }
}
