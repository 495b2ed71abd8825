//! Restarts: checkpoints, logs, and what is wrong with them.

use super::*;

fn checkpoint(partition: &mut Partition, block_bytes: usize) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let mut cursor = partition.begin_checkpoint();
    loop {
        let mut block = Vec::new();
        if !partition.next_checkpoint_block(&mut cursor, block_bytes, &mut block).unwrap() {
            break;
        }
        blocks.push(block);
    }
    partition.end_checkpoint(cursor);
    blocks
}

fn install(blocks: &[Vec<u8>]) -> Partition {
    let mut partition = Partition::new(single(1 << 30));
    for block in blocks {
        partition.install_checkpoint_block(block).unwrap();
    }
    partition
}

#[test]
fn a_partition_goes_on_where_its_checkpoint_and_log_end() {
    for method in [IndexMethod::BTree, IndexMethod::Hash] {
        let mut bed = Bed::with(schema(method), 1 << 30);
        bed.fill((0..300).map(|id| row(id, id)));
        let blocks = checkpoint(&mut bed.partition, 500);
        assert!(blocks.len() > 5);
        bed.fill((300..310).map(|id| row(id, id)));
        let transaction = bed.begin();
        assert!(matches!(bed.delete(transaction, 7), Step::Ready(true)));
        bed.commit(transaction);

        let mut copy = install(&blocks);
        for (index, term, data) in &bed.log {
            copy.replay(*index, *term, data).unwrap();
        }
        let used = copy.config().budget.used_bytes();
        assert_eq!(used, copy.usage(TABLE).unwrap().bytes);
        copy.start().unwrap();
        assert!(copy.is_leader());
        assert_eq!(copy.newest_timestamp(), bed.partition.newest_timestamp());
        let expected = bed.all();
        let log_end = bed.log.len() as u64;
        bed.partition = copy;
        // The new term's opening entry follows the old log.
        bed.persist();
        assert_eq!(bed.partition.applied_index(), log_end + 1);
        assert_eq!(bed.all(), expected);
        bed.fill([row(7, 70)]);
        assert_eq!(bed.all().len(), expected.len() + 1);
    }
}

#[test]
fn equal_states_give_equal_checkpoints_whatever_their_history() {
    for method in [IndexMethod::BTree, IndexMethod::Hash] {
        let mut bed = Bed::with(schema(method), 1 << 30);
        bed.fill((0..100).rev().map(|id| row(id, id)));
        let copy_blocks = checkpoint(&mut bed.partition, 1 << 20);
        let mut copy = install(&copy_blocks);
        assert_eq!(checkpoint(&mut copy, 1 << 20), copy_blocks);
    }
}

#[test]
fn a_table_dropped_while_a_checkpoint_is_written_is_in_it_as_it_was() {
    let mut bed = Bed::new();
    bed.fill((0..50).map(|id| row(id, id)));
    let expected = bed.all();
    let mut cursor = bed.partition.begin_checkpoint();
    let mut blocks = Vec::new();
    bed.partition.drop_fragment(TABLE, CommitToken(1)).unwrap();
    bed.persist();
    loop {
        let mut block = Vec::new();
        if !bed.partition.next_checkpoint_block(&mut cursor, 100, &mut block).unwrap() {
            break;
        }
        blocks.push(block);
    }
    assert!(bed.partition.config().budget.used_bytes() > 0);
    bed.partition.end_checkpoint(cursor);
    assert_eq!(bed.partition.config().budget.used_bytes(), 0);
    assert_eq!(all_rows(&mut install(&blocks)), expected);
}

#[test]
fn a_checkpoint_that_is_cut_short_or_out_of_order_is_refused() {
    let mut bed = Bed::new();
    bed.fill((0..50).map(|id| row(id, id)));
    let blocks = checkpoint(&mut bed.partition, 200);

    let mut short = install(&blocks[..blocks.len() - 1]);
    assert!(short.start().is_err());
    assert!(short.replay(1, 1, &[]).is_err());

    let mut torn = Partition::new(single(1 << 30));
    assert!(torn.install_checkpoint_block(&blocks[0][..blocks[0].len() - 1]).is_err());
    let mut headless = Partition::new(single(1 << 30));
    assert!(headless.install_checkpoint_block(&blocks[1]).is_err());
    let mut missing = install(&blocks[..1]);
    for block in &blocks[2..blocks.len() - 1] {
        missing.install_checkpoint_block(block).unwrap();
    }
    assert!(missing.install_checkpoint_block(&blocks[blocks.len() - 1]).is_err());

    let mut elsewhere = Partition::new(PartitionConfig { id: PartitionId(4), ..single(1 << 30) });
    assert!(elsewhere.install_checkpoint_block(&blocks[0]).is_err());
}

#[test]
fn a_log_with_a_gap_is_refused() {
    let mut bed = Bed::new();
    bed.fill([row(1, 1)]);
    bed.fill([row(2, 2)]);
    let mut copy = Partition::new(single(1 << 30));
    for (index, term, data) in &bed.log[..2] {
        copy.replay(*index, *term, data).unwrap();
    }
    let (index, term, data) = &bed.log[3];
    // What is missing may still come again; if it does not, the partition does not start.
    let refused = copy.replay(*index, *term, data).and_then(|()| copy.start());
    assert!(refused.unwrap_err().message().contains("has a gap"));
}

#[test]
fn a_group_of_one_keeps_no_applied_entry_in_memory() {
    let mut bed = Bed::new();
    for id in 0..10 {
        bed.fill([row(id, id)]);
    }
    assert_eq!(bed.partition.first_index(), bed.partition.applied_index() + 1);
    assert_eq!(bed.partition.last_index().0, bed.log.len() as u64);
}
