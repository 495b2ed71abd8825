//! Requests for profiles: from a request to its answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode};
use shoal_types::ErrorCode;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::cpu;
use crate::dashboard::origin;
use crate::peer::Peer;
use crate::reply::{Reply, reply};
use crate::rest::{self, Problem};
use crate::watched::Watched;

const PREFIX: &str = "/debug/pprof/";
const SECONDS_DEFAULT: u64 = 30;
/// A connection that is old is left as long for its last request.
const SECONDS_MAX: u64 = 60;
/// Samples a second of processor time: no divisor of what else happens at round intervals.
const FREQUENCY_DEFAULT: i32 = 99;
const FREQUENCY_MAX: i32 = 1000;
const PPROF: &str = "application/octet-stream";
const SVG: &str = "image/svg+xml";

pub fn is_for_profiles(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Cpu { span: Duration, frequency: i32, is_picture: bool },
    Heap,
}

/// Answers a request whose path is one of these. Its framing has been looked at, and it has no body.
pub async fn answer(watched: &Arc<Watched>, peer: &Peer, request: Request<Incoming>) -> Reply {
    route(watched, peer, &request).await.unwrap_or_else(|problem| problem.after_reading().reply())
}

async fn route(watched: &Watched, peer: &Peer, request: &Request<Incoming>) -> Result<Reply, Problem> {
    let (profiles, headers) = (&watched.profiles, request.headers());
    if !profiles.is_on.load(Ordering::Acquire) {
        let text =
            "profiles are off at this node: turn them on with http_profiles=ON (HttpProfiles=1 in config.ini)";
        return Err(Problem::unknown(StatusCode::NOT_FOUND, text));
    }
    if *request.method() != Method::GET {
        return Err(Problem::unknown(StatusCode::BAD_REQUEST, "profiles are asked for with GET"));
    }
    let wanted = wanted(request.uri().path(), request.uri().query())?;
    origin::check_of(headers, false, !peer.is_encrypted)
        .map_err(|(status, text)| Problem::unknown(status, text))?;
    let server = watched.server().ok_or_else(|| Problem::busy("the node reads back its data; try again"))?;
    let account = rest::account(watched, server, headers, peer).await?;
    if !server.operator_access(&account).is_some_and(|access| access.kills_all) {
        let text = "Access denied; you need (at least one of) the SUPER or CONNECTION_ADMIN privilege(s) for this operation";
        return Err(Problem::new(StatusCode::FORBIDDEN, ErrorCode::SpecificAccessDenied, text));
    }
    let Ok(place) = Arc::clone(&profiles.one_at_a_time).try_acquire_owned() else {
        return Err(Problem::busy("another profile is being taken; try again when it is done"));
    };
    let (content_type, name, bytes) = match wanted {
        Wanted::Cpu { span, frequency, is_picture } => {
            let work = move |is_given_up: &Receiver<()>| cpu::profile(span, frequency, is_picture, is_given_up);
            let bytes = on_a_thread(place, work).await?;
            if is_picture { (SVG, None, bytes) } else { (PPROF, Some("profile.pb.gz"), bytes) }
        }
        Wanted::Heap => {
            let heap = *profiles.heap.get().ok_or_else(no_heap_profiles)?;
            (PPROF, Some("heap.pb.gz"), on_a_thread(place, move |_| heap()).await?)
        }
    };
    let mut reply = reply(StatusCode::OK, content_type, bytes);
    if let Some(name) = name {
        let value = HeaderValue::try_from(format!("attachment; filename=\"{name}\""));
        value.map(|value| reply.headers_mut().insert(header::CONTENT_DISPOSITION, value)).ok();
    }
    Ok(reply)
}

fn no_heap_profiles() -> Problem {
    let text = "this build's allocator does not tell who has allocated what; a build with jemalloc does: \
                cargo build --release --package shoal --features jemalloc";
    Problem::unknown(StatusCode::NOT_IMPLEMENTED, text)
}

/// Works on a thread of its own: what it takes is more than the other connections of this server may wait for. It is told when nobody waits
/// any more.
async fn on_a_thread(
    place: OwnedSemaphorePermit,
    work: impl FnOnce(&Receiver<()>) -> Result<Vec<u8>, String> + Send + 'static,
) -> Result<Vec<u8>, Problem> {
    let failed = |text: String| Problem::unknown(StatusCode::INTERNAL_SERVER_ERROR, text);
    let (_still_wanted, is_given_up) = channel();
    let (done, answer) = oneshot::channel();
    let body = move || {
        let outcome = work(&is_given_up);
        // Also when nobody waits for it, the next profile begins only now.
        drop(place);
        let _ = done.send(outcome);
    };
    thread::Builder::new()
        .name("profile".into())
        .spawn(body)
        .map_err(|error| failed(format!("cannot start a thread: {error}")))?;
    let outcome = answer.await.map_err(|_| failed("the profile broke off; see the server's log".into()))?;
    outcome.map_err(failed)
}

/// What a path and its query ask for.
fn wanted(path: &str, query: Option<&str>) -> Result<Wanted, Problem> {
    match path.strip_prefix(PREFIX) {
        Some("profile") => cpu_wanted(query.unwrap_or_default()),
        Some("heap") => Ok(Wanted::Heap),
        _ => {
            let text = "there is no such profile; there are /debug/pprof/profile and /debug/pprof/heap";
            Err(Problem::unknown(StatusCode::NOT_FOUND, text))
        }
    }
}

fn cpu_wanted(query: &str) -> Result<Wanted, Problem> {
    let (mut seconds, mut frequency, mut is_picture) = (SECONDS_DEFAULT, FREQUENCY_DEFAULT, false);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let number = |largest: u64| value.parse().ok().filter(|number| (1..=largest).contains(number));
        let understood = match name {
            "seconds" => number(SECONDS_MAX).map(|number| seconds = number),
            "frequency" => number(FREQUENCY_MAX as u64).map(|number| frequency = number as i32),
            "format" => {
                is_picture = value == "flamegraph";
                (is_picture || value == "pprof").then_some(())
            }
            // What Go's tools send along that means nothing here.
            _ => Some(()),
        };
        understood.ok_or_else(|| {
            let text = format!(
                "`{name}` is not understood; there are seconds=1 to {SECONDS_MAX}, frequency=1 to {FREQUENCY_MAX} (samples a second) and \
                 format=pprof or flamegraph"
            );
            Problem::malformed(text)
        })?;
    }
    Ok(Wanted::Cpu { span: Duration::from_secs(seconds), frequency, is_picture })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_choose_span_frequency_and_format() {
        let cpu = |seconds, frequency, is_picture| Wanted::Cpu {
            span: Duration::from_secs(seconds),
            frequency,
            is_picture,
        };
        let of = |query| wanted("/debug/pprof/profile", query).map_err(|problem| problem.status.as_u16());
        assert_eq!(of(None), Ok(cpu(30, 99, false)));
        assert_eq!(of(Some("seconds=2&format=flamegraph")), Ok(cpu(2, 99, true)));
        assert_eq!(of(Some("debug=0&frequency=500")), Ok(cpu(30, 500, false)));
        for wrong in ["seconds=0", "seconds=61", "seconds=-1", "seconds", "frequency=1001", "format=png"] {
            assert_eq!(of(Some(wrong)), Err(400), "{wrong}");
        }
        assert_eq!(wanted("/debug/pprof/heap", None).ok(), Some(Wanted::Heap));
        assert_eq!(wanted("/debug/pprof/cmdline", None).err().map(|problem| problem.status.as_u16()), Some(404));
    }
}
