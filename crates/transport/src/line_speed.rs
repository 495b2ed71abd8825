//! How fast the system takes the line of a TCP connection to be.
//!
//! The window that the congestion control allows, over the time that its acknowledgement takes (tcp(7), `TCP_INFO`): what a sender may
//! have under way in a round trip. Where many connections fill a line, the time grows by their queue, so that each sees its share.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd};

const US_PER_S: u64 = 1_000_000;

/// Bytes a second; `None`: not a TCP socket, or not known yet. A call of the system.
pub fn line_bytes_per_s(socket: &impl AsFd) -> Option<u64> {
    let info = tcp_info(socket).ok()?;
    if info.tcpi_rtt == 0 {
        return None;
    }
    let window = u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss);
    Some(window.saturating_mul(US_PER_S) / u64::from(info.tcpi_rtt))
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
    if (size as usize) < offset_of!(libc::tcp_info, tcpi_advmss) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: it is numbers alone, zeroed where the system has written none.
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
        let speed = line_bytes_per_s(&client).unwrap();
        assert!(speed > 1_000_000, "{speed}");
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(line_bytes_per_s(&one), None);
    }
}
