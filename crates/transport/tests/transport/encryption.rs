//! TLS between nodes: who is let in, who is refused and hears why, and what a stranger can do in the midst of a handshake.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use shoal_tls::rustls::crypto::aws_lc_rs;
use shoal_tls::rustls::pki_types::pem::PemObject;
use shoal_tls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use shoal_tls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use shoal_tls::{Identity, NodeTls};
use shoal_transport::{CLIENT, CallError, Client, Hello, TransportOptions, Transporter};
use shoal_types::NodeId;

use crate::common::{Authority, BYTES, DEADLINE, ECHO, Event, HOLD, Node, answer, listener, options, peer, until};
use crate::raw;

const DAY: Duration = Duration::from_secs(86_400);

fn encrypted(options: TransportOptions, tls: Option<Arc<NodeTls>>) -> TransportOptions {
    let peers = options.peers.into_iter().map(|mut peer| {
        peer.requires_tls = true;
        peer
    });
    let peers = peers.collect();
    TransportOptions { peers, transporter: Transporter::Tcp, tls, requires_tls: true, ..options }
}

/// Bytes as they pass between two ports.
struct Tap {
    address: String,
    seen: Arc<Mutex<Vec<u8>>>,
    /// Changes a byte of what passes next.
    spoil: Arc<AtomicBool>,
}

impl Tap {
    /// Listens, and leads every connection to `to`.
    fn before(to: String) -> Tap {
        let (socket, address) = listener();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let spoil = Arc::new(AtomicBool::new(false));
        let tap = Tap { address, seen: Arc::clone(&seen), spoil: Arc::clone(&spoil) };
        std::thread::spawn(move || {
            for client in socket.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&to) else { return };
                let other = (client.try_clone().unwrap(), server.try_clone().unwrap());
                for (mut from, mut to) in [(client, server), (other.1, other.0)] {
                    let (seen, spoil) = (Arc::clone(&seen), Arc::clone(&spoil));
                    std::thread::spawn(move || {
                        let mut bytes = [0; 16 << 10];
                        while let Ok(count @ 1..) = from.read(&mut bytes) {
                            seen.lock().unwrap().extend_from_slice(&bytes[..count]);
                            if spoil.swap(false, Ordering::Relaxed) {
                                bytes[count - 1] ^= 1;
                            }
                            if to.write_all(&bytes[..count]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        tap
    }

    fn has_seen(&self, text: &[u8]) -> bool {
        self.seen.lock().unwrap().windows(text.len()).any(|window| window == text)
    }
}

/// Node 2 dials node 1 through a tap. Both have certificates, or none.
fn pair_through_tap(is_encrypted: bool) -> (Node, Node, Tap) {
    let ((first, first_address), (second, second_address)) = (listener(), listener());
    let tap = Tap::before(first_address);
    let mut one = options(1, 100, vec![peer(2, &second_address, false)]);
    let mut two = options(2, 200, vec![peer(1, &tap.address, true)]);
    (one.transporter, two.transporter) = (Transporter::Tcp, Transporter::Tcp);
    (one.tls, two.tls) = (None, None);
    if is_encrypted {
        let authority = Authority::shared();
        (one, two) = (encrypted(one, Some(authority.tls(1))), encrypted(two, Some(authority.tls(2))));
    }
    let (one, two) = (Node::start(one, Some(first)), Node::start(two, Some(second)));
    one.recorder.expect(&[Event::Up(2, 200)]);
    two.recorder.expect(&[Event::Up(1, 100)]);
    (one, two, tap)
}

#[test]
fn nothing_can_be_read_on_the_way() {
    for is_encrypted in [false, true] {
        let (one, two, tap) = pair_through_tap(is_encrypted);
        let secret = b"the balance of Ada is 4711";
        assert_eq!(answer(two.call(1, ECHO, secret)).unwrap().payload, secret);
        assert_eq!(answer(one.call(2, ECHO, secret)).unwrap().payload, secret);
        assert_eq!(tap.has_seen(secret), !is_encrypted);
        assert_eq!(tap.has_seen(b"SHOL"), !is_encrypted);
        assert_eq!(one.transport.peer_state(NodeId(2)).unwrap().is_encrypted, is_encrypted);
    }
}

#[test]
fn what_is_changed_on_the_way_ends_the_link_and_is_not_handled() {
    let (one, two, tap) = pair_through_tap(true);
    tap.spoil.store(true, Ordering::Relaxed);
    // Neither side can tell what has become of it; both begin anew.
    assert_eq!(answer(two.call(1, HOLD, b"lost")), Err(CallError::LinkLost));
    until("the link to be back", || answer(two.call(1, ECHO, b"again")).is_ok());
    // Where what was spoilt was read; the other side has seen an end.
    let trouble = |node: &Node, other| node.transport.peer_state(NodeId(other)).unwrap().links_lost;
    assert_eq!((trouble(&one, 2), trouble(&two, 1)), (1, 1));
}

#[test]
fn large_and_many_frames_pass_both_ways_at_once() {
    let (one, two, _tap) = pair_through_tap(true);
    let calls = |node: &Node, other: u32| {
        let large = (0..6_u32).map(|size| node.call(other, BYTES, &(size * 3_000_000 + 1).to_le_bytes()));
        let small = (0..2000_u32).map(|number| node.call(other, ECHO, &number.to_le_bytes()));
        (large.collect::<Vec<_>>(), small.collect::<Vec<_>>())
    };
    let (from_one, from_two) = (calls(&one, 2), calls(&two, 1));
    for (large, small) in [from_one, from_two] {
        for (size, call) in large.into_iter().enumerate() {
            assert_eq!(answer(call).unwrap().payload, vec![7; size * 3_000_000 + 1]);
        }
        for (number, call) in small.into_iter().enumerate() {
            assert_eq!(answer(call).unwrap().payload, (number as u32).to_le_bytes());
        }
    }
}

/// What happens when node 2 dials node 1, which requires certificates: what each is told.
fn meet(tls: Option<Arc<NodeTls>>, change: impl FnOnce(&mut TransportOptions)) -> (Event, Event) {
    let ((first, first_address), (second, second_address)) = (listener(), listener());
    let one = options(1, 100, vec![peer(2, &second_address, false)]);
    let one = Node::start(encrypted(one, Some(Authority::shared().tls(1))), Some(first));
    let mut two = encrypted(options(2, 200, vec![peer(1, &first_address, true)]), tls);
    change(&mut two);
    let two = Node::start(two, Some(second));
    let told = (one.recorder.next(), two.recorder.next());
    assert!(!one.transport.is_up(NodeId(2)) && !two.transport.is_up(NodeId(1)));
    told
}

fn forget_that_tls_is_required(options: &mut TransportOptions) {
    options.requires_tls = false;
    options.peers[0].requires_tls = false;
}

#[test]
fn a_node_of_another_cluster_is_refused_by_name() {
    let foreign = Authority::new().tls(2);
    let (Event::Untrusted(Some(Identity::Node(2)), here), Event::Refused(1, there)) = meet(Some(foreign), |_| ())
    else {
        panic!("not refused")
    };
    assert!(here.contains("authority") && here.contains("127.0.0.1"), "{here}");
    assert!(there.contains("the certificate of node 1 is not signed by"), "{there}");
}

#[test]
fn a_foreign_certificate_does_not_pass_with_the_right_authority_beside_it() {
    // Its holder knows this cluster's authority, which is no secret.
    let (node, address) = impatient();
    let elsewhere = Authority::new();
    let foreign = elsewhere.tls(2);
    let file = foreign.certificate_file();
    let chain = CertificateDer::pem_file_iter(file).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(file.with_file_name("node-2-key.pem")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(Authority::shared().path().join("ca.pem")).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"shoal/node-2".to_vec()];
    let name = ServerName::try_from("node.shoal.internal").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stranger = StreamOwned::new(session, TcpStream::connect(&address).unwrap());
    stranger.sock.set_read_timeout(Some(DEADLINE)).unwrap();
    stranger.write_all(&raw::frame(7, &raw::hello(&raw::second_node()))).unwrap();
    let error = stranger.read(&mut [0; 100]).unwrap_err();
    // An authority of the same name has signed it, with another key.
    assert!(error.to_string().contains("DecryptError") || error.to_string().contains("UnknownCA"), "{error}");
    let Event::Untrusted(Some(Identity::Node(2)), here) = node.recorder.next() else { panic!("not told") };
    assert!(here.contains("is not signed by the certificate authority of this cluster"), "{here}");
}

#[test]
fn an_expired_certificate_is_refused_by_name() {
    let tls = Authority::shared().issue(Identity::Node(2), Duration::from_secs(1));
    let until_then = std::time::Instant::now() + Duration::from_millis(2100);
    until("the certificate to expire", || std::time::Instant::now() > until_then);
    let (Event::Untrusted(Some(Identity::Node(2)), here), Event::Refused(1, there)) = meet(Some(tls), |_| ())
    else {
        panic!("not refused")
    };
    assert!(here.contains("has expired"), "{here}");
    assert!(there.contains("the certificate of this node has expired"), "{there}");
}

#[test]
fn the_certificate_of_another_node_is_refused_whichever_side_shows_it() {
    let (Event::Refused(2, here), Event::Refused(1, there)) = meet(Some(Authority::shared().tls(3)), |_| ())
    else {
        panic!("not refused")
    };
    assert_eq!(here, there);
    assert!(here.contains("it says that it is node 2, and its certificate is for node 3"), "{here}");
    let client = Authority::shared().issue(Identity::Client, DAY);
    let (Event::Refused(2, here), _) = meet(Some(client), |options| options.me.roles = 2) else {
        panic!("not refused")
    };
    assert!(here.contains("its certificate is for a client"), "{here}");
    // The node that was dialled.
    let ((first, first_address), (second, second_address)) = (listener(), listener());
    let one = options(1, 100, vec![peer(2, &second_address, false)]);
    let _one = Node::start(encrypted(one, Some(Authority::shared().tls(3))), Some(first));
    let two = options(2, 200, vec![peer(1, &first_address, true)]);
    let two = Node::start(encrypted(two, Some(Authority::shared().tls(2))), Some(second));
    let Event::Refused(1, there) = two.recorder.next() else { panic!("not refused") };
    assert!(there.contains("it says that it is node 1, and its certificate is for node 3"), "{there}");
}

#[test]
fn a_node_without_a_certificate_hears_what_to_do() {
    let (Event::Refused(2, here), Event::Refused(1, there)) = meet(None, forget_that_tls_is_required) else {
        panic!("not refused")
    };
    assert_eq!(here, there);
    assert!(here.contains("RequireTls") && here.contains("shoal config certificates"), "{here}");
    // It knows by itself from its own configuration.
    let ((_first, first_address), (second, _)) = (listener(), listener());
    let two = encrypted(options(2, 200, vec![peer(1, &first_address, true)]), None);
    let two = Node::start(two, Some(second));
    let Event::Refused(1, there) = two.recorder.next() else { panic!("not refused") };
    assert!(there.contains("node 2 has no certificate"), "{there}");
}

#[test]
fn where_tls_is_not_required_nodes_without_a_certificate_are_met_in_clear() {
    for has_certificate in [[true, false], [false, true]] {
        let ((first, first_address), (second, second_address)) = (listener(), listener());
        let tls = |node: u32| has_certificate[node as usize - 1].then(|| Authority::shared().tls(node));
        let plain = |node: u32, options: TransportOptions| TransportOptions {
            tls: tls(node),
            transporter: Transporter::Tcp,
            ..options
        };
        let one = plain(1, options(1, 100, vec![peer(2, &second_address, false)]));
        let two = plain(2, options(2, 200, vec![peer(1, &first_address, true)]));
        let (one, two) = (Node::start(one, Some(first)), Node::start(two, Some(second)));
        one.recorder.expect(&[Event::Up(2, 200)]);
        two.recorder.expect(&[Event::Up(1, 100)]);
        assert!(!two.transport.peer_state(NodeId(1)).unwrap().is_encrypted);
    }
}

/// A node that requires certificates, and waits for strangers for a moment only.
fn impatient() -> (Node, String) {
    let (socket, address) = listener();
    let handshake_timeout = Duration::from_millis(300);
    let options = encrypted(options(1, 100, vec![]), Some(Authority::shared().tls(1)));
    (Node::start(TransportOptions { handshake_timeout, ..options }, Some(socket)), address)
}

/// What a client of the cluster begins with.
fn client_hello() -> Vec<u8> {
    let mut session = Authority::shared().tls(2).dial().unwrap();
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    bytes
}

#[test]
fn half_handshakes_silence_and_garbage_end_in_time_and_harm_nobody() {
    let (node, address) = impatient();
    let hello = client_hello();
    let mut claims_much = hello[..5].to_vec();
    claims_much[3..5].copy_from_slice(&u16::MAX.to_be_bytes());
    let cases: [Vec<u8>; 9] = [
        Vec::new(),
        hello[..1].to_vec(),
        hello[..6].to_vec(),
        hello[..hello.len() - 1].to_vec(),
        hello.clone(),
        claims_much,
        [&hello[..6], &[0xa5; 3000]].concat(),
        // Another record behind a whole hello.
        [&hello[..], &[23, 3, 3, 0, 20], &[7; 20]].concat(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    let strangers: Vec<TcpStream> = cases
        .iter()
        .map(|bytes| {
            let mut stranger = TcpStream::connect(&address).unwrap();
            stranger.set_read_timeout(Some(DEADLINE)).unwrap();
            stranger.write_all(bytes).unwrap();
            stranger
        })
        .collect();
    for mut stranger in strangers {
        // It is closed, whatever was answered before.
        let mut answer = Vec::new();
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.len() < 16 << 10, "{} bytes", answer.len());
    }
    assert_eq!(node.recorder.events_so_far(), [], "noise is nobody's certificate");
    assert!(client(&address, Some(&Authority::shared().issue(Identity::Client, DAY))).is_ok());
}

/// More than the node hears at a time, and more bytes than it takes of each.
#[test]
fn a_crowd_of_strangers_is_turned_away_and_nodes_get_through() {
    let (node, address) = impatient();
    let hello = client_hello();
    let crowd: Vec<TcpStream> = (0..400)
        .map(|number| {
            let mut stranger = TcpStream::connect(&address).unwrap();
            let _ = stranger.write_all(&hello[..hello.len() - number % 2]);
            stranger
        })
        .collect();
    let tls = Authority::shared().issue(Identity::Client, DAY);
    until("a client to get through", || client(&address, Some(&tls)).is_ok());
    drop(crowd);
    let is_told = |event: &Event| matches!(event, Event::Untrusted(..) | Event::Refused(..));
    assert!(!node.recorder.events_so_far().iter().any(is_told));
}

fn client(address: &str, tls: Option<&NodeTls>) -> Result<Client, shoal_transport::ClientError> {
    let me = Hello { node: CLIENT, ..Hello::default() };
    Client::connect_with(address, &me, DEADLINE, tls)
}

#[test]
fn clients_need_a_certificate_of_the_cluster_and_know_the_node_by_its_own() {
    let (node, address) = impatient();
    let ours = Authority::shared().issue(Identity::Client, DAY);
    let mut allowed = client(&address, Some(&ours)).unwrap();
    assert_eq!(allowed.call(ECHO, b"tool", DEADLINE).unwrap().payload, b"tool");
    assert_eq!(allowed.node().node, NodeId(1));
    // What the operator of a node has at hand does as well.
    assert!(client(&address, Some(&Authority::shared().tls(2))).is_ok());
    let refused = client(&address, None).unwrap_err().to_string();
    assert!(refused.contains("--ndb-tls-search-path"), "{refused}");
    let untrusted =
        "the certificate of this node is not signed by the certificate authority of the other side (it came from 127.0.0.1)"
            .to_string();
    let foreign = Authority::new().issue(Identity::Client, DAY);
    let refused = client(&address, Some(&foreign)).unwrap_err().to_string();
    assert!(refused.contains("is not signed by"), "{refused}");
    // Clients that come and go are told of as well.
    while node.recorder.next() != Event::Untrusted(Some(Identity::Client), untrusted.clone()) {}
    // A port without TLS.
    let (socket, address) = listener();
    let plain = TransportOptions { tls: None, ..options(1, 100, vec![]) };
    let _plain = Node::start(plain, Some(socket));
    let refused = client(&address, Some(&ours)).unwrap_err().to_string();
    assert!(refused.contains("no TLS"), "{refused}");
}

/// Replaces a certificate by one that expires soon; when. It is read before that, however slow the machine is.
fn take_one_that_ends_soon(authority: &Authority, directory: &Path, tls: &NodeTls) -> SystemTime {
    let mut valid_for = Duration::from_secs(1);
    loop {
        authority.issue_into(directory, Identity::Node(2), valid_for);
        // Certificates name seconds.
        let end = SystemTime::now() + valid_for + Duration::from_secs(1);
        if tls.warning().is_none_or(|warning| !warning.contains("goes on")) {
            return end;
        }
        valid_for *= 2;
    }
}

#[test]
fn a_certificate_that_is_replaced_is_taken_with_the_next_link() {
    let authority = Authority::shared();
    let tls = authority.issue(Identity::Node(2), DAY);
    let directory = tls.certificate_file().parent().unwrap().to_owned();
    let ((first, first_address), (second, second_address)) = (listener(), listener());
    let one = options(1, 100, vec![peer(2, &second_address, false)]);
    let one = Node::start(encrypted(one, Some(authority.tls(1))), Some(first));
    let two = encrypted(options(2, 200, vec![peer(1, &first_address, true)]), Some(Arc::clone(&tls)));
    let two = Node::start(two, Some(second));
    one.recorder.expect(&[Event::Up(2, 200)]);
    let end = take_one_that_ends_soon(authority, &directory, &tls);
    until("the certificate to expire", || SystemTime::now() > end);
    // The link that there is goes on.
    assert!(answer(two.call(1, ECHO, b"still")).is_ok());
    one.transport.close_peer(NodeId(2), "for the test");
    one.recorder.expect(&[Event::Down(2, 200)]);
    let Event::Untrusted(Some(Identity::Node(2)), _) = one.recorder.next() else { panic!("not refused") };
    authority.issue_into(&directory, Identity::Node(2), DAY);
    until("the link to be back on both sides", || {
        one.transport.is_up(NodeId(2)) && two.transport.is_up(NodeId(1))
    });
    assert!(answer(two.call(1, ECHO, b"again")).is_ok());
}

/// A peer in clear, of a node that would rather have TLS: the frames' own checks hold as they did.
#[test]
fn a_link_in_clear_is_refused_after_the_hello_where_tls_is_required() {
    let (node, address) = impatient();
    let mut socket = TcpStream::connect(&address).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.write_all(&raw::frame(7, &raw::hello(&raw::second_node()))).unwrap();
    let (class, reason) = raw::read(&mut socket);
    assert_eq!(class, 9);
    assert!(String::from_utf8_lossy(&reason).contains("RequireTls"));
    let Event::Refused(2, _) = node.recorder.next() else { panic!("not told") };
}
