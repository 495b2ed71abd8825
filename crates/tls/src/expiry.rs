//! What an operator hears of a certificate that ends soon.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Moment;

/// How long before a certificate's end its operator is told, and how often.
const WARNING_SECONDS: i64 = 30 * SECONDS_PER_DAY;
pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

/// Tells of the end of one certificate once a day, however often it is asked.
#[derive(Debug, Default)]
pub(crate) struct ExpiryWatch {
    /// When it has told.
    warned: AtomicI64,
}

/// Seconds since 1970 UTC.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

impl ExpiryWatch {
    /// The certificate is another one.
    pub(crate) fn reset(&self) {
        self.warned.store(0, Ordering::Relaxed);
    }

    /// `None`: it does not end within 30 days, or that was told today. `whose` and `advice` are parts of the sentence.
    pub(crate) fn warning(
        &self,
        now: i64,
        Moment(end): Moment,
        cert: &Path,
        whose: &str,
        advice: &str,
    ) -> Option<String> {
        let warned = self.warned.load(Ordering::Relaxed);
        if end - now > WARNING_SECONDS || now - warned < SECONDS_PER_DAY {
            return None;
        }
        // One of those who ask at the same time tells.
        self.warned.compare_exchange(warned, now, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        let when = match (end - now) / SECONDS_PER_DAY {
            _ if end <= now => "has expired".to_owned(),
            0 => "expires within a day".to_owned(),
            days => format!("expires in {days} days"),
        };
        let (cert, end) = (cert.display(), Moment(end).text());
        Some(format!("{cert}: the certificate of {whose} {when} ({end}); {advice}"))
    }
}
