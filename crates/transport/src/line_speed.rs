//! What a byte costs on the line of a TCP connection, as the system sees it (tcp(7), `TCP_INFO`).
//!
//! Bytes cost time where they queue: the round trip is longer than the shortest that the connection has seen by what its own flights
//! and those of others wait for, and shorter flights would wait for less. And a flight that is larger than the window of the congestion
//! control costs another round trip for each window.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd};

const NS_PER_US: f32 = 1000.0;

/// Nanoseconds a byte, when so many bytes are sent at a time; `None`: not a TCP socket, or not known yet. One call of the system.
pub fn line_ns_per_byte(socket: &impl AsFd, flight_bytes: usize) -> Option<f32> {
    let info = tcp_info(socket).ok()?;
    let is_known = info.tcpi_rtt > 0 && (1..u32::MAX).contains(&info.tcpi_min_rtt);
    let window = info.tcpi_snd_cwnd as f32 * info.tcpi_snd_mss as f32;
    is_known.then(|| ns_per_byte(info.tcpi_rtt, info.tcpi_min_rtt, window, flight_bytes))
}

fn ns_per_byte(rtt_us: u32, min_rtt_us: u32, window: f32, flight_bytes: usize) -> f32 {
    let flight = flight_bytes.max(1) as f32;
    let queued = rtt_us.saturating_sub(min_rtt_us) as f32 * NS_PER_US / flight;
    let waits = if flight > window { rtt_us as f32 * NS_PER_US / window.max(1.0) } else { 0.0 };
    queued.max(waits)
}

fn tcp_info(socket: &impl AsFd) -> io::Result<libc::tcp_info> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the system writes at most `size` bytes, which `info` has.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    if (size as usize) < offset_of!(libc::tcp_info, tcpi_min_rtt) + size_of::<u32>() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: it is numbers alone, zeroed before the system has written them.
    Ok(unsafe { info.assume_init() })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_connection_that_has_sent_has_a_speed_and_a_unix_socket_has_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..10 {
            client.write_all(&[7; 1000]).unwrap();
            server.read_exact(&mut [0; 1000]).unwrap();
            server.write_all(&[7]).unwrap();
            client.read_exact(&mut [0; 1]).unwrap();
        }
        let info = tcp_info(&client).unwrap();
        assert!((1..=info.tcpi_rtt).contains(&info.tcpi_min_rtt), "{} of {}", info.tcpi_min_rtt, info.tcpi_rtt);
        assert!(line_ns_per_byte(&client, 1000).is_some());
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(line_ns_per_byte(&one, 1000), None);
    }

    #[test]
    fn bytes_cost_what_they_queue_for_and_the_windows_that_they_need() {
        // A line of 100 Mb/s that 64 connections fill: 13 ms of queue for 10,000 bytes of each.
        assert_eq!(ns_per_byte(13_010, 10, 200_000.0, 10_000), 1300.0);
        // Far away and idle: one window is as good as half of one.
        assert_eq!(ns_per_byte(50_000, 50_000, 14_480.0, 10_000), 0.0);
        assert_eq!(ns_per_byte(50_000, 50_000, 14_480.0, 100_000).round(), 3453.0);
    }
}
