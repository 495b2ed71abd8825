//! Where certificates are checked, strangers are heard on a thread of their own: however many knock, the signatures that this takes cost
//! workers no time.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_tls::Identity;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::transport::Transport;

/// Strangers without a certificate of the cluster are told of this often at most.
const TELL_EVERY: Duration = Duration::from_secs(1);

impl Transport {
    /// Accepts connections on a thread of its own, which ends with the task of this worker.
    pub(crate) fn accept_on_thread(self: &Arc<Self>, listener: TcpListener) {
        let (running, ended) = oneshot::channel::<()>();
        let transport = Arc::clone(self);
        let body = move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!("cannot accept connections: {error}"),
            };
            LocalSet::new().block_on(&runtime, async move {
                tokio::select! {
                    _ = ended => {}
                    () = transport.accept(listener) => {}
                }
            });
        };
        if let Err(error) = std::thread::Builder::new().name("shoal-accept".into()).spawn(body) {
            return tracing::error!("cannot accept connections: no thread for it: {error}");
        }
        self.spawn(async move {
            let _running = running;
            std::future::pending::<()>().await;
        });
    }

    /// A stranger's certificate is not one of this cluster.
    pub(crate) fn tell_untrusted(&self, claimed: Option<Identity>, reason: &str) {
        let mut told = self.untrusted_told.lock();
        if told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            *told = Some(Instant::now());
            drop(told);
            self.handler.on_untrusted(claimed, reason);
        }
    }
}
