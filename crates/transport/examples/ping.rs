//! How fast a call is: round trips between two transports on loopback, and the same bytes between plain sockets.
//!
//! `cargo run --release -p shoal-transport --example ping`

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use shoal_transport::worker_loop::{Eagerness, WhenIdle, WorkerLoop, WorkerOptions};
use shoal_transport::{HEADER_BYTES, Handler, Hello, PeerAddress, Responder, Transport, TransportOptions};
use shoal_types::NodeId;
use tokio::runtime::{Builder, LocalOptions};

const PAYLOAD_BYTES: usize = 100;
const RUN: Duration = Duration::from_secs(2);

struct Echo {
    up: mpsc::Sender<()>,
}

impl Handler for Echo {
    fn check(&self, _: &Hello) -> Result<(), String> {
        Ok(())
    }
    fn on_message(&self, _: NodeId, _: u8, _: &[u8]) {}
    fn on_request(&self, _: NodeId, kind: u8, payload: &[u8], responder: Responder) {
        responder.reply(kind, |buffer| buffer.extend_from_slice(payload));
    }
    fn on_up(&self, _: NodeId, _: &Hello) {
        // The receiver hears it once and goes.
        let _ = self.up.send(());
    }
    fn on_down(&self, _: NodeId, _: u64) {}
    fn on_dead(&self, _: NodeId, _: u64) {}
    fn on_refused(&self, peer: NodeId, reason: &str) {
        eprintln!("node {peer}: {reason}");
    }
}

struct Flushing(Arc<Transport>);

impl WhenIdle for Flushing {
    fn before_sleep(&self) {
        self.0.flush();
    }
    fn fall_asleep(&self) {}
    fn wake(&self) {}
}

/// Starts a node with one worker; `job` runs in the worker's loop once the other node is up.
fn start(
    node: u32,
    dial: Option<String>,
    listener: Option<TcpListener>,
    job: impl AsyncFnOnce(Arc<Transport>) + Send + 'static,
) -> thread::JoinHandle<()> {
    let me = Hello { node: NodeId(node), incarnation: 1, ..Hello::default() };
    let peers = dial.map(|address| PeerAddress {
        node: NodeId(1),
        address: Some(address),
        dial: true,
        requires_tls: false,
    });
    let options = TransportOptions { me, peers: peers.into_iter().collect(), ..TransportOptions::default() };
    thread::spawn(move || {
        let (up, is_up) = mpsc::channel();
        let transport = Transport::new(options, Arc::new(Echo { up }));
        listener.into_iter().for_each(|listener| transport.listen(listener));
        let options = WorkerOptions { spin: Duration::ZERO, eagerness: Eagerness::WhenBusy, blocking_threads: 1 };
        let worker = WorkerLoop::new(options).expect("a runtime");
        worker.block_on(&Flushing(Arc::clone(&transport)), async {
            transport.start_worker(0);
            while is_up.try_recv().is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            job(transport).await;
        });
    })
}

fn print(what: &str, in_flight: usize, count: u64, elapsed: Duration) {
    let per_second = count as f64 / elapsed.as_secs_f64();
    println!("{what:<28} {in_flight:>4} in flight {per_second:>12.0} /s {:>10.2} us each", 1e6 / per_second);
}

async fn measure(transport: &Arc<Transport>, in_flight: usize) {
    let start = Instant::now();
    let callers: Vec<_> = (0..in_flight)
        .map(|_| {
            let transport = Arc::clone(transport);
            tokio::task::spawn_local(async move {
                let mut count = 0_u64;
                while start.elapsed() < RUN {
                    let call =
                        transport.call(NodeId(1), 1, |buffer| buffer.resize(buffer.len() + PAYLOAD_BYTES, 7));
                    assert_eq!(call.await.expect("the node answers").payload.len(), PAYLOAD_BYTES);
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut count = 0;
    for caller in callers {
        count += caller.await.expect("callers do not panic");
    }
    print("calls", in_flight, count, start.elapsed());
}

/// Blocking threads and blocking sockets; what is in flight goes in one write.
fn plain(in_flight: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let bytes = (PAYLOAD_BYTES + HEADER_BYTES) * in_flight;
    let echo = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        socket.set_nodelay(true).expect("TCP");
        let mut buffer = vec![0; bytes];
        while socket.read_exact(&mut buffer).is_ok() && socket.write_all(&buffer).is_ok() {}
    });
    let mut socket = TcpStream::connect(address).expect("the echo");
    socket.set_nodelay(true).expect("TCP");
    let mut buffer = vec![7; bytes];
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < RUN {
        socket.write_all(&buffer).expect("the echo reads");
        socket.read_exact(&mut buffer).expect("the echo writes");
        count += in_flight as u64;
    }
    print("plain blocking sockets", in_flight, count, start.elapsed());
    drop(socket);
    echo.join().expect("the echo does not panic");
}

/// The same on two tokio runtimes: what any transport on them has to pay.
fn plain_tokio() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let run = |work: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
        let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        runtime.expect("a runtime").block_on(work);
    };
    const BYTES: usize = PAYLOAD_BYTES + HEADER_BYTES;
    let echo = thread::spawn(move || {
        run(Box::pin(async move {
            listener.set_nonblocking(true).expect("a socket");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            let (mut socket, _) = listener.accept().await.expect("a client");
            socket.set_nodelay(true).expect("TCP");
            let mut buffer = [0; BYTES + 1];
            while let Ok(BYTES) = socket.read(&mut buffer).await {
                socket.write_all(&buffer[..BYTES]).await.expect("the client reads");
            }
        }));
    });
    run(Box::pin(async move {
        let mut socket = tokio::net::TcpStream::connect(address).await.expect("the echo");
        socket.set_nodelay(true).expect("TCP");
        let mut buffer = [7; BYTES + 1];
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed() < RUN {
            socket.write_all(&buffer[..BYTES]).await.expect("the echo reads");
            assert_eq!(socket.read(&mut buffer).await.expect("the echo writes"), BYTES);
            count += 1;
        }
        print("plain tokio sockets", 1, count, start.elapsed());
    }));
    echo.join().expect("the echo does not panic");
}

fn main() {
    plain(1);
    plain_tokio();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (done, is_done) = mpsc::channel::<()>();
    let echo = start(1, None, Some(listener), async move |_| {
        while is_done.try_recv() == Err(mpsc::TryRecvError::Empty) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let caller = start(2, Some(address), None, async move |transport| {
        for in_flight in [1, 8, 32, 128] {
            measure(&transport, in_flight).await;
        }
        drop(done);
    });
    caller.join().expect("the caller does not panic");
    echo.join().expect("the echo does not panic");
    plain(32);
}
