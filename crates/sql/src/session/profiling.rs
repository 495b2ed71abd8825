//! Profiles of statements while `profiling` is on: what SHOW PROFILE shows.

use std::sync::PoisonError;
use std::time::Instant;

use super::Session;
use crate::profile::RunningProfile;

impl Session {
    /// A statement begins.
    #[inline]
    pub(super) fn begin_profile(&mut self) {
        if self.variables.profiling {
            self.profile = Some(Box::new(RunningProfile::begin(Instant::now())));
        }
    }

    /// The next stage of the running statement begins.
    #[inline]
    pub(crate) fn stage(&mut self, name: &'static str) {
        if let Some(profile) = &mut self.profile {
            profile.stage(name);
        }
    }

    /// The running statement leaves a profile.
    pub(crate) fn is_profiled(&self) -> bool {
        self.profile.is_some()
    }

    /// The running statement leaves no profile: it shows them.
    pub(crate) fn drop_profile(&mut self) {
        self.profile = None;
    }

    /// A statement with a profile has ended.
    #[cold]
    pub(super) fn keep_profile(&self, profile: RunningProfile, ended: Instant, text: &[u8]) {
        let backslashes = !self.variables.settings.sql_mode.no_backslash_escapes;
        let size = self.variables.profiling_history_size;
        let mut profiles = self.shared.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        profiles.add(profile, ended, text, backslashes, size);
    }
}
