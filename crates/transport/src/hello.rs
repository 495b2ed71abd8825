//! The hello: what each side of a link says about itself before anything else.
//!
//! The layout begins with a magic number and the protocol's version, so that nodes of different versions can still tell
//! each other why they do not talk. Strings and details are bounded; a hello is decoded before its sender is trusted.

use shoal_types::NodeId;

const MAGIC: [u8; 4] = *b"SHOL";
/// The version of frames and handshake. Nodes of different versions refuse each other.
pub const PROTOCOL_VERSION: u16 = 1;
/// The node id of clients that are no node of the cluster: `shoal mgm` and the like.
pub const CLIENT: NodeId = NodeId(0);
/// The largest node id.
pub const NODE_ID_MAX: u32 = 255;
/// Links between two nodes at most.
pub const LANES_MAX: u16 = 64;
/// The longest cluster name.
pub const CLUSTER_NAME_BYTES_MAX: usize = 255;
/// The most that `Hello::details` may hold.
pub const DETAILS_BYTES_MAX: usize = 2048;
/// The largest hello, and the largest refusal: what is read from a peer that is not trusted yet.
pub(crate) const HELLO_BYTES_MAX: usize = 4096;

/// What a node says about itself. `lane`, `lanes` and `wall_clock_us` are filled in by the transport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The cluster's name in the configuration.
    pub cluster: String,
    /// Made up when the cluster was created; 0 before a node knows it.
    pub cluster_id: u64,
    /// The node that says it; 0 for tools.
    pub node: NodeId,
    /// Bits; their meaning is the handler's.
    pub roles: u8,
    /// The program's version; its meaning is the handler's.
    pub version: u32,
    /// The version of the sender's configuration; its meaning is the handler's.
    pub config_generation: u64,
    /// What of it must be the same on both sides; its meaning is the handler's.
    pub config_hash: u64,
    /// Grows with every start of this node: tells a process from the one before it.
    pub incarnation: u64,
    /// The sender's wall clock at the handshake, in microseconds since 1970.
    pub wall_clock_us: u64,
    /// The lane that this link serves.
    pub lane: u16,
    /// How many lanes the side that dials keeps to the other.
    pub lanes: u16,
    /// Whatever else the handlers tell each other (addresses of other doors); at most `DETAILS_BYTES_MAX`.
    pub details: Vec<u8>,
}

impl Hello {
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        buffer.extend_from_slice(&self.node.0.to_le_bytes());
        buffer.push(self.roles);
        buffer.extend_from_slice(&self.version.to_le_bytes());
        for word in
            [self.cluster_id, self.config_generation, self.config_hash, self.incarnation, self.wall_clock_us]
        {
            buffer.extend_from_slice(&word.to_le_bytes());
        }
        buffer.extend_from_slice(&self.lane.to_le_bytes());
        buffer.extend_from_slice(&self.lanes.to_le_bytes());
        for bytes in [self.cluster.as_bytes(), &self.details] {
            // `Transport::new` has checked the lengths.
            buffer.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            buffer.extend_from_slice(bytes);
        }
    }

    /// The error is a sentence for the operator of the peer.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Hello, String> {
        let input = &mut bytes;
        if take::<4>(input) != Some(MAGIC) {
            return Err("this port speaks Shoal's node protocol; connect another one".to_string());
        }
        let version = take(input).map(u16::from_le_bytes);
        if version != Some(PROTOCOL_VERSION) {
            return Err(format!(
                "node protocol version {} meets version {PROTOCOL_VERSION}; run the same version of Shoal on all nodes",
                version.unwrap_or(0)
            ));
        }
        let hello = Hello::decode_fields(input).filter(|_| input.is_empty());
        let hello = hello.ok_or("the hello is damaged; run the same version of Shoal on all nodes")?;
        if hello.node.0 > NODE_ID_MAX {
            return Err(format!("node id {} is out of range; use 1 to {NODE_ID_MAX}", hello.node));
        }
        if hello.lane >= hello.lanes || hello.lanes > LANES_MAX {
            return Err(format!(
                "lane {} of {} is out of range; use 1 to {LANES_MAX} lanes",
                hello.lane, hello.lanes
            ));
        }
        Ok(hello)
    }

    fn decode_fields(input: &mut &[u8]) -> Option<Hello> {
        Some(Hello {
            node: NodeId(u32::from_le_bytes(take(input)?)),
            roles: u8::from_le_bytes(take(input)?),
            version: u32::from_le_bytes(take(input)?),
            cluster_id: u64::from_le_bytes(take(input)?),
            config_generation: u64::from_le_bytes(take(input)?),
            config_hash: u64::from_le_bytes(take(input)?),
            incarnation: u64::from_le_bytes(take(input)?),
            wall_clock_us: u64::from_le_bytes(take(input)?),
            lane: u16::from_le_bytes(take(input)?),
            lanes: u16::from_le_bytes(take(input)?),
            cluster: String::from_utf8(take_bytes(input, CLUSTER_NAME_BYTES_MAX)?.to_vec()).ok()?,
            details: take_bytes(input, DETAILS_BYTES_MAX)?.to_vec(),
        })
    }
}

fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*taken)
}

fn take_bytes<'a>(input: &mut &'a [u8], bytes_max: usize) -> Option<&'a [u8]> {
    let length = u16::from_le_bytes(take(input)?) as usize;
    if length > bytes_max {
        return None;
    }
    let (taken, rest) = input.split_at_checked(length)?;
    *input = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hello() -> Hello {
        Hello {
            cluster: "reef".into(),
            cluster_id: 1,
            node: NodeId(3),
            roles: 5,
            version: 6,
            config_generation: 7,
            config_hash: 8,
            incarnation: 9,
            wall_clock_us: 10,
            lane: 1,
            lanes: 2,
            details: vec![1, 2, 3],
        }
    }

    fn encoded(hello: &Hello) -> Vec<u8> {
        let mut bytes = Vec::new();
        hello.encode(&mut bytes);
        bytes
    }

    #[test]
    fn a_hello_survives_the_wire_and_none_of_its_prefixes_does() {
        let bytes = encoded(&hello());
        assert_eq!(Hello::decode(&bytes), Ok(hello()));
        for length in 0..bytes.len() {
            assert!(Hello::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(Hello::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn the_largest_hello_fits_what_is_read_from_a_stranger() {
        let largest =
            Hello { cluster: "c".repeat(CLUSTER_NAME_BYTES_MAX), details: vec![0; DETAILS_BYTES_MAX], ..hello() };
        assert!(encoded(&largest).len() <= HELLO_BYTES_MAX);
        assert_eq!(Hello::decode(&encoded(&largest)), Ok(largest));
    }

    #[test]
    fn another_version_or_an_impossible_id_is_refused_with_a_sentence() {
        let mut bytes = encoded(&hello());
        bytes[4] = 9;
        assert!(Hello::decode(&bytes).unwrap_err().contains("version 9 meets version 1"));
        let bytes = encoded(&Hello { node: NodeId(256), ..hello() });
        assert!(Hello::decode(&bytes).unwrap_err().contains("node id 256"));
        let bytes = encoded(&Hello { lane: 2, ..hello() });
        assert!(Hello::decode(&bytes).unwrap_err().contains("lane 2 of 2"));
        assert!(Hello::decode(b"GET / HTTP/1.1").unwrap_err().contains("node protocol"));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic_the_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Hello::decode(&bytes);
            let _ = Hello::decode(&[&encoded(&hello())[..6], &bytes].concat());
        }
    }
}
