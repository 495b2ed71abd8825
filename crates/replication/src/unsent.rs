//! Messages that promise what is not on the disk yet.

use std::collections::VecDeque;

use shoal_partition::Message;
use shoal_planted::{Bug, is_planted};

/// Messages of one replica that wait until everything up to the output batch of their number is durable.
#[derive(Default)]
pub struct Unsent {
    queue: VecDeque<(u64, Message)>,
    durable: u64,
}

impl Unsent {
    /// A message of the output batch of this number: it is sent now if that is durable, and otherwise in its time.
    pub(crate) fn take(&mut self, number: u64, message: Message, send: impl FnOnce(&Message)) {
        match number <= self.durable || is_planted(Bug::SendBeforeDurable) {
            true => send(&message),
            false => self.queue.push_back((number, message)),
        }
    }

    /// Everything up to the output batch of this number is durable: the messages that have waited for that are sent.
    pub(crate) fn durable(&mut self, number: u64, mut send: impl FnMut(&Message)) {
        self.durable = self.durable.max(number);
        while self.queue.front().is_some_and(|&(wanted, _)| wanted <= number) {
            if let Some((_, message)) = self.queue.pop_front() {
                send(&message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_leaves_when_its_batch_is_durable_and_not_before() {
        let mut unsent = Unsent::default();
        let message = |term| Message { term, ..Message::default() };
        let mut sent = Vec::new();
        for number in [3, 4, 5] {
            unsent.take(number, message(number), |message| sent.push(message.term));
        }
        assert!(sent.is_empty());
        unsent.durable(4, |message| sent.push(message.term));
        assert_eq!(sent, [3, 4]);
        unsent.take(4, message(40), |message| sent.push(message.term));
        unsent.durable(2, |message| sent.push(message.term));
        unsent.durable(5, |message| sent.push(message.term));
        assert_eq!(sent, [3, 4, 40, 5]);
    }
}
