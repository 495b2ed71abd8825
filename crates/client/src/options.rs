//! What a client is told when it connects.

use std::path::PathBuf;
use std::time::Duration;

use shoal_cluster::Transporter;

/// How a client reaches the cluster. The defaults suit a program that runs beside other work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The best way to nodes of the same host; to others it is always TCP.
    pub transporter: Transporter,
    /// The directory with `client-cert.pem`, `client-key.pem` and the authority's `ca.pem`, for a cluster whose nodes require TLS. With
    /// it, nothing is said to any other host without TLS.
    pub tls_search_path: Option<PathBuf>,
    /// How long the client's thread looks for an answer before it sleeps. Waking a sleeping thread costs more than most answers take;
    /// zero for programs that have better uses for a core, [`NEVER_SLEEP`](crate::NEVER_SLEEP) for those that give it one of its own.
    pub spin: Duration,
    /// How long an operation waits for a row lock before error 1205.
    pub lock_wait_timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Threads of a [`Client`](crate::Client).
    pub workers: usize,
    /// Jobs of a [`Client`](crate::Client) that one of its threads runs at a time. More wait in a queue of as many; who comes then
    /// waits himself.
    pub jobs_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            transporter: Transporter::default(),
            tls_search_path: None,
            spin: Duration::from_micros(200),
            lock_wait_timeout: Duration::from_secs(50),
            connect_timeout: Duration::from_secs(10),
            workers: 1,
            jobs_max: 256,
        }
    }
}
