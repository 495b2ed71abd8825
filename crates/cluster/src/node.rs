//! A node: all layers of one process, put together.
//!
//! A layer contains the one beneath it and stands in for it (`Deref`), so whoever has a node has all its methods, and a method of a
//! layer finds what lies beneath it and nothing above. What must reach a higher layer goes through a trait or a function that the
//! node has set. Only here the layers are all known: [`open`] makes them, [`links`] and [`answers`] bring what arrives to the layer it is
//! for, [`thread`] and [`background`] let time pass.

pub(crate) mod answers;
pub(crate) mod background;
pub(crate) mod gossip;
pub(crate) mod keeper;
pub(crate) mod links;
pub(crate) mod open;
pub(crate) mod paths;
pub(crate) mod thread;

use std::ops::Deref;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use shoal_transport::worker_loop::WhenIdle;
use shoal_types::Result;

use crate::base::handle::Holds;
use crate::dictionary::Dictionary;
use crate::management::Management;
use crate::node::keeper::Keeper;
use crate::replication::Replication;
use crate::storage::Storage;

/// One process's share of the database.
pub struct Node {
    management: Management,
    keeper: Arc<Keeper>,
    /// Held while a checkpoint round is made.
    checkpointing: Mutex<()>,
    /// Operations of other nodes that wait here for something.
    underway: AtomicUsize,
}

/// For the loops of threads that serve sessions.
impl WhenIdle for Node {
    fn before_sleep(&self) {
        self.flush_before_sleep();
    }

    fn fall_asleep(&self) {
        Storage::fall_asleep(self);
    }

    fn wake(&self) {
        Storage::wake(self);
    }
}

impl Deref for Node {
    type Target = Management;

    #[inline]
    fn deref(&self) -> &Management {
        &self.management
    }
}

impl Holds<Storage> for Node {
    fn layer(&self) -> &Storage {
        self
    }
}

impl Holds<Replication> for Node {
    fn layer(&self) -> &Replication {
        self
    }
}

impl Holds<Dictionary> for Node {
    fn layer(&self) -> &Dictionary {
        self
    }
}

impl Node {
    /// Writes what a clean start wants to know, makes everything durable and closes the log.
    pub fn close(&self) -> Result<()> {
        self.begin_closing();
        self.keeper.stop();
        self.events().close_file();
        self.write_exact_sequences()?;
        self.close_directory()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.begin_closing();
        self.keeper.stop();
        self.stop_threads();
    }
}
