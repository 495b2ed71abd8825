//! A lock request as one byte.

use shoal_partition::{LockMode, LockPolicy, LockRequest};
use shoal_types::Result;

use super::wire::*;

const LOCK: u8 = 1;
const LOCK_EXCLUSIVE: u8 = 2;
const LOCK_NO_WAIT: u8 = 4;
const LOCK_SKIP: u8 = 8;
const LOCK_GAPS: u8 = 16;

pub(super) fn put_lock(out: &mut Vec<u8>, lock: Option<LockRequest>) {
    out.push(lock.map_or(0, |lock| {
        let exclusive = if lock.mode == LockMode::Exclusive { LOCK_EXCLUSIVE } else { 0 };
        let policy = match lock.policy {
            LockPolicy::Wait => 0,
            LockPolicy::NoWait => LOCK_NO_WAIT,
            LockPolicy::SkipLocked => LOCK_SKIP,
        };
        let gaps = if lock.lock_gaps { LOCK_GAPS } else { 0 };
        LOCK | exclusive | policy | gaps
    }));
}

pub(super) fn read_lock(reader: &mut FrameReader<'_>) -> Result<Option<LockRequest>> {
    let flags = reader.u8()?;
    if flags == 0 {
        return Ok(None);
    }
    let policy = match flags & (LOCK_NO_WAIT | LOCK_SKIP) {
        0 => LockPolicy::Wait,
        LOCK_NO_WAIT => LockPolicy::NoWait,
        LOCK_SKIP => LockPolicy::SkipLocked,
        _ => return Err(malformed()),
    };
    if flags & LOCK == 0 || flags >= LOCK_GAPS << 1 {
        return Err(malformed());
    }
    let mode = if flags & LOCK_EXCLUSIVE != 0 { LockMode::Exclusive } else { LockMode::Shared };
    Ok(Some(LockRequest { mode, policy, lock_gaps: flags & LOCK_GAPS != 0 }))
}
