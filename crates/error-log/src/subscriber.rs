//! Events of `tracing` become entries. Only those of this server's crates: libraries talk of other things.
//!
//! The level of an event is its priority; `system = true` makes it one of the server's life, which is always told. `connection` is
//! the connection it is about. `last_words = true`: the process ends behind it, so it is written at once. Other fields stand behind the message.

use std::fmt::{Debug, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata};

use crate::entry::{Entry, Priority};
use crate::log;

pub(crate) struct Subscriber;

/// The part of the server that a crate is, in a word or two. Nobody else is listened to.
fn subsystem(target: &str) -> Option<&'static str> {
    let crate_name = target.split("::").next().unwrap_or_default();
    Some(match crate_name {
        "shoal_cluster" | "shoal_txn" | "shoal_replication" => "Cluster",
        "shoal_transport" => "Transport",
        "shoal_handlersocket" => "HandlerSocket",
        "shoal_http" => "HTTP",
        name if name == "shoal" || name.starts_with("shoal_") => "Server",
        _ => return None,
    })
}

fn is_wanted(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && *metadata.level() <= Level::INFO && subsystem(metadata.target()).is_some()
}

impl tracing::Subscriber for Subscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_wanted(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    // Spans are never wanted, so nobody asks for these.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some(subsystem) = subsystem(event.metadata().target()) {
            let (entry, is_last) = entry_of(event, subsystem);
            log::add(entry, is_last);
        }
    }
}

/// The entry, and whether the process ends behind it.
fn entry_of(event: &Event<'_>, subsystem: &'static str) -> (Entry, bool) {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let priority = match *event.metadata().level() {
        _ if fields.is_system => Priority::System,
        Level::ERROR => Priority::Error,
        Level::WARN => Priority::Warning,
        _ => Priority::Note,
    };
    let text = match fields.others.is_empty() {
        true => fields.message,
        false => format!("{} ({})", fields.message, fields.others),
    };
    let at_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    (Entry { at_us, connection: fields.connection, priority, subsystem, text }, fields.is_last)
}

#[derive(Default)]
struct Fields {
    message: String,
    others: String,
    connection: u64,
    is_system: bool,
    is_last: bool,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
            return;
        }
        let comma = if self.others.is_empty() { "" } else { ", " };
        let _ = write!(self.others, "{comma}{}: {value:?}", field.name());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "connection" => self.connection = value,
            _ => self.record_debug(field, &value),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "system" => self.is_system = value,
            "last_words" => self.is_last = value,
            _ => self.record_debug(field, &value),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what `entry_of` makes, for one thread.
    struct Keeper(Arc<Mutex<Vec<(Entry, bool)>>>);

    impl tracing::Subscriber for Keeper {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let subsystem = subsystem(event.metadata().target()).unwrap();
            self.0.lock().unwrap().push(entry_of(event, subsystem));
        }
    }

    #[test]
    fn events_are_entries_with_their_fields_behind_the_message() {
        let kept = Arc::<Mutex<Vec<(Entry, bool)>>>::default();
        tracing::subscriber::with_default(Keeper(Arc::clone(&kept)), || {
            tracing::warn!(peer = %7, reason = "it lies", "a node is cut off");
            tracing::info!(system = true, "ready");
            tracing::error!(target: "shoal_http::server", connection = 9_u64, "gone");
            tracing::error!(last_words = true, "stopping");
        });
        let kept = kept.lock().unwrap();
        let told: Vec<_> =
            kept.iter().map(|(one, _)| (one.priority, one.subsystem, one.connection, one.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Priority::Warning, "Server", 0, "a node is cut off (peer: 7, reason: it lies)"),
                (Priority::System, "Server", 0, "ready"),
                (Priority::Error, "HTTP", 9, "gone"),
                (Priority::Error, "Server", 0, "stopping"),
            ]
        );
        assert_eq!(kept.iter().map(|(_, is_last)| *is_last).collect::<Vec<_>>(), [false, false, false, true]);
    }

    #[test]
    fn libraries_are_not_listened_to() {
        assert_eq!(subsystem("hyper::proto::h1"), None);
        assert_eq!(subsystem("shoaling"), None);
        assert_eq!(subsystem("shoal_cluster::node::links"), Some("Cluster"));
        assert_eq!(subsystem("shoal::dev"), Some("Server"));
    }
}
