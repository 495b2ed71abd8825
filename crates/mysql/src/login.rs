//! From an accepted socket to a session: greeting, answer, proof of the password, OK.

use std::net::IpAddr;
use std::sync::Arc;

use shoal_sql::frontend::{Account, Compressions, ConnectInfo, Entrance, Frontend, FrontendSession, TlsSession};
use shoal_types::Collation;

use crate::auth::{Authenticator, Exchange, LoginError, fresh_challenge};
use crate::compression::{Algorithm, Method};
use crate::constants::Capabilities;
use crate::handshake::{Challenge, HandshakeResponse, Introduction, is_tls_request, write_greeting};
use crate::packet::{PacketReader, PacketWriter};
use crate::proxy::{self, ProxyNetworks};
use crate::refusal::Refusal;
use crate::result::write_ok;
use crate::stream::Stream;
use crate::worker::Worker;

/// What all connections of one server share.
pub struct LoginServices<F> {
    pub frontend: Arc<F>,
    pub authenticator: Arc<Authenticator>,
    /// `None`: TLS is not offered.
    pub tls: Option<Arc<shoal_tls::Acceptor>>,
    /// Whose word is taken for whom they have connected.
    pub proxies: Arc<ProxyNetworks>,
}

impl<F> Clone for LoginServices<F> {
    fn clone(&self) -> LoginServices<F> {
        LoginServices {
            frontend: Arc::clone(&self.frontend),
            authenticator: Arc::clone(&self.authenticator),
            tls: self.tls.clone(),
            proxies: Arc::clone(&self.proxies),
        }
    }
}

/// What stays the same for the whole connection.
#[derive(Clone, Debug)]
pub struct Identity {
    pub connection_id: u32,
    pub host: String,
    /// Where the connection comes from; `None`: a Unix socket.
    pub address: Option<IpAddr>,
    /// The client is on this machine.
    pub is_local: bool,
    pub capabilities: Capabilities,
    pub challenge: Challenge,
    /// What is compressed after the login.
    pub compression: Option<Method>,
    pub entrance: Entrance,
    /// As the client gave it.
    pub user: String,
}

/// The wire, lent for the time of a login.
pub struct LoginWire<'a> {
    pub stream: &'a Stream,
    pub input: &'a mut PacketReader,
    pub output: &'a mut PacketWriter,
    pub worker: &'a Worker,
}

/// Greets a client and lets it in. The final OK waits in the output. `identity` learns the client's capabilities, which
/// also decide how a refusal is to be written.
pub async fn log_in<F: Frontend>(
    services: &LoginServices<F>,
    wire: LoginWire<'_>,
    identity: &mut Identity,
) -> Result<F::Session, LoginError> {
    if !identity.is_local {
        services.frontend.check_host(&identity.host)?;
    }
    identity.challenge = fresh_challenge()?;
    let version = services.frontend.version();
    let compressions = services.frontend.compressions();
    let mut offered = Capabilities::SERVER;
    for (is_offered, capability) in [
        (services.tls.is_some(), Capabilities::SSL),
        (compressions.zlib, Capabilities::COMPRESS),
        (compressions.zstd, Capabilities::ZSTD_COMPRESSION),
    ] {
        if is_offered {
            offered = offered | capability;
        }
    }
    write_greeting(version, identity.connection_id, &identity.challenge, offered, wire.output);
    let mut exchange = exchange(services, wire, identity);
    if services.proxies.contain(identity.address)
        && let Some(client) = exchange.proxied_client().await?
    {
        // Of a proxy on another machine even a loopback address is not this one's.
        identity.host = client.to_canonical().to_string();
        identity.is_local = false;
        exchange.is_local = false;
    }
    let mut packet = match exchange.next_packet().await {
        Err(_) if proxy::is_header(exchange.input.unread()) => {
            return Err(Refusal::proxy_not_allowed(&identity.host).into());
        }
        packet => packet?,
    };
    // A client that cannot be understood gets its refusal in the form of the current protocol.
    exchange.capabilities = Capabilities::PROTOCOL_41;
    identity.capabilities = Capabilities::PROTOCOL_41;
    let mut is_tls = false;
    if let Some(tls) = services.tls.as_ref().filter(|_| is_tls_request(&packet)) {
        let session = tls.accept().map_err(|error| shoal_types::Error::unknown(error.to_string()))?;
        // What the client has sent behind its request is TLS or nothing: it is never read as a packet.
        let received = exchange.input.take_rest();
        exchange.stream.encrypt(session, &received).await?;
        services.frontend.count_encrypted_connect(exchange.stream.tls().is_some_and(|tls| tls.is_resumed));
        if let Some(warning) = tls.expiry_warning() {
            tracing::warn!("{warning}");
        }
        is_tls = true;
        packet = exchange.next_packet().await?;
    }
    let response = HandshakeResponse::parse(&packet, offered, is_tls)?;
    if services.frontend.requires_secure_transport() && !exchange.stream.is_secure() {
        return Err(Refusal::secure_transport_required().into());
    }
    exchange.capabilities = response.capabilities;
    identity.capabilities = response.capabilities;
    identity.compression = compression(&response, &compressions)?;
    let introduction = response.introduction;
    identity.user.clone_from(&introduction.user);
    let frontend = &*services.frontend;
    let account = exchange.authenticate(frontend, &introduction, &identity.host, false).await?;
    let tls = exchange.stream.tls();
    let session = frontend.connect(connect_info(introduction, account, identity, tls)).await?;
    finish(&session, identity, exchange.output);
    Ok(session)
}

/// How packets are compressed between this client and a server that permits `permitted`; zlib where both would do, as in MySQL.
fn compression(response: &HandshakeResponse, permitted: &Compressions) -> Result<Option<Method>, Refusal> {
    /// What MySQL says of zlib, whose level it does not choose.
    const ZLIB_LEVEL: u8 = 6;
    const ZSTD_LEVELS: std::ops::RangeInclusive<u8> = 1..=22;
    if response.capabilities.has(Capabilities::COMPRESS) {
        return Ok(Some(Method { algorithm: Algorithm::Zlib, level: ZLIB_LEVEL }));
    }
    if response.capabilities.has(Capabilities::ZSTD_COMPRESSION) {
        let (algorithm, level) = (Algorithm::Zstd, response.zstd_level);
        if !ZSTD_LEVELS.contains(&level) {
            return Err(Refusal::wrong_compression_level(algorithm.name()));
        }
        return Ok(Some(Method { algorithm, level }));
    }
    if permitted.uncompressed { Ok(None) } else { Err(Refusal::wrong_compression_algorithm("uncompressed")) }
}

/// COM_CHANGE_USER: asks the client for a new proof and hands the session to the new user.
pub async fn change_user<F: Frontend>(
    services: &LoginServices<F>,
    wire: LoginWire<'_>,
    identity: &mut Identity,
    payload: &[u8],
    session: &mut F::Session,
) -> Result<(), LoginError> {
    let introduction = Introduction::parse_change_user(payload, identity.capabilities)?;
    identity.user.clone_from(&introduction.user);
    let must_ask = identity.capabilities.has(Capabilities::PLUGIN_AUTH);
    if must_ask {
        identity.challenge = fresh_challenge()?;
    }
    let mut exchange = exchange(services, wire, identity);
    let account = exchange.authenticate(&*services.frontend, &introduction, &identity.host, must_ask).await?;
    let tls = exchange.stream.tls();
    session.change_user(connect_info(introduction, account, identity, tls)).await?;
    finish(session, identity, exchange.output);
    Ok(())
}

fn exchange<'a, F>(services: &'a LoginServices<F>, wire: LoginWire<'a>, identity: &Identity) -> Exchange<'a> {
    Exchange {
        stream: wire.stream,
        input: wire.input,
        output: wire.output,
        worker: wire.worker,
        is_local: identity.is_local,
        authenticator: &services.authenticator,
        capabilities: identity.capabilities,
        challenge: identity.challenge,
    }
}

fn finish<S: FrontendSession>(session: &S, identity: &Identity, output: &mut PacketWriter) {
    write_ok(&session.status(), identity.capabilities, output);
}

fn connect_info(
    introduction: Introduction,
    account: Account,
    identity: &Identity,
    tls: Option<TlsSession>,
) -> ConnectInfo {
    let capabilities = identity.capabilities;
    ConnectInfo {
        connection_id: identity.connection_id,
        user: if account.user.is_empty() { introduction.user.clone() } else { account.user },
        host: identity.host.clone(),
        database: introduction.database,
        collation: Collation::by_id(introduction.collation).unwrap_or(Collation::UTF8MB4_0900_AI_CI),
        found_rows: capabilities.has(Capabilities::FOUND_ROWS),
        multi_statements: capabilities.has(Capabilities::MULTI_STATEMENTS),
        local_files: capabilities.has(Capabilities::LOCAL_FILES),
        ignore_space: capabilities.has(Capabilities::IGNORE_SPACE),
        handles_expired_password: capabilities.has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS),
        session_track: capabilities.has(Capabilities::SESSION_TRACK),
        interactive: capabilities.has(Capabilities::INTERACTIVE),
        attributes: introduction.attributes,
        tls,
        compression: identity.compression.map(|method| (method.algorithm.name(), method.level)),
        entrance: identity.entrance,
    }
}
