//! A file system in memory that fails and crashes on request. For tests and the simulator only.
//!
//! It keeps apart what a process sees and what would be on the medium after a crash:
//! - Every write since the last sync is kept in fragments of one sector. A [`CrashImage`] keeps any subset
//!   of them, so that it can show lost, reordered and torn writes.
//! - Created, renamed and removed names since the last directory sync are kept in order; an image keeps
//!   any subset that makes sense.
//! - A failed sync drops its writes from what a later sync could save, as Linux does, while reading still
//!   shows them.
//!
//! A history can be recorded: one snapshot after each changing operation, with a marker that the test
//! sets (for example, how much has been acknowledged by then).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::file_system::{FileSystem, InTurn, LockGuard, LockOutcome, OpenMode, StorageFile};

/// What is written as a whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// An operation that a fault can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A write to a file.
    Write,
    /// A sync of a file.
    Sync,
    /// The creation of a file.
    Create,
    /// A file gets another name.
    Rename,
    /// A file goes.
    Remove,
    /// A sync of a directory.
    SyncDirectory,
}

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no space.
    DiskFull,
    /// The device fails.
    InputOutput,
    /// The write succeeds, and its bytes are lost on their way from memory to the medium: the next sync tells, once.
    WriteBack,
}

/// Part of one write that has not been synced.
#[derive(Debug, Clone)]
struct Fragment {
    offset: usize,
    bytes: Vec<u8>,
    /// It will not reach the medium.
    fails: bool,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Fragment>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Link(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Unlink(PathBuf),
}

impl NameChange {
    /// Nothing is renamed into another directory.
    fn path(&self) -> &Path {
        match self {
            NameChange::Link(path, _) | NameChange::Rename(path, _) | NameChange::Unlink(path) => path,
        }
    }
}

/// The whole state of the disk; cloning it is a snapshot.
#[derive(Debug, Clone, Default)]
struct Disk {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    unsynced_names: Vec<NameChange>,
    space_bytes: Option<usize>,
    marker: u64,
}

/// Called before a sync or a durable write begins, without a lock held.
type SyncHook = Arc<dyn Fn() + Send + Sync>;
/// Called before each operation, without a lock held; a durable write is a write and a sync. May let the operation fail.
type OperationHook = Arc<dyn Fn(Operation) -> Option<Fault> + Send + Sync>;

#[derive(Default)]
struct State {
    disk: Disk,
    locks: BTreeSet<PathBuf>,
    /// Fails the operation when the count of such operations has gone down to zero.
    faults: Vec<(Operation, usize, Fault)>,
    history: Option<Vec<Disk>>,
    operations: usize,
    before_sync: Option<SyncHook>,
    before_each: Option<OperationHook>,
    /// Durable writes go through the page cache, one after the other.
    has_page_cache: bool,
}

/// The file system; clones share it.
#[derive(Clone, Default)]
pub struct MemoryFileSystem {
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for MemoryFileSystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryFileSystem").finish_non_exhaustive()
    }
}

/// A moment at which the machine could have crashed.
#[derive(Debug, Clone)]
pub struct CrashPoint {
    disk: Disk,
}

/// Which of the unsynced fragments and names reach the medium.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrashImage {
    /// By number, in the order of [`CrashPoint::fragment_count`].
    pub fragments: Vec<bool>,
    /// By number, in the order of [`CrashPoint::name_change_count`].
    pub names: Vec<bool>,
}

impl CrashPoint {
    /// The marker that was set when the moment was recorded.
    pub fn marker(&self) -> u64 {
        self.disk.marker
    }

    /// How many fragments are unsynced, over all files in the order of their creation.
    pub fn fragment_count(&self) -> usize {
        self.disk.inodes.iter().map(|inode| inode.unsynced.len()).sum()
    }

    /// How many changes of names are unsynced.
    pub fn name_change_count(&self) -> usize {
        self.disk.unsynced_names.len()
    }

    /// An image that keeps everything or nothing.
    pub fn uniform_image(&self, keep: bool) -> CrashImage {
        CrashImage { fragments: vec![keep; self.fragment_count()], names: vec![keep; self.name_change_count()] }
    }

    /// The disk that the next process would find. What an image does not mention is lost.
    pub fn crash(&self, image: &CrashImage) -> MemoryFileSystem {
        let mut number = 0;
        let mut inodes = Vec::with_capacity(self.disk.inodes.len());
        for inode in &self.disk.inodes {
            let mut bytes = inode.durable.clone();
            for fragment in &inode.unsynced {
                if image.fragments.get(number) == Some(&true) && !fragment.fails {
                    write_into(&mut bytes, fragment.offset, &fragment.bytes);
                }
                number += 1;
            }
            inodes.push(Inode { live: bytes.clone(), durable: bytes, unsynced: Vec::new() });
        }
        let mut names = self.disk.durable_names.clone();
        for (number, change) in self.disk.unsynced_names.iter().enumerate() {
            if image.names.get(number) == Some(&true) {
                apply(&mut names, change);
            }
        }
        MemoryFileSystem::with_disk(Disk {
            inodes,
            durable_names: names.clone(),
            names,
            unsynced_names: Vec::new(),
            space_bytes: self.disk.space_bytes,
            marker: self.disk.marker,
        })
    }

    /// The disk as it is after the process died and the machine did not: nothing is lost, and what was
    /// unsynced still is.
    pub fn kill(&self) -> MemoryFileSystem {
        MemoryFileSystem::with_disk(self.disk.clone())
    }
}

fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &NameChange) {
    match change {
        NameChange::Link(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        NameChange::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        NameChange::Unlink(path) => {
            names.remove(path);
        }
    }
}

fn write_into(bytes: &mut Vec<u8>, offset: usize, written: &[u8]) {
    let end = offset + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(written);
}

impl MemoryFileSystem {
    /// An empty one, with all the space there may be.
    pub fn new() -> MemoryFileSystem {
        MemoryFileSystem::default()
    }

    fn with_disk(disk: Disk) -> MemoryFileSystem {
        MemoryFileSystem { state: Arc::new(Mutex::new(State { disk, ..State::default() })) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present moment.
    pub fn crash_point(&self) -> CrashPoint {
        CrashPoint { disk: self.state().disk.clone() }
    }

    /// Starts to record a crash point after each changing operation.
    pub fn record_history(&self) {
        let mut state = self.state();
        let first = state.disk.clone();
        state.history = Some(vec![first]);
    }

    /// What was recorded.
    pub fn history(&self) -> Vec<CrashPoint> {
        let history = self.state().history.take().unwrap_or_default();
        history.into_iter().map(|disk| CrashPoint { disk }).collect()
    }

    /// Puts a number into the crash points recorded from now on, and records one.
    pub fn set_marker(&self, marker: u64) {
        let mut state = self.state();
        state.disk.marker = marker;
        state.changed();
    }

    /// Lets the operation fail that comes after `skipped` others of its kind, once.
    pub fn fail(&self, operation: Operation, skipped: usize, fault: Fault) {
        self.state().faults.push((operation, skipped, fault));
    }

    /// Forgets the faults that have not come up.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Runs something in the thread that syncs, while the sync has not yet taken effect.
    pub fn before_sync(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.state().before_sync = Some(Arc::new(hook));
    }

    /// Runs something before each operation, which it may let fail.
    pub fn before_each(&self, hook: impl Fn(Operation) -> Option<Fault> + Send + Sync + 'static) {
        self.state().before_each = Some(Arc::new(hook));
    }

    /// Has durable writes go through the page cache, as where there is no direct I/O.
    pub fn use_page_cache(&self, uses: bool) {
        self.state().has_page_cache = uses;
    }

    fn consult(&self, operation: Operation) -> Option<Fault> {
        let hook = self.state().before_each.clone();
        hook.and_then(|hook| hook(operation))
    }

    /// The state, at the beginning of an operation, and how that fails.
    fn begin(&self, operation: Operation) -> (MutexGuard<'_, State>, Option<Fault>) {
        let fault = self.consult(operation);
        let mut state = self.state();
        let planned = state.planned_fault(operation);
        (state, fault.or(planned))
    }

    /// The same for operations that do nothing if they fail.
    fn begin_whole(&self, operation: Operation) -> io::Result<MutexGuard<'_, State>> {
        let (state, fault) = self.begin(operation);
        fault.map_or(Ok(state), |fault| Err(error_of(fault)))
    }

    /// Limits the bytes of all files together; `None` is no limit.
    pub fn set_space(&self, bytes: Option<usize>) {
        self.state().disk.space_bytes = bytes;
    }

    /// How many changing operations there have been.
    pub fn operation_count(&self) -> usize {
        self.state().operations
    }

    /// The content of a file as a process sees it.
    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = *state.disk.names.get(path)?;
        Some(state.disk.inodes[inode].live.clone())
    }

    /// Replaces the content of a file, durably: bit rot, or an operator's mistake.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        if let Some(&inode) = state.disk.names.get(path) {
            let inode = &mut state.disk.inodes[inode];
            change(&mut inode.live);
            inode.durable = inode.live.clone();
            inode.unsynced.clear();
        }
    }

    /// A write was lost on its way from memory to the medium and no sync has told of it: the next one will, whoever it comes from.
    pub fn has_untold_failure(&self) -> bool {
        self.state().disk.inodes.iter().flat_map(|inode| &inode.unsynced).any(|fragment| fragment.fails)
    }

    /// The names of all files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state().disk.names.keys().cloned().collect()
    }
}

impl State {
    /// Counts an operation down the list of faults.
    fn planned_fault(&mut self, operation: Operation) -> Option<Fault> {
        let mut hit = None;
        for (position, fault) in self.faults.iter_mut().enumerate() {
            if fault.0 != operation {
                continue;
            }
            match fault.1.checked_sub(1) {
                Some(left) => fault.1 = left,
                None if hit.is_none() => hit = Some(position),
                None => {}
            }
        }
        hit.map(|position| self.faults.remove(position).2)
    }

    fn changed(&mut self) {
        self.operations += 1;
        if let Some(history) = &mut self.history {
            history.push(self.disk.clone());
        }
    }

    fn change_name(&mut self, change: NameChange) {
        apply(&mut self.disk.names, &change);
        self.disk.unsynced_names.push(change);
        self.changed();
    }

    /// The bytes of all named files.
    fn used_bytes(&self) -> usize {
        let inodes: BTreeSet<usize> = self.disk.names.values().copied().collect();
        inodes.into_iter().map(|inode| self.disk.inodes[inode].live.len()).sum()
    }

    fn write(&mut self, inode: usize, offset: usize, bytes: &[u8], fails: bool) {
        let disk = &mut self.disk.inodes[inode];
        write_into(&mut disk.live, offset, bytes);
        let mut at = 0;
        while at < bytes.len() {
            let in_sector = SECTOR_BYTES - (offset + at) % SECTOR_BYTES;
            let piece = in_sector.min(bytes.len() - at);
            disk.unsynced.push(Fragment { offset: offset + at, bytes: bytes[at..at + piece].to_vec(), fails });
            at += piece;
        }
    }
}

fn error_of(fault: Fault) -> io::Error {
    match fault {
        Fault::DiskFull => io::ErrorKind::StorageFull.into(),
        Fault::InputOutput | Fault::WriteBack => io::Error::from_raw_os_error(5),
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl FileSystem for MemoryFileSystem {
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        let inside = state.disk.names.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.filter_map(|path| path.file_name()?.to_str().map(str::to_string)).collect())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn StorageFile>> {
        let mut state = match mode {
            OpenMode::Create => self.begin_whole(Operation::Create)?,
            _ => self.state(),
        };
        let existing = state.disk.names.get(path).copied();
        let inode = match (mode, existing) {
            (OpenMode::Create, _) => {
                let inode = state.disk.inodes.len();
                state.disk.inodes.push(Inode::default());
                state.change_name(NameChange::Link(path.to_path_buf(), inode));
                inode
            }
            (_, Some(inode)) => inode,
            (_, None) => return Err(not_found()),
        };
        drop(state);
        Ok(Box::new(MemoryFile { file_system: self.clone(), inode, cached: InTurn::default() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.begin_whole(Operation::Rename)?;
        if !state.disk.names.contains_key(from) {
            return Err(not_found());
        }
        state.change_name(NameChange::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin_whole(Operation::Remove)?;
        if !state.disk.names.contains_key(path) {
            return Err(not_found());
        }
        state.change_name(NameChange::Unlink(path.to_path_buf()));
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.begin_whole(Operation::SyncDirectory)?;
        let Disk { durable_names, unsynced_names, .. } = &mut state.disk;
        unsynced_names.retain(|change| {
            let is_inside = change.path().parent() == Some(directory);
            if is_inside {
                apply(durable_names, change);
            }
            !is_inside
        });
        state.changed();
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        let mut state = self.state();
        if !state.locks.insert(path.to_path_buf()) {
            return Ok(LockOutcome::Held { pid: Some(std::process::id()) });
        }
        drop(state);
        Ok(LockOutcome::Taken(Box::new(MemoryLock { file_system: self.clone(), path: path.to_path_buf() })))
    }
}

#[derive(Debug)]
struct MemoryFile {
    file_system: MemoryFileSystem,
    inode: usize,
    cached: InTurn,
}

impl MemoryFile {
    fn call_before_sync(&self) {
        let hook = self.file_system.state().before_sync.clone();
        if let Some(hook) = hook {
            hook();
        }
    }

    fn sync(&self, covers: impl Fn(&Fragment) -> bool) -> io::Result<()> {
        let (mut state, fault) = self.file_system.begin(Operation::Sync);
        let inode = &mut state.disk.inodes[self.inode];
        let (covered, others) = std::mem::take(&mut inode.unsynced).into_iter().partition(covers);
        inode.unsynced = others;
        let covered: Vec<Fragment> = covered;
        let has_failed = fault.is_some() || covered.iter().any(|fragment| fragment.fails);
        if fault.is_none() {
            for fragment in covered.iter().filter(|fragment| !fragment.fails) {
                write_into(&mut inode.durable, fragment.offset, &fragment.bytes);
            }
        }
        state.changed();
        match has_failed {
            true => Err(error_of(fault.unwrap_or(Fault::WriteBack))),
            false => Ok(()),
        }
    }
}

impl StorageFile for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.file_system.state();
        let bytes = &state.disk.inodes[self.inode].live;
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut state, fault) = self.file_system.begin(Operation::Write);
        let offset = offset as usize;
        let fails_later = fault == Some(Fault::WriteBack);
        if let Some(fault) = fault.filter(|_| !fails_later) {
            // A failing write may have got half way.
            state.write(self.inode, offset, &bytes[..bytes.len() / 2], false);
            state.changed();
            return Err(error_of(fault));
        }
        let length = state.disk.inodes[self.inode].live.len();
        let growth = (offset + bytes.len()).saturating_sub(length);
        if let Some(space) = state.disk.space_bytes
            && growth > 0
            && state.used_bytes() + growth > space
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.write(self.inode, offset, bytes, fails_later);
        state.changed();
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.call_before_sync();
        self.sync(|_| true)
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let has_page_cache = self.file_system.state().has_page_cache;
        if has_page_cache {
            return self.cached.write(|| self.write_at(offset, bytes), || self.sync_data());
        }
        self.call_before_sync();
        self.write_at(offset, bytes)?;
        let written = offset as usize..offset as usize + bytes.len();
        self.sync(|fragment| written.contains(&fragment.offset))
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file_system.state().disk.inodes[self.inode].live.len() as u64)
    }

    /// On the medium at once.
    fn set_length(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.file_system.state();
        let inode = &mut state.disk.inodes[self.inode];
        let bytes = bytes as usize;
        inode.live.truncate(bytes);
        inode.durable.truncate(bytes);
        inode.unsynced.retain(|fragment| fragment.offset + fragment.bytes.len() <= bytes);
        state.changed();
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLock {
    file_system: MemoryFileSystem,
    path: PathBuf,
}

impl LockGuard for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.file_system.state().locks.remove(&self.path);
    }
}
