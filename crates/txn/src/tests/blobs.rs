//! Long values in pieces: slices of one version, and changes of some bytes that are staged in place.

use super::support::*;
use crate::*;

/// The column `c`.
const C: usize = 2;

fn change(table: &std::sync::Arc<shoal_cluster::Table>, id: i64, change: BytesChange) -> RowWrite {
    let assignment = Assignment { column: C, operand: Operand::Bytes(change) };
    RowWrite::Change {
        primary_key: key(table, id),
        change: RowChange { condition: None, assignments: vec![assignment] },
    }
}

fn append(bytes: &[u8]) -> BytesChange {
    BytesChange::Append(bytes.to_vec())
}

async fn slice(
    transaction: &mut Transaction,
    table: &std::sync::Arc<shoal_cluster::Table>,
    id: i64,
    mode: ReadMode,
    (offset, length): (u64, u32),
) -> Option<(u64, String)> {
    let slice = ColumnSlice { column: C, offset, length, checks: false };
    match transaction.get_slice(table, &key(table, id), mode, slice).await.unwrap() {
        Sliced::NoRow => None,
        Sliced::Null => Some((u64::MAX, String::new())),
        Sliced::Value { length, bytes, .. } => Some((length, String::from_utf8(bytes).unwrap())),
    }
}

#[test]
fn slices_are_parts_of_the_version_that_the_transaction_sees() {
    run(async {
        let node = TestNode::new(4);
        for shape in [Shape::Plain, Shape::IndexedK, Shape::UniqueK] {
            let table = node.create(&format!("t{shape:?}"), shape).await;
            load(&node, &table, (0..8).map(|id| (id, Some(id)))).await;
            for id in 0..8 {
                let mut reader = node.begun(Isolation::RepeatableRead);
                assert_eq!(slice(&mut reader, &table, id, SNAPSHOT, (1, 2)).await, Some((4, "ex".into())));
                let mut writer = node.begun(Isolation::ReadCommitted);
                let writes = vec![change(&table, id, append(b"ual")), change(&table, 99, append(b"x"))];
                assert_eq!(writer.write_many(&table, writes).await.unwrap().skipped, [1]);
                assert_eq!(slice(&mut writer, &table, id, SNAPSHOT, (3, 100)).await, Some((7, "tual".into())));
                writer.commit().await.unwrap();
                assert_eq!(slice(&mut reader, &table, id, SNAPSHOT, (2, 9)).await, Some((4, "xt".into())));
                // A locking read sees the newest version.
                assert_eq!(slice(&mut reader, &table, id, FOR_SHARE, (2, 9)).await, Some((7, "xtual".into())));
                assert_eq!(slice(&mut reader, &table, id, FOR_SHARE, (9, 9)).await, Some((7, String::new())));
                assert_eq!(slice(&mut reader, &table, 99, SNAPSHOT, (0, 9)).await, None);
            }
        }
    });
}

#[test]
fn pieces_are_staged_one_by_one_and_taken_back_to_any_savepoint() {
    run(async {
        let node = TestNode::new(4);
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, (0..4).map(|id| (id, Some(id)))).await;
        for id in 0..4 {
            let mut writer = node.begun(Isolation::ReadCommitted);
            let mut savepoints = vec![(writer.savepoint(), "text".to_owned())];
            for piece in ["-one", "-two", "-three", "-four"] {
                writer.write_many(&table, vec![change(&table, id, append(piece.as_bytes()))]).await.unwrap();
                let text = savepoints.last().unwrap().1.clone() + piece;
                savepoints.push((writer.savepoint(), text));
            }
            for (savepoint, text) in savepoints.iter().rev() {
                writer.rollback_to(savepoint);
                let found = slice(&mut writer, &table, id, SNAPSHOT, (0, 100)).await;
                assert_eq!(found, Some((text.len() as u64, text.clone())));
            }
            let over = BytesChange::WriteAt { position: 2, bytes: b"ACK".to_vec() };
            let writes = vec![change(&table, id, over), change(&table, id, BytesChange::Truncate(3))];
            writer.write_many(&table, writes).await.unwrap();
            let too_long = vec![change(&table, id, append(&[b'x'; 401]))];
            assert_eq!(writer.write_many(&table, too_long).await.unwrap_err().errno(), 1406);
            writer.commit().await.unwrap();
            let mut reader = node.transaction();
            assert_eq!(slice(&mut reader, &table, id, SNAPSHOT, (0, 100)).await, Some((3, "teA".into())));
            let mut whole = node.transaction();
            let end = whole.write_and_commit(&table, vec![change(&table, id, append(b"m"))]).await.unwrap();
            assert_eq!(end, BatchEnd::default());
        }
        let mut rows = node.transaction();
        let mut texts = Vec::new();
        let mut scan = rows.scan(scan_all(&table, 0, true, SNAPSHOT));
        let mut visit = |row: shoal_types::row::RowRef<'_>| {
            texts.push(String::from_utf8(row.raw(C).to_vec()).unwrap());
            Ok(Visit::Take)
        };
        while scan.next(&mut rows, &mut visit).await.unwrap() {}
        assert_eq!(texts, ["teAm"; 4]);
    });
}

#[test]
fn how_much_of_a_text_is_well_formed_is_said_when_it_is_asked() {
    run(async {
        let node = TestNode::new(2);
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, [(1, None)]).await;
        let mut writer = node.begun(Isolation::ReadCommitted);
        for (piece, expected) in [(&b"\xc3"[..], 4), (b"\xa9", 6), (b"\xff-", 6)] {
            writer.write_many(&table, vec![change(&table, 1, append(piece))]).await.unwrap();
            let wanted = ColumnSlice { column: C, offset: 6, length: 2, checks: true };
            let found = writer.get_slice(&table, &key(&table, 1), SNAPSHOT, wanted).await.unwrap();
            let Sliced::Value { well_formed, .. } = found else { panic!("{found:?}") };
            assert_eq!(well_formed, expected);
        }
        let beyond = ColumnSlice { column: 9, offset: 0, length: 0, checks: false };
        assert!(writer.get_slice(&table, &key(&table, 1), SNAPSHOT, beyond).await.is_err());
    });
}
