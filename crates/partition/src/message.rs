//! Raft's messages as bytes between nodes. Our own format, so that no protobuf parser reads from the network.
//!
//! ```text
//! kind u8          MessageType's number
//! present u16      bit i: field i of the list below follows; fields that are not there are zero
//! flags u8         1 reject, 2 a snapshot follows
//! fields           from, to, term, log term, index, commit, commit term, request snapshot, reject hint: u64 each
//! context          length u32, bytes
//! snapshot         index u64, term u64, count u32, count times: voter u64
//! entries          count u32, count times: term u64, index u64, length u32, data
//! ```
//! Integers are little-endian. Snapshots carry no data: checkpoints travel beside these messages. Decoding checks
//! every length and that nothing is left over; it also refuses messages that Raft never sends to another node.

use protobuf::ProtobufEnum;
use raft::eraftpb::{Entry, Message, MessageType, Snapshot};
use shoal_types::{Error, Result};

use crate::entry::Reader;

const REJECT: u8 = 1;
const SNAPSHOT: u8 = 2;
const FIELDS: usize = 9;
/// Far above any group.
const VOTERS_MAX: usize = 64;
const CONTEXT_BYTES_MAX: usize = 64 << 10;
const ENTRY_HEADER_BYTES: usize = 20;
/// No log gets so far, and no group has so many elections.
const POSITION_MAX: u64 = 1 << 60;

fn malformed() -> Error {
    Error::unknown("a replication message from another node is malformed").as_spoilt()
}

fn fields(message: &Message) -> [u64; FIELDS] {
    let Message { from, to, term, log_term, index, commit, commit_term, request_snapshot, reject_hint, .. } =
        *message;
    [from, to, term, log_term, index, commit, commit_term, request_snapshot, reject_hint]
}

/// What Raft says to other nodes; the rest of its messages are for itself.
fn travels(kind: MessageType) -> bool {
    use MessageType::*;
    matches!(
        kind,
        MsgAppend
            | MsgAppendResponse
            | MsgRequestVote
            | MsgRequestVoteResponse
            | MsgSnapshot
            | MsgHeartbeat
            | MsgHeartbeatResponse
            | MsgTimeoutNow
            | MsgReadIndex
            | MsgReadIndexResp
            | MsgRequestPreVote
            | MsgRequestPreVoteResponse
    )
}

fn kind_of(byte: u8) -> Option<MessageType> {
    MessageType::from_i32(i32::from(byte)).filter(|&kind| travels(kind))
}

/// Appends the message to `out`.
pub fn encode_message(message: &Message, out: &mut Vec<u8>) {
    let fields = fields(message);
    let present = fields.iter().enumerate().fold(0u16, |bits, (bit, &field)| bits | u16::from(field != 0) << bit);
    let snapshot = message.snapshot.as_ref().map(|snapshot| snapshot.get_metadata());
    let flags = if message.reject { REJECT } else { 0 } | if snapshot.is_some() { SNAPSHOT } else { 0 };
    out.push(message.msg_type as u8);
    out.extend_from_slice(&present.to_le_bytes());
    out.push(flags);
    for field in fields.into_iter().filter(|&field| field != 0) {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(&(message.context.len() as u32).to_le_bytes());
    out.extend_from_slice(&message.context);
    if let Some(metadata) = snapshot {
        out.extend_from_slice(&metadata.index.to_le_bytes());
        out.extend_from_slice(&metadata.term.to_le_bytes());
        let voters = &metadata.get_conf_state().voters;
        out.extend_from_slice(&(voters.len() as u32).to_le_bytes());
        voters.iter().for_each(|voter| out.extend_from_slice(&voter.to_le_bytes()));
    }
    out.extend_from_slice(&(message.entries.len() as u32).to_le_bytes());
    for entry in message.entries.iter() {
        out.extend_from_slice(&entry.term.to_le_bytes());
        out.extend_from_slice(&entry.index.to_le_bytes());
        out.extend_from_slice(&(entry.data.len() as u32).to_le_bytes());
        out.extend_from_slice(&entry.data);
    }
}

/// Reads a message that fills `bytes`. The entries' data share one copy of them.
pub fn decode_message(bytes: &[u8]) -> Result<Message> {
    let mut reader = Reader::new(bytes);
    decode(&mut reader, bytes).ok().filter(|_| reader.is_empty()).ok_or_else(malformed)
}

fn decode(reader: &mut Reader<'_>, bytes: &[u8]) -> Result<Message> {
    let msg_type = kind_of(reader.byte()?).ok_or_else(malformed)?;
    let present = u16::from_le_bytes([reader.byte()?, reader.byte()?]);
    let flags = reader.byte()?;
    if present >> FIELDS != 0 || flags & !(REJECT | SNAPSHOT) != 0 {
        return Err(malformed());
    }
    let mut fields = [0; FIELDS];
    for (bit, field) in fields.iter_mut().enumerate().filter(|&(bit, _)| present >> bit & 1 == 1) {
        *field = reader.u64()?;
        if *field == 0 {
            return Err(Error::unknown(format!("field {bit} is marked and zero")));
        }
    }
    let [from, to, term, log_term, index, commit, commit_term, request_snapshot, reject_hint] = fields;
    let context = reader.sized()?;
    if context.len() > CONTEXT_BYTES_MAX {
        return Err(malformed());
    }
    let mut message = Message {
        msg_type,
        from,
        to,
        term,
        log_term,
        index,
        commit,
        commit_term,
        request_snapshot,
        reject_hint,
        reject: flags & REJECT != 0,
        context: context.to_vec().into(),
        ..Message::default()
    };
    if flags & SNAPSHOT != 0 {
        message.snapshot = Some(decode_snapshot(reader)?).into();
    }
    decode_entries(reader, bytes, &mut message)?;
    check_shape(&message)?;
    Ok(message)
}

fn decode_snapshot(reader: &mut Reader<'_>) -> Result<Snapshot> {
    let mut snapshot = Snapshot::default();
    let metadata = snapshot.mut_metadata();
    metadata.index = reader.u64()?;
    metadata.term = reader.u64()?;
    let count = reader.u32()? as usize;
    if count > VOTERS_MAX {
        return Err(malformed());
    }
    for _ in 0..count {
        metadata.mut_conf_state().voters.push(reader.u64()?);
    }
    Ok(snapshot)
}

fn decode_entries(reader: &mut Reader<'_>, bytes: &[u8], message: &mut Message) -> Result<()> {
    let count = reader.u32()? as usize;
    if count == 0 {
        return Ok(());
    }
    let rest = reader.remaining();
    if count > rest / ENTRY_HEADER_BYTES {
        return Err(malformed());
    }
    let whole = Entry { data: bytes[bytes.len() - rest..].to_vec().into(), ..Entry::default() };
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let (term, index) = (reader.u64()?, reader.u64()?);
        let length = reader.sized()?.len();
        let end = rest - reader.remaining();
        entries.push(Entry { term, index, data: whole.data.slice(end - length..end), ..Entry::default() });
    }
    message.entries = entries.into();
    Ok(())
}

/// What Raft takes for granted about each kind.
fn check_shape(message: &Message) -> Result<()> {
    let entries = &message.entries;
    let sound = match message.msg_type {
        MessageType::MsgAppend => {
            let follows = |(position, entry): (usize, &Entry)| {
                message.index.checked_add(1 + position as u64) == Some(entry.index) && entry.term <= message.term
            };
            entries.iter().enumerate().all(follows)
        }
        MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => entries.len() == 1,
        _ => entries.is_empty(),
    };
    let snapshot = (message.msg_type == MessageType::MsgSnapshot) == message.snapshot.is_some();
    let Message { term, log_term, index, commit, commit_term, request_snapshot, reject_hint, .. } = *message;
    let positions = [term, log_term, index, commit, commit_term, request_snapshot, reject_hint];
    let sound = sound && positions.iter().all(|&position| position < POSITION_MAX);
    // Raft takes a message without a term for one of its own, which has been checked.
    let sound = sound && (term == 0) == (message.msg_type == MessageType::MsgReadIndex);
    if sound && snapshot && message.from != 0 && message.to != 0 { Ok(()) } else { Err(malformed()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Message> {
        let base = |kind| Message { msg_type: kind, from: 2, to: 1, term: 7, ..Message::default() };
        let entry =
            |index, term, data: &[u8]| Entry { index, term, data: data.to_vec().into(), ..Entry::default() };
        let mut append = base(MessageType::MsgAppend);
        (append.log_term, append.index, append.commit) = (6, 40, 39);
        append.entries = vec![entry(41, 6, b"row"), entry(42, 7, b""), entry(43, 7, &[9; 300])].into();
        let mut heartbeat = base(MessageType::MsgHeartbeat);
        heartbeat.context = b"12345678".to_vec().into();
        let mut rejection = base(MessageType::MsgAppendResponse);
        (rejection.reject, rejection.reject_hint, rejection.index) = (true, 12, 40);
        let mut read = base(MessageType::MsgReadIndex);
        read.entries = vec![entry(0, 0, b"who asks")].into();
        read.term = 0;
        let mut snapshot = base(MessageType::MsgSnapshot);
        let mut metadata = Snapshot::default();
        metadata.mut_metadata().index = 90;
        metadata.mut_metadata().term = 6;
        metadata.mut_metadata().mut_conf_state().voters = vec![1, 2, 3];
        snapshot.snapshot = Some(metadata).into();
        let mut vote = base(MessageType::MsgRequestVote);
        (vote.commit, vote.commit_term, vote.index, vote.log_term) = (POSITION_MAX - 1, 3, 1, POSITION_MAX - 1);
        vote.context = b"CampaignTransfer".to_vec().into();
        vec![append, heartbeat, rejection, read, snapshot, vote, base(MessageType::MsgTimeoutNow)]
    }

    fn encoded(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        encode_message(message, &mut out);
        out
    }

    #[test]
    fn messages_survive_the_journey() {
        for message in samples() {
            assert_eq!(decode_message(&encoded(&message)).unwrap(), message);
        }
    }

    #[test]
    fn every_prefix_and_every_addition_is_refused() {
        for message in samples() {
            let bytes = encoded(&message);
            for length in 0..bytes.len() {
                assert!(decode_message(&bytes[..length]).is_err(), "{length} of {message:?}");
            }
            assert!(decode_message(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn damaged_and_random_bytes_are_refused_or_make_a_sound_message() {
        let mut state = 0x5eed_u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for round in 0..20_000 {
            let samples = samples();
            let mut bytes = encoded(&samples[round % samples.len()]);
            for _ in 0..1 + random() % 4 {
                let place = random() as usize % bytes.len();
                bytes[place] = random() as u8;
            }
            if let Ok(message) = decode_message(&bytes) {
                assert_eq!(decode_message(&encoded(&message)).unwrap(), message);
            }
            let noise: Vec<u8> = (0..random() % 90).map(|_| random() as u8).collect();
            let _ = decode_message(&noise);
        }
    }

    #[test]
    fn what_raft_would_stumble_over_is_refused() {
        let [append, .., read] = [samples().swap_remove(0), samples().swap_remove(3)];
        let mut gap = append.clone();
        gap.entries[1].index = 50;
        let mut future = append.clone();
        future.entries[2].term = 8;
        let mut empty_read = read;
        empty_read.entries.clear();
        let mut beyond = append.clone();
        beyond.commit = POSITION_MAX;
        let mut without_term = append.clone();
        (without_term.term, without_term.msg_type) = (0, MessageType::MsgHeartbeat);
        without_term.entries.clear();
        let mut nobody = append.clone();
        nobody.from = 0;
        let local = Message { msg_type: MessageType::MsgPropose, ..append.clone() };
        let mut bare = append;
        bare.msg_type = MessageType::MsgSnapshot;
        bare.entries.clear();
        for message in [gap, future, empty_read, beyond, without_term, nobody, local, bare] {
            assert!(decode_message(&encoded(&message)).is_err(), "{message:?}");
        }
    }

    #[test]
    fn a_count_that_cannot_be_true_reserves_nothing() {
        let mut bytes = encoded(&samples()[1]);
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(decode_message(&bytes).is_err());
    }
}
