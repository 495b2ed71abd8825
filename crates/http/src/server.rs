//! The sockets: one thread, which takes connections and serves them until the process ends.
//!
//! Whoever connects may be anybody. So everything has a limit: connections, the bytes and the time of a request's head, the time of
//! a connection. Most requests have no bodies (see [`crate::routes`]). A connection that was refused something is closed gently: what its client still sends is
//! read and dropped for a moment, or the system would take the answer back with a reset.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use shoal_tls::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio_rustls::TlsAcceptor;

use crate::dashboard::SAMPLE_EVERY;
use crate::peer::Peer;
use crate::reply::Reply;
use crate::routes;
use crate::watched::Watched;

/// Connections that are served at once; others are told to come again.
pub const CONNECTIONS_MAX: usize = 64;
/// As many where programs read and write rows.
pub const CONNECTIONS_MAX_WITH_REST: usize = 1024;
/// Of those others, so many are told; beyond them sockets are just closed.
const REFUSALS_MAX: usize = 64;
/// A request's first line and headers.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// For the head of a request to arrive, and for the next one to begin.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection that is older ends: so a client that never reads its answers does not have it for ever.
const CONNECTION_AGE_MAX: Duration = Duration::from_secs(600);
/// An old connection is closed behind the request that is under way, which has so long for that.
const LAST_REQUEST: Duration = Duration::from_secs(60);
/// A thread that scrapes finds out in this time that the node has gone away.
const STOP_PATIENCE: Duration = Duration::from_millis(500);
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// What is read of a client that was refused, and for how long.
const LINGER_BYTES_MAX: u64 = 1 << 20;
const LINGER: Duration = Duration::from_secs(1);

const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 44\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\ntoo many HTTP connections; come again later\n";

/// A running server. Dropping it leaves its thread alone: the end of the process ends it.
pub struct HttpServer {
    address: SocketAddr,
    stopping: watch::Sender<bool>,
    thread: thread::JoinHandle<()>,
}

impl HttpServer {
    /// Serves what comes to `listener` on a thread of its own; with `tls`, only what is encrypted.
    ///
    /// # Errors
    /// The system's.
    pub fn start(
        listener: TcpListener,
        watched: Arc<Watched>,
        tls: Option<Arc<Acceptor>>,
    ) -> io::Result<HttpServer> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stopping, stopped) = watch::channel(false);
        let connections_max = if watched.rest.is_on() { CONNECTIONS_MAX_WITH_REST } else { CONNECTIONS_MAX };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let body = move || {
            if let Err(error) =
                LocalSet::new().block_on(&runtime, accept(listener, watched, tls, connections_max, stopped))
            {
                tracing::error!("cannot accept connections: {error}");
            }
        };
        let thread = thread::Builder::new().name("http".into()).spawn(body)?;
        Ok(HttpServer { address, stopping, thread })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets requests that run have their answers, and ends.
    pub fn stop(self) {
        self.stopping.send_replace(true);
        let _ = self.thread.join();
    }
}

async fn accept(
    listener: TcpListener,
    watched: Arc<Watched>,
    tls: Option<Arc<Acceptor>>,
    connections_max: usize,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let history = tokio::task::spawn_local(record_history(Arc::clone(&watched)));
    let (places, refusals) = (Arc::new(Semaphore::new(connections_max)), Arc::new(Semaphore::new(REFUSALS_MAX)));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, address)) => {
                    if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                        let (watched, stopped) = (Arc::clone(&watched), stopped.clone());
                        let Ok(own) = socket.local_addr() else { continue };
                        let tls = tls.as_ref().map(|tls| TlsAcceptor::from(tls.config()));
                        let is_encrypted = tls.is_some();
                        let peer = Peer { address: address.ip().to_canonical(), own, is_encrypted };
                        connections.spawn_local(async move {
                            let served = welcome(socket, peer, tls, watched, stopped);
                            let _ = tokio::time::timeout(CONNECTION_AGE_MAX + LAST_REQUEST, served).await;
                            drop(place);
                        });
                    } else {
                        watched.http.refused_connections.fetch_add(1, Ordering::Relaxed);
                        // Nobody reads a refusal in clear where he expects a handshake.
                        if tls.is_none()
                            && let Ok(place) = Arc::clone(&refusals).try_acquire_owned()
                        {
                            connections.spawn_local(async move {
                                let _ = tokio::time::timeout(LINGER, refuse(socket)).await;
                                drop(place);
                            });
                        }
                    }
                }
                // Too many open files, or a client that has gone.
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN_AFTER).await,
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    history.abort();
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(STOP_PATIENCE, ended).await;
    Ok(())
}

/// For as long as the server runs.
async fn record_history(watched: Arc<Watched>) {
    let mut ticks = tokio::time::interval(SAMPLE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        if let Some(server) = watched.server() {
            watched.dashboard.history.take_sample(server);
            watched.dashboard.trends.take_sample(server, Instant::now());
        }
    }
}

async fn welcome(
    socket: TcpStream,
    peer: Peer,
    tls: Option<TlsAcceptor>,
    watched: Arc<Watched>,
    mut stopped: watch::Receiver<bool>,
) {
    let _ = socket.set_nodelay(true);
    let Some(tls) = tls else { return serve(socket, peer, watched, stopped).await };
    tokio::select! {
        // A client that does not come to an end of it, or speaks no TLS, is let go.
        shaken = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(socket)) => {
            if let Ok(Ok(socket)) = shaken {
                serve(socket, peer, watched, stopped).await;
            }
        }
        _ = stopped.changed() => {}
    }
}

async fn serve<S>(socket: S, peer: Peer, watched: Arc<Watched>, mut stopped: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let watched = Arc::clone(&watched);
        Box::pin(async move { Ok::<Reply, Infallible>(routes::answer(&watched, &peer, request).await) })
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        // A client that has said all it wants to say still hears the answer.
        .half_close(true)
        .serve_connection(TokioIo::new(socket), service);
    let mut is_stopping = false;
    let mut is_old = pin!(tokio::time::sleep(CONNECTION_AGE_MAX));
    loop {
        tokio::select! {
            // What it was that the client did wrong, it has been told.
            _ = poll_fn(|context| connection.poll_without_shutdown(context)) => break,
            _ = stopped.changed(), if !is_stopping => {
                is_stopping = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
            _ = &mut is_old, if !is_stopping => {
                is_stopping = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    }
    let mut socket = connection.into_parts().io.into_inner();
    let _ = socket.shutdown().await;
    if !is_stopping {
        let _ = tokio::time::timeout(LINGER, drain(socket)).await;
    }
}

async fn refuse(mut socket: TcpStream) {
    if socket.write_all(TOO_MANY).await.is_ok() && socket.shutdown().await.is_ok() {
        drain(socket).await;
    }
}

/// Reads what a client still sends, until it has closed too.
async fn drain(socket: impl AsyncRead + Unpin) {
    let mut limited = socket.take(LINGER_BYTES_MAX);
    let _ = tokio::io::copy(&mut limited, &mut tokio::io::sink()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_has_the_length_that_it_says() {
        let text = std::str::from_utf8(TOO_MANY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
    }
}
