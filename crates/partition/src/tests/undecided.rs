//! Checkpoints with prepared transactions and decisions, and with decisions that come while they are written.

use super::two_phase::HOME;
use super::*;

/// A record a block.
const BLOCK_BYTES: usize = 1;

/// Writes blocks until `count` are there, or all.
fn write_blocks(
    partition: &mut Partition,
    cursor: &mut CheckpointCursor,
    count: usize,
    blocks: &mut Vec<Vec<u8>>,
) -> bool {
    while blocks.len() < count {
        let mut block = Vec::new();
        if !partition.next_checkpoint_block(cursor, BLOCK_BYTES, &mut block).unwrap() {
            return false;
        }
        blocks.push(block);
    }
    true
}

fn checkpoint(partition: &mut Partition) -> Vec<Vec<u8>> {
    let mut cursor = partition.begin_checkpoint();
    let mut blocks = Vec::new();
    write_blocks(partition, &mut cursor, usize::MAX, &mut blocks);
    partition.end_checkpoint(cursor);
    blocks
}

fn install(blocks: &[Vec<u8>], log: &[(u64, u64, Vec<u8>)]) -> Partition {
    let mut partition = Partition::new(single(1 << 30));
    for block in blocks {
        partition.install_checkpoint_block(block).unwrap();
    }
    for (index, term, data) in log {
        partition.replay(*index, *term, data).unwrap();
    }
    partition
}

/// A bed with a transaction that is prepared, and its prepare timestamp; later commits have been applied.
fn bed_with_prepared(method: IndexMethod) -> (Bed, TransactionId, Timestamp) {
    let mut bed = Bed::with(schema(method), 1 << 30);
    bed.fill((0..12).map(|id| row(id, id)));
    let transaction = bed.begin();
    assert!(matches!(bed.update(transaction, &row(1, 100)), Step::Ready(true)));
    assert!(matches!(bed.delete(transaction, 2), Step::Ready(true)));
    assert!(matches!(bed.insert(transaction, &row(20, 200)), Step::Ready(None)));
    assert!(matches!(bed.delete(transaction, 3), Step::Ready(true)));
    assert!(matches!(bed.insert(transaction, &row(3, 33)), Step::Ready(None)));
    let timestamp = bed.prepare(transaction);
    bed.clock += 20;
    bed.fill([row(30, 30)]);
    (bed, transaction, timestamp)
}

#[test]
fn a_checkpoint_between_prepare_and_decision_brings_back_workspace_locks_and_decisions() {
    for method in [IndexMethod::BTree, IndexMethod::Hash] {
        for commits in [true, false] {
            let (mut bed, transaction, timestamp) = bed_with_prepared(method);
            let home_of = bed.begin();
            bed.insert(home_of, &row(40, 40));
            let decided_at = bed.home_commit(home_of, &[HOME, PartitionId(2)]);
            let blocks = checkpoint(&mut bed.partition);

            let mut copy = install(&blocks, &[]);
            assert_eq!(checkpoint(&mut copy), blocks);
            assert_eq!(copy.in_doubt(), [(transaction, HOME)]);
            assert_eq!(copy.newest_timestamp(), decided_at);
            assert_eq!(copy.activity(), bed.partition.activity());
            assert_eq!(copy.config().budget.used_bytes(), bed.partition.config().budget.used_bytes());

            let commit = Timestamp(timestamp.0 + 1);
            bed.decide(transaction, if commits { Decision::Commit(commit) } else { Decision::Abort });
            let mut copy = install(&blocks, &bed.log);
            assert_eq!(checkpoint(&mut copy), checkpoint(&mut bed.partition));
            copy.start().unwrap();
            assert_eq!(copy.outcome_of(home_of), HomeOutcome::Committed(decided_at));
            assert_eq!(copy.unconfirmed(), bed.partition.unconfirmed());
            let expected = bed.all();
            assert_eq!(expected.contains(&row(20, 200)), commits);
            bed.partition = copy;
            bed.persist();
            assert_eq!(bed.all(), expected);
            for participant in [HOME, PartitionId(2)] {
                bed.partition.confirm(home_of, Confirmation::Participant(participant));
            }
            bed.partition.confirm(home_of, Confirmation::Coordinator);
            bed.partition.propose_forget(CommitToken(1)).unwrap();
            bed.persist();
            bed.assert_idle();
        }
    }
}

/// Whatever has been written when the decision comes: the checkpoint shows the state at its index, not a row more or
/// less, although the decision's timestamp is earlier than the checkpoint's. Later changes of the same rows
/// and garbage collection do not disturb that.
#[test]
fn a_checkpoint_is_exact_although_an_earlier_commit_is_decided_while_it_is_written() {
    for method in [IndexMethod::BTree, IndexMethod::Hash] {
        let mut runs = 0;
        for decided_after in 0.. {
            let blocks = decide_during_checkpoint(method, decided_after, decided_after);
            if decided_after > blocks {
                break;
            }
            for changed_after in decided_after + 1..=blocks {
                decide_during_checkpoint(method, decided_after, changed_after);
                runs += 1;
            }
        }
        assert!(runs > 50, "{runs} runs");
    }
}

/// The transaction commits when the checkpoint has so many blocks, and its rows change again when it has so many.
/// Returns how many it has in the end.
fn decide_during_checkpoint(method: IndexMethod, decided_after: usize, changed_after: usize) -> usize {
    let (mut bed, transaction, timestamp) = bed_with_prepared(method);
    bed.partition.set_gc_horizon(Timestamp(bed.clock));
    let expected = checkpoint(&mut bed.partition);

    let mut cursor = bed.partition.begin_checkpoint();
    let mut blocks = Vec::new();
    write_blocks(&mut bed.partition, &mut cursor, decided_after, &mut blocks);
    let commit = Timestamp(timestamp.0 + 1);
    assert!(commit < cursor.timestamp());
    bed.decide(transaction, Decision::Commit(commit));
    write_blocks(&mut bed.partition, &mut cursor, changed_after, &mut blocks);
    let later = bed.begin();
    assert!(matches!(bed.update(later, &row(1, 101)), Step::Ready(true)));
    assert!(matches!(bed.insert(later, &row(2, 102)), Step::Ready(None)));
    assert!(matches!(bed.delete(later, 20), Step::Ready(true)));
    bed.commit(later);
    let horizon = bed.tick();
    bed.partition.set_gc_horizon(horizon);
    bed.partition.collect_garbage(usize::MAX);
    write_blocks(&mut bed.partition, &mut cursor, usize::MAX, &mut blocks);
    bed.partition.end_checkpoint(cursor);
    assert_eq!(blocks, expected, "decided after {decided_after}, changed after {changed_after} blocks");

    let mut copy = install(&blocks, &bed.log);
    assert_eq!(checkpoint(&mut copy), checkpoint(&mut bed.partition));
    bed.assert_idle();
    blocks.len()
}

#[test]
fn every_prefix_of_the_log_and_every_checkpoint_on_the_way_lead_to_the_same_state() {
    let (mut bed, transaction, timestamp) = bed_with_prepared(IndexMethod::BTree);
    let second = bed.begin();
    bed.update(second, &row(5, 55));
    bed.prepare(second);
    bed.decide(transaction, Decision::Commit(Timestamp(timestamp.0 + 1)));
    bed.fill([row(2, 22), row(50, 50)]);
    let third = bed.begin();
    bed.update(third, &row(6, 66));
    bed.home_commit(third, &[HOME]);
    bed.decide(second, Decision::Abort);
    bed.partition.confirm(third, Confirmation::Participant(HOME));
    bed.partition.confirm(third, Confirmation::Coordinator);
    bed.partition.propose_forget(CommitToken(1)).unwrap();
    bed.persist();
    let expected = checkpoint(&mut bed.partition);
    for length in 0..=bed.log.len() {
        let mut first_life = install(&[], &bed.log[..length]);
        let blocks = checkpoint(&mut first_life);
        let mut second_life = install(if length > 0 { &blocks } else { &[] }, &bed.log);
        assert_eq!(checkpoint(&mut second_life), expected, "after {length} entries");
    }
}

#[test]
fn a_checkpoint_of_undecided_transactions_cut_short_or_with_one_missing_is_refused() {
    let (mut bed, ..) = bed_with_prepared(IndexMethod::BTree);
    let home_of = bed.begin();
    bed.insert(home_of, &row(40, 40));
    bed.home_commit(home_of, &[HOME]);
    let whole = checkpoint(&mut bed.partition).concat();
    for length in 1..whole.len() {
        let mut partition = Partition::new(single(1 << 30));
        let taken = partition.install_checkpoint_block(&whole[..length]);
        assert!(taken.is_err() || partition.start().is_err(), "{length} of {} bytes", whole.len());
    }
    // One decision fewer than the end says. It is the last record before the end: 1 + 8 + 8 + 4 + 4 bytes.
    let end = whole.len() - 17;
    let missing = [&whole[..end - 25], &whole[end..]].concat();
    assert!(Partition::new(single(1 << 30)).install_checkpoint_block(&missing).is_err());
}
