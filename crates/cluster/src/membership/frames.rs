//! The kinds of frames between nodes, and the address on those that a third node passes on.
//!
//! | kind | way | payload |
//! |---|---|---|
//! | 1 Raft | one-way | partition u32, Raft message |
//! | 2 gossip | one-way | [`Gossip`](super::gossip::Gossip) |
//! | 3 events | one-way, to management nodes | what has happened on a node |
//! | 16 operation | request, or one-way when nobody wants the reply | a transaction's frame; the crate above knows it |
//! | 17 service | request | one of [`requests`](super::requests) |
//! | 18 routed | both | an address and another frame's payload: see [`routes`](super::routes) |

use shoal_types::NodeId;

pub(crate) const FRAME_RAFT: u8 = 1;
pub(crate) const FRAME_GOSSIP: u8 = 2;
pub(crate) const FRAME_EVENTS: u8 = 3;
pub(crate) const FRAME_OPERATION: u8 = 16;
pub(crate) const FRAME_SERVICE: u8 = 17;
pub(crate) const FRAME_ROUTED: u8 = 18;

/// What stands before the payload of a frame that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub to: NodeId,
    pub from: NodeId,
    /// The incarnations that the sender means.
    pub to_incarnation: u64,
    pub from_incarnation: u64,
    /// The kind of the frame inside.
    pub kind: u8,
}

const ADDRESS_BYTES: usize = 25;

impl Address {
    pub(crate) fn put(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.to.0.to_le_bytes());
        buffer.extend_from_slice(&self.from.0.to_le_bytes());
        buffer.extend_from_slice(&self.to_incarnation.to_le_bytes());
        buffer.extend_from_slice(&self.from_incarnation.to_le_bytes());
        buffer.push(self.kind);
    }

    /// The address and what follows it.
    pub(crate) fn read(payload: &[u8]) -> Option<(Address, &[u8])> {
        let (head, rest) = payload.split_first_chunk::<ADDRESS_BYTES>()?;
        let (to, head) = head.split_first_chunk::<4>()?;
        let (from, head) = head.split_first_chunk::<4>()?;
        let (to_incarnation, head) = head.split_first_chunk::<8>()?;
        let (from_incarnation, kind) = head.split_first_chunk::<8>()?;
        let address = Address {
            to: NodeId(u32::from_le_bytes(*to)),
            from: NodeId(u32::from_le_bytes(*from)),
            to_incarnation: u64::from_le_bytes(*to_incarnation),
            from_incarnation: u64::from_le_bytes(*from_incarnation),
            kind: kind[0],
        };
        Some((address, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_its_bytes_and_half_of_one_is_none() {
        let address =
            Address { to: NodeId(7), from: NodeId(300), to_incarnation: 5, from_incarnation: u64::MAX, kind: 16 };
        let mut bytes = Vec::new();
        address.put(&mut bytes);
        bytes.extend_from_slice(b"rest");
        assert_eq!(Address::read(&bytes), Some((address, &b"rest"[..])));
        assert_eq!(Address::read(&bytes[..24]), None);
    }
}
