//! One client's connection, from the accepted socket to the end.
//!
//! The loop: wait for a whole packet, run its command, send the reply with one write. While a command waits, the
//! connection watches for a kill, for the end of the server and for the client going away; the command is then dropped
//! where it stands and the session closed. An idle connection holds no buffers.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use shoal_sql::frontend::{Entrance, Frontend, FrontendSession, KillSignal, LoginOutcome, RefusedLogin};
use shoal_transport::look_in_passing;
use shoal_types::ErrorCode;

use crate::auth::LoginError;
use crate::commands::{self, CommandContext, Scratch};
use crate::constants::{Capabilities, command};
use crate::handshake::Challenge;
use crate::login::{Identity, LoginServices, LoginWire, change_user, log_in};
use crate::packet::{PacketError, PacketReader, PacketWriter};
use crate::refusal::Refusal;
use crate::result::{NET_TIMEOUT_S, flush};
use crate::stream::Stream;
use crate::worker::{Registration, Stopping, Worker, current_waker};

/// The session counts the buffer of a packet that is larger.
const LARGE_PACKET_BYTES: usize = 64 << 10;

/// A connection that was let in; counted against max_connections, until it is dropped, unless it is an administrator's.
pub struct Admission<F: Frontend> {
    frontend: Arc<F>,
    entrance: Entrance,
}

impl<F: Frontend> Admission<F> {
    pub fn new(frontend: &Arc<F>, is_administrative: bool) -> Result<Admission<F>, Refusal> {
        let entrance = if is_administrative { Entrance::Administrative } else { frontend.admit()? };
        Ok(Admission { frontend: Arc::clone(frontend), entrance })
    }
}

impl<F: Frontend> Drop for Admission<F> {
    fn drop(&mut self) {
        if self.entrance != Entrance::Administrative {
            self.frontend.release();
        }
    }
}

/// Where a client comes from.
#[derive(Clone, Debug)]
pub struct Peer {
    pub host: String,
    /// `None`: a Unix socket.
    pub address: Option<IpAddr>,
    /// A Unix socket or a loopback address.
    pub is_local: bool,
}

/// Why a wait ended before what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interruption {
    Killed,
    ClientGone,
    /// The deadline of the moment passed.
    Expired,
    Stopping,
}

/// Why a connection ends, if not by COM_QUIT.
enum End {
    /// The client is told why.
    Refused(Refusal),
    /// There is nobody to tell, or nothing to say.
    Silent,
}

/// What a login without an error, or with this one, says of the client's host; `None`: nothing.
fn outcome_for_host(error: Option<&LoginError>) -> Option<LoginOutcome> {
    const UNINTELLIGIBLE: [ErrorCode; 4] = [
        ErrorCode::Handshake,
        ErrorCode::MalformedPacket,
        ErrorCode::NetPacketsOutOfOrder,
        ErrorCode::NetPacketTooLarge,
    ];
    match error {
        None => Some(LoginOutcome::LetIn),
        Some(LoginError::Lost) => Some(LoginOutcome::BrokenOff),
        Some(LoginError::Refused(refusal)) => match ErrorCode::from_errno(refusal.errno)? {
            ErrorCode::AccessDenied => Some(LoginOutcome::WrongPassword),
            code => UNINTELLIGIBLE.contains(&code).then_some(LoginOutcome::BrokenOff),
        },
    }
}

struct Connection<F: Frontend> {
    services: LoginServices<F>,
    stream: Stream,
    registration: Registration,
    input: PacketReader,
    output: PacketWriter,
    scratch: Scratch,
    identity: Identity,
    _admission: Admission<F>,
}

/// Serves one client until it is gone.
pub async fn serve<F: Frontend>(
    services: LoginServices<F>,
    stream: Stream,
    peer: Peer,
    worker: Rc<Worker>,
    admission: Admission<F>,
) {
    let identity = Identity {
        connection_id: services.frontend.next_connection_id(),
        host: peer.host,
        address: peer.address,
        is_local: peer.is_local,
        capabilities: Capabilities::default(),
        challenge: Challenge::default(),
        compression: None,
        entrance: admission.entrance,
        user: String::new(),
    };
    let mut connection = Connection {
        services,
        stream,
        registration: worker.register(current_waker().await),
        input: PacketReader::default(),
        output: PacketWriter::default(),
        scratch: Scratch::default(),
        identity,
        _admission: admission,
    };
    // Large and short-lived: it must not count towards the size of a connection's task.
    let Some(mut session) = Box::pin(connection.log_in()).await else { return };
    let end = connection.run_commands(&mut session).await;
    // The session gives up its locks before the client learns of the end, and the connection a packet that was too large.
    connection.input = PacketReader::default();
    session.close().await;
    if let Err(End::Refused(refusal)) = end {
        connection.say(&refusal).await;
    }
}

impl<F: Frontend> Connection<F> {
    async fn log_in(&mut self) -> Option<F::Session> {
        let worker = Rc::clone(self.registration.worker());
        worker.lend_input(&mut self.input);
        worker.lend_output(&mut self.output);
        self.registration.set_deadline(self.services.frontend.connect_timeout_s());
        let wire =
            LoginWire { stream: &self.stream, input: &mut self.input, output: &mut self.output, worker: &worker };
        let outcome = {
            let login = pin!(log_in(&self.services, wire, &mut self.identity));
            interruptible(&self.registration, None, None, Stopping::Draining, login).await
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Interruption::Stopping) => Err(LoginError::Refused(Refusal::shutting_down())),
            Err(_) => Err(LoginError::Lost),
        };
        if !self.identity.is_local
            && let Some(outcome) = outcome_for_host(outcome.as_ref().err())
        {
            self.services.frontend.note_login(&self.identity.host, outcome);
        }
        match outcome {
            Ok(session) => Some(session),
            Err(error) => {
                self.services.frontend.count_aborted_connect();
                if let LoginError::Refused(refusal) = error {
                    self.note_refused(&refusal);
                    self.say(&refusal).await;
                }
                None
            }
        }
    }

    fn note_refused(&self, refusal: &Refusal) {
        self.services.frontend.note_refused_login(RefusedLogin {
            connection_id: self.identity.connection_id,
            user: &self.identity.user,
            host: &self.identity.host,
            tls: self.stream.tls().map(|tls| tls.version),
            errno: refusal.errno,
            message: &refusal.message,
        });
    }

    async fn run_commands(&mut self, session: &mut F::Session) -> Result<(), End> {
        let signal = session.kill_signal();
        signal.register(self.registration.waker());
        self.send(&signal).await?;
        if let Some(method) = self.identity.compression {
            // What answered the login went out as it is.
            let codecs = Rc::clone(self.registration.worker().codecs());
            self.stream.compress(method, codecs, self.identity.is_local);
            self.input.takes_any_sequence = true;
        }
        loop {
            self.send(&signal).await?;
            let packet = self.next_command(session, &signal).await?;
            self.registration.clear_deadline();
            self.registration.let_lock_holders_pass().await;
            look_in_passing();
            let (code, body) = match self.input.payload(packet.clone()).first() {
                Some(code) => (*code, packet.start + 1..packet.end),
                // A command without a command.
                None => (0, packet),
            };
            // As MySQL's do, answers go on from the numbers of the compressed packets, which are more than the packets of a large command.
            self.output.sequence = self.stream.compressed_sequence().unwrap_or(self.input.sequence);
            match code {
                command::QUIT => {
                    session.note_command("Quit");
                    return Ok(());
                }
                command::CHANGE_USER => self.change_user(body, session, &signal).await?,
                _ => self.run_command(code, body, session, &signal).await?,
            }
            self.registration.set_holds_locks(session.may_hold_locks());
        }
    }

    /// The next packet of the client: its payload's place in the input. Between commands the connection may expire.
    async fn next_command(&mut self, session: &mut F::Session, signal: &KillSignal) -> Result<Range<usize>, End> {
        let limit = session.max_allowed_packet();
        let Connection { input, output, registration, stream, .. } = self;
        let worker = registration.worker();
        input.sequence = 0;
        // Clients take an error that comes unasked when it bears the number before the one they expect.
        output.sequence = 0;
        registration.set_deadline(session.wait_timeout_s());
        stream.expect_command(limit);
        poll_fn(|context| {
            loop {
                if worker.stopping() != Stopping::No {
                    return Poll::Ready(Err(End::Refused(Refusal::shutting_down())));
                }
                match input.next(limit) {
                    Ok(Some(range)) => {
                        if !output.has_buffer() {
                            worker.lend_output(output);
                        }
                        return Poll::Ready(Ok(range));
                    }
                    Ok(None) => {}
                    Err(error) => {
                        output.sequence = input.sequence.wrapping_add(1);
                        return Poll::Ready(Err(End::Refused(error.into())));
                    }
                }
                if !input.has_buffer() {
                    worker.lend_input(input);
                }
                let bytes = input.bytes_for_room() + stream.held_bytes();
                if bytes > LARGE_PACKET_BYTES {
                    if let Err(error) = session.hold_packet(bytes) {
                        output.sequence = input.sequence.wrapping_add(1);
                        return Poll::Ready(Err(End::Refused(error.into())));
                    }
                    input.room();
                    // The buffer has been copied, and the old one is gone: that is less.
                    let kept = input.bytes_for_room() + stream.held_bytes();
                    let _ = session.hold_packet(if kept > LARGE_PACKET_BYTES { kept } else { 0 });
                }
                match stream.poll_read(context, input.room()) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(End::Silent)),
                    Poll::Ready(Err(error)) => {
                        let packet = error.get_ref().and_then(|inner| inner.downcast_ref::<PacketError>());
                        return Poll::Ready(Err(packet.map_or(End::Silent, |&error| End::Refused(error.into()))));
                    }
                    Poll::Ready(Ok(count)) => {
                        worker.count_received(count);
                        input.received(count);
                    }
                    Poll::Pending => break,
                }
            }
            if input.is_empty() {
                if input.is_larger_than(LARGE_PACKET_BYTES) {
                    // It can only be less.
                    let _ = session.hold_packet(0);
                }
                worker.take_back_input(input);
            }
            if output.has_buffer() {
                worker.take_back_output(output);
            }
            if signal.is_killed() {
                return Poll::Ready(Err(End::Silent));
            }
            if registration.is_expired() {
                return Poll::Ready(Err(End::Refused(Refusal::inactive())));
            }
            Poll::Pending
        })
        .await
    }

    async fn run_command(
        &mut self,
        code: u8,
        body: Range<usize>,
        session: &mut F::Session,
        signal: &KillSignal,
    ) -> Result<(), End> {
        let Connection { input, output, scratch, registration, stream, identity, .. } = self;
        let mut context =
            CommandContext { stream, output, scratch, registration, capabilities: identity.capabilities };
        let outcome = {
            let running = pin!(commands::run(code, input.payload(body), session, &mut context));
            interruptible(registration, Some(signal), Some(stream), Stopping::Now, running).await
        };
        match outcome {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(mut rest))) => {
                rest.hand_over(input);
                Ok(())
            }
            // The session has said why, as far as it could; the reply holds it.
            Ok(Err(_)) => {
                let _ = self.send(signal).await;
                Err(End::Silent)
            }
            Err(interruption) => Err(interruption.into()),
        }
    }

    async fn change_user(
        &mut self,
        body: Range<usize>,
        session: &mut F::Session,
        signal: &KillSignal,
    ) -> Result<(), End> {
        self.scratch.forget_statements();
        let payload = self.input.payload(body).to_vec();
        self.registration.set_deadline(self.services.frontend.connect_timeout_s());
        let worker = Rc::clone(self.registration.worker());
        let wire =
            LoginWire { stream: &self.stream, input: &mut self.input, output: &mut self.output, worker: &worker };
        let outcome = {
            let mut change = Box::pin(change_user(&self.services, wire, &mut self.identity, &payload, session));
            interruptible(&self.registration, Some(signal), None, Stopping::Draining, change.as_mut()).await
        };
        match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(LoginError::Refused(refusal))) => {
                self.note_refused(&refusal);
                Err(End::Refused(refusal))
            }
            Ok(Err(LoginError::Lost)) | Err(Interruption::Expired) => Err(End::Silent),
            Err(interruption) => Err(interruption.into()),
        }
    }

    /// Sends the reply. A client that does not take it within the network timeout is given up.
    async fn send(&mut self, signal: &KillSignal) -> Result<(), End> {
        let Connection { output, registration, stream, .. } = self;
        if output.unsent().is_empty() {
            return Ok(());
        }
        registration.set_deadline(NET_TIMEOUT_S);
        let sending = pin!(flush(stream, output, registration.worker()));
        match interruptible(registration, Some(signal), None, Stopping::Now, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Silent),
        }
    }

    /// The last words of a connection, if the client will have them at once. What was not sent before is given up.
    async fn say(&mut self, refusal: &Refusal) {
        refusal.write(self.identity.capabilities, &mut self.output);
        self.registration.clear_deadline();
        self.registration.set_deadline(0);
        let sending = pin!(flush(&self.stream, &mut self.output, self.registration.worker()));
        let _ = interruptible(&self.registration, None, None, Stopping::Now, sending).await;
    }
}

impl From<Interruption> for End {
    fn from(interruption: Interruption) -> End {
        match interruption {
            Interruption::Killed => End::Refused(Refusal::interrupted()),
            Interruption::Stopping => End::Refused(Refusal::shutting_down()),
            Interruption::ClientGone | Interruption::Expired => End::Silent,
        }
    }
}

/// Runs `future` unless the connection is killed, expires, or the server has come to `cut_off` before. With `watched`
/// the client's going away ends it too.
///
/// It takes a future that is pinned already: one that it took by value would be in the connection's task twice.
fn interruptible<'a, T>(
    registration: &'a Registration,
    signal: Option<&'a KillSignal>,
    watched: Option<&'a Stream>,
    cut_off: Stopping,
    mut future: Pin<&'a mut impl Future<Output = T>>,
) -> impl Future<Output = Result<T, Interruption>> {
    poll_fn(move |context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        if signal.is_some_and(KillSignal::is_killed) {
            return Poll::Ready(Err(Interruption::Killed));
        }
        if registration.is_expired() {
            return Poll::Ready(Err(Interruption::Expired));
        }
        if registration.worker().stopping() >= cut_off {
            return Poll::Ready(Err(Interruption::Stopping));
        }
        match watched.map(|stream| stream.poll_closed(context)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(Interruption::ClientGone)),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_break_off_speak_against_their_host_and_others_do_not() {
        let refused = |refusal: Refusal| outcome_for_host(Some(&LoginError::Refused(refusal)));
        assert_eq!(outcome_for_host(None), Some(LoginOutcome::LetIn));
        assert_eq!(outcome_for_host(Some(&LoginError::Lost)), Some(LoginOutcome::BrokenOff));
        assert_eq!(refused(Refusal::bad_handshake()), Some(LoginOutcome::BrokenOff));
        assert_eq!(refused(Refusal::access_denied("a", "h", true)), Some(LoginOutcome::WrongPassword));
        for refusal in [Refusal::shutting_down(), Refusal::account_locked("a", "h"), Refusal::old_client()] {
            assert_eq!(refused(refusal), None);
        }
    }
}
