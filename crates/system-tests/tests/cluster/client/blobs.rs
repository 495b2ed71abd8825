//! Long values in pieces: one version for each reader, one copy and one outcome for each writer.

use std::task::Poll;

use shoal_client::{AnyTransaction, Blob};

use super::*;

const FILES: &str = "CREATE TABLE files (id INT NOT NULL PRIMARY KEY, name VARCHAR(8) NOT NULL DEFAULT '', data LONGBLOB, \
    body LONGTEXT CHARACTER SET utf8mb4, tiny TINYBLOB NOT NULL, tag VARCHAR(20), document JSON, \
    changed TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, UNIQUE KEY (tag))";
const PIECE: usize = 64 << 10;

/// Bytes that are others at every position and for every seed.
fn bytes(seed: u32, length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed * 7919) >> 13) as u8).collect()
}

/// The table with rows of these keys, and a client, which would keep a definition waiting while it is idle.
fn files(cluster: &DevCluster, address: &str, ids: std::ops::Range<i64>) -> (LocalClient, shoal_client::Table) {
    cluster.client(1).execute(FILES).unwrap();
    let client = connect(address);
    let files = table(&client, "files");
    let rows: Vec<Vec<Value>> = ids.map(|id| vec![Value::Int(id), Value::str("")]).collect();
    client.block_on(client.insert_many(&files, &["id", "tiny"], &rows)).unwrap();
    (client, files)
}

async fn all_of(blob: &mut Blob, transaction: &mut impl AnyTransaction) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(piece) = blob.next(transaction).await.unwrap() {
        all.extend_from_slice(&piece);
    }
    all
}

/// For futures that may move between the threads of a runtime.
fn sendable<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn a_value_is_written_and_read_in_pieces_and_every_reader_has_one_version() {
    let (cluster, address) = cluster();
    let (client, files) = files(&cluster, &address, 0..4);
    let mut sql = cluster.client(1);
    client.block_on(async {
        for id in 0..4 {
            let first = bytes(1, 5 << 20);
            let mut writer = client.write_blob(&files, &int(id), "data").await.unwrap().unwrap();
            for piece in first.chunks(PIECE) {
                writer.append(piece).await.unwrap();
            }
            // Nobody sees anything before the end.
            assert_eq!(sql.text(&format!("SELECT data FROM files WHERE id = {id}")).unwrap(), ["NULL"]);
            writer.finish().await.unwrap();
            let lengths = sql.text(&format!("SELECT LENGTH(data), changed IS NULL FROM files WHERE id = {id}"));
            assert_eq!(lengths.unwrap(), [format!("{},0", 5 << 20)]);
            // A reader outside of a transaction has a snapshot, whatever is written meanwhile, and however often.
            let mut reader =
                client.read_blob(&files, &int(id), "data").await.unwrap().unwrap().with_pieces_of(PIECE);
            assert_eq!(reader.length(), Some(5 << 20));
            let mut read = Vec::new();
            while let Some(piece) = reader.next().await.unwrap() {
                assert!(piece.len() <= PIECE);
                read.extend_from_slice(&piece);
                if read.len() % (1 << 20) == 0 {
                    let change =
                        format!("UPDATE files SET data = REPEAT('{}', 100000) WHERE id = {id}", read.len() >> 20);
                    sql.execute(&change).unwrap();
                }
            }
            assert!(read == first, "pieces of another version");
            assert_eq!(reader.read_at(5 << 20, 10).await.unwrap(), Some(Vec::new()));
            assert_eq!(reader.read_at((5 << 20) - 3, 10).await.unwrap(), Some(first[first.len() - 3..].to_vec()));
            reader.seek(1 << 20);
            assert_eq!(reader.next().await.unwrap().unwrap(), first[1 << 20..][..PIECE]);
            drop(reader);
            // One in a READ COMMITTED transaction keeps writers out.
            let mut transaction = client.begin(Isolation::ReadCommitted);
            let mut blob = transaction.blob(&files, &int(id), "data", ReadMode::default()).await.unwrap().unwrap();
            assert!(sql.execute(&format!("SELECT id FROM files WHERE id = {id} FOR UPDATE NOWAIT")).is_err());
            assert_eq!(all_of(&mut blob, &mut transaction).await, [b'5'; 100_000]);
            transaction.commit().await.unwrap();
        }
    });
}

#[test]
fn what_is_written_in_a_transaction_follows_its_savepoints_and_its_end() {
    let (cluster, address) = cluster();
    let (client, files) = files(&cluster, &address, 0..4);
    let mut sql = cluster.client(1);
    client.block_on(async {
        for id in 0..4 {
            let mut transaction = client.begin(Isolation::ReadCommitted);
            let mut blob = transaction.blob(&files, &int(id), "data", LOCKED).await.unwrap().unwrap();
            assert_eq!(blob.length(&mut transaction).await.unwrap(), None);
            assert_eq!(blob.read_at(&mut transaction, 0, 10).await.unwrap(), None);
            assert_eq!(blob.next(&mut transaction).await.unwrap(), None);
            blob.truncate(&mut transaction, 5).await.unwrap();
            assert_eq!(blob.length(&mut transaction).await.unwrap(), None);
            blob.write_at(&mut transaction, 3, b"four").await.unwrap();
            assert_eq!(all_of(&mut blob, &mut transaction).await, b"\0\0\0four");
            let mut expected = bytes(2, 700_000);
            blob.write_at(&mut transaction, 0, &expected).await.unwrap();
            let early = transaction.savepoint();
            blob.append(&mut transaction, &bytes(3, 300_000)).await.unwrap();
            blob.write_at(&mut transaction, 650_000, &[0; 100_000]).await.unwrap();
            blob.truncate(&mut transaction, 10).await.unwrap();
            let late = transaction.savepoint();
            blob.set_null(&mut transaction).await.unwrap();
            blob.append(&mut transaction, b"after NULL").await.unwrap();
            assert_eq!(blob.read_at(&mut transaction, 6, 10).await.unwrap(), Some(b"NULL".to_vec()));
            transaction.rollback_to(&late);
            assert_eq!(blob.read_at(&mut transaction, 0, 99).await.unwrap(), Some(expected[..10].to_vec()));
            transaction.rollback_to(&early);
            blob.seek(0);
            assert!(all_of(&mut blob, &mut transaction).await == expected);
            // A change that fails takes back the pieces of its own, and no more.
            let mut tiny =
                transaction.blob(&files, &int(id), "tiny", LOCKED).await.unwrap().unwrap().with_pieces_of(100);
            tiny.append(&mut transaction, &[b't'; 50]).await.unwrap();
            let error = tiny.append(&mut transaction, &[b'u'; 206]).await.unwrap_err();
            assert_eq!((error.errno(), error.message()), (1406, "Data too long for column 'tiny' at row 1"));
            assert_eq!(tiny.length(&mut transaction).await.unwrap(), Some(50));
            assert_eq!(tiny.set_null(&mut transaction).await.unwrap_err().errno(), 1048);
            let error = blob.write_at(&mut transaction, 60 << 20, b"x").await.unwrap_err();
            assert_eq!(error.errno(), 1153, "{error}");
            expected.splice(100..108, *b"in place");
            blob.write_at(&mut transaction, 100, b"in place").await.unwrap();
            transaction.commit().await.unwrap();
            let row = client.get(&files, &int(id)).await.unwrap().unwrap();
            assert!(row.get("data") == Some(Value::Str(expected)));
            assert_eq!(row.get("tiny"), Some(Value::Str(vec![b't'; 50])));
            // What is not committed was not there.
            let mut writer = client.write_blob(&files, &int(id), "data").await.unwrap().unwrap();
            writer.append(b"gone").await.unwrap();
            drop(writer);
            let mut writer = client.write_blob(&files, &int(id), "tiny").await.unwrap().unwrap();
            writer.append(b"begun").await.unwrap();
            assert_eq!(writer.append(&[0; 300]).await.unwrap_err().errno(), 1406);
            assert!(writer.finish().await.is_err());
            let found =
                sql.text(&format!("SELECT LENGTH(data), LENGTH(tiny) FROM files WHERE id = {id}")).unwrap();
            assert_eq!(found, ["700000,50"]);
        }
    });
}

/// The blob remembered that its row had the present time, though a savepoint had taken that back, and in other transactions as well.
#[test]
fn a_row_has_the_time_of_its_change_whatever_became_of_earlier_ones() {
    let (cluster, address) = cluster();
    let (client, files) = files(&cluster, &address, 0..2);
    let mut sql = cluster.client(1);
    client.block_on(async {
        let mut transaction = client.begin(Isolation::ReadCommitted);
        let before = transaction.savepoint();
        let mut first = transaction.blob(&files, &int(0), "data", LOCKED).await.unwrap().unwrap();
        let mut second = transaction.blob(&files, &int(1), "data", LOCKED).await.unwrap().unwrap();
        first.append(&mut transaction, b"gone").await.unwrap();
        second.append(&mut transaction, b"gone").await.unwrap();
        transaction.rollback_to(&before);
        first.append(&mut transaction, b"stays").await.unwrap();
        transaction.commit().await.unwrap();
        let mut transaction = client.begin(Isolation::ReadCommitted);
        second.append(&mut transaction, b"stays").await.unwrap();
        transaction.commit().await.unwrap();
    });
    let rows = sql.text("SELECT id, data, changed IS NULL FROM files ORDER BY id").unwrap();
    assert_eq!(rows, ["0,stays,0", "1,stays,0"]);
}

/// What had been appended when it was given up could be committed: half a piece.
#[test]
fn a_writer_whose_piece_was_given_up_commits_nothing() {
    let (cluster, address) = cluster();
    let (client, files) = files(&cluster, &address, 0..1);
    client.block_on(async {
        let mut writer = client.write_blob(&files, &int(0), "data").await.unwrap().unwrap();
        writer.append(b"whole").await.unwrap();
        let piece = bytes(5, 3 << 20);
        {
            let mut appending = std::pin::pin!(writer.append(&piece));
            let is_pending =
                std::future::poll_fn(|context| Poll::Ready(appending.as_mut().poll(context).is_pending()));
            assert!(is_pending.await, "three megabytes take more than one round trip");
        }
        let error = writer.finish().await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotCommitted, "{error}");
        let row = client.get(&files, &int(0)).await.unwrap().unwrap();
        assert_eq!(row.get("data"), Some(Value::Null));
    });
}

#[test]
fn a_text_that_is_not_of_its_character_set_is_not_committed() {
    let (cluster, address) = cluster();
    let (client, files) = files(&cluster, &address, 0..2);
    let mut sql = cluster.client(1);
    client.block_on(async {
        // Pieces end wherever they end.
        let text = "Grüße, 世界! 🐟 ".repeat(3000);
        let mut writer = client.write_blob(&files, &int(0), "body").await.unwrap().unwrap();
        for piece in text.as_bytes().chunks(1001) {
            writer.append(piece).await.unwrap();
        }
        writer.finish().await.unwrap();
        let same = format!("SELECT body = '{text}' FROM files WHERE id = 0");
        assert_eq!(sql.text(&same).unwrap(), ["1"]);
        let mut writer = client.write_blob(&files, &int(0), "body").await.unwrap().unwrap();
        writer.append(&text.as_bytes()[..3]).await.unwrap();
        let error = writer.finish().await.unwrap_err();
        let message = "Incorrect string value: '\\xC3' for column 'body' at row 1";
        assert_eq!((error.errno(), error.message(), error.outcome()), (1366, message, Outcome::NotCommitted));
        for position in [3, 9] {
            let mut transaction = client.begin(Isolation::RepeatableRead);
            let mut body = transaction.blob(&files, &int(0), "body", ReadMode::default()).await.unwrap().unwrap();
            body.write_at(&mut transaction, position, b"x").await.unwrap();
            assert_eq!(transaction.commit().await.unwrap_err().errno(), 1366);
        }
        assert_eq!(sql.text(&same).unwrap(), ["1"]);
        // What is mended, taken back or deleted does not matter.
        let mut transaction = client.begin(Isolation::ReadCommitted);
        let mut body = transaction.blob(&files, &int(0), "body", LOCKED).await.unwrap().unwrap();
        let before = transaction.savepoint();
        body.write_at(&mut transaction, 0, b"\xff").await.unwrap();
        transaction.rollback_to(&before);
        body.truncate(&mut transaction, 3).await.unwrap();
        body.append(&mut transaction, "ü".as_bytes().split_at(1).1).await.unwrap();
        body.write_at(&mut transaction, 8, b"!").await.unwrap();
        let mut other = transaction.blob(&files, &int(1), "body", LOCKED).await.unwrap().unwrap();
        other.append(&mut transaction, b"\xff").await.unwrap();
        assert!(transaction.delete(&files, &int(1)).await.unwrap());
        assert_eq!(other.append(&mut transaction, b"x").await.unwrap_err().errno(), 1032);
        transaction.commit().await.unwrap();
        assert_eq!(sql.text("SELECT id, body FROM files").unwrap(), ["0,Grü    !"]);
        // A VARCHAR has so many characters, not bytes.
        for (text, errno) in [("🐟🐟🐟🐟🐟🐟🐟🐟", 0), ("123456789", 1406)] {
            let mut writer = client.write_blob(&files, &int(0), "name").await.unwrap().unwrap();
            writer.append(text.as_bytes()).await.unwrap();
            assert_eq!(writer.finish().await.err().map_or(0, |error| error.errno()), errno, "{text}");
        }
        // What is no long value, and what is not there.
        for (column, errno) in [("id", 1235), ("document", 1235), ("nothing", 1054)] {
            let error = client.read_blob(&files, &int(0), column).await.err().unwrap();
            assert_eq!(error.errno(), errno, "{error}");
        }
        assert_eq!(client.write_blob(&files, &int(0), "tag").await.err().unwrap().errno(), 1235);
        assert!(client.write_blob(&files, &int(1), "body").await.unwrap().is_none());
        assert!(client.read_blob(&files, &int(1), "body").await.unwrap().is_none());
    });
}

#[test]
fn clients_of_many_threads_stream_values_too() {
    let (cluster, address) = cluster();
    let (_, files) = files(&cluster, &address, 0..3);
    let many = futures_block_on(Client::connect(&address, Options::default())).unwrap();
    let files = many.table("test", files.name()).unwrap();
    let expected = bytes(4, 3 << 20);
    futures_block_on(sendable(async {
        for id in 0..3 {
            let mut writer = many.write_blob(&files, int(id), "data").await.unwrap().unwrap();
            for piece in expected.chunks(PIECE * 3) {
                writer.append(piece).await.unwrap();
            }
            writer.finish().await.unwrap();
            let mut reader = many.read_blob(&files, int(id), "data").await.unwrap().unwrap();
            let mut read = Vec::new();
            while let Some(piece) = reader.next().await.unwrap() {
                read.extend_from_slice(&piece);
            }
            assert!(read == expected);
            let mut transaction = many.begin(Isolation::ReadCommitted).await.unwrap();
            let mut blob = transaction.blob(&files, int(id), "data", LOCKED).await.unwrap().unwrap();
            blob.truncate(&mut transaction, 4).await.unwrap();
            blob.append(&mut transaction, b"and more").await.unwrap();
            blob.seek(2);
            let whole = [&expected[2..4], b"and more"].concat();
            assert_eq!(blob.next(&mut transaction).await.unwrap(), Some(whole));
            transaction.commit().await.unwrap();
        }
    }));
}

/// An entry that replicas cannot be sent would be in the way of all behind it.
#[test]
fn rows_that_are_too_much_for_one_commit_are_refused_and_the_partition_goes_on() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute(
        "CREATE TABLE together (part INT NOT NULL, id INT NOT NULL, data LONGBLOB, PRIMARY KEY (part, id)) \
         PARTITION BY KEY (part)",
    )
    .unwrap();
    let client = connect(&address);
    let together = table(&client, "together");
    let key = |id: i64| vec![Value::Int(1), Value::Int(id)];
    client.block_on(async {
        let rows: Vec<_> = (0..3).map(|id| vec![Value::Int(1), Value::Int(id), Value::str("old")]).collect();
        client.insert_many(&together, &[], &rows).await.unwrap();
        let mut transaction = client.begin(Isolation::ReadCommitted);
        for id in 0..3 {
            let mut blob = transaction.blob(&together, &key(id), "data", LOCKED).await.unwrap().unwrap();
            blob.write_at(&mut transaction, 22 << 20, b"end").await.unwrap();
        }
        let error = transaction.commit().await.unwrap_err();
        assert_eq!((error.errno(), error.outcome()), (1197, Outcome::NotCommitted), "{error}");
        let mut writer = client.write_blob(&together, &key(2), "data").await.unwrap().unwrap();
        writer.append(b"new").await.unwrap();
        writer.finish().await.unwrap();
    });
    assert_eq!(sql.text("SELECT id, data FROM together ORDER BY id").unwrap(), ["0,old", "1,old", "2,new"]);
}

#[test]
fn a_value_in_the_making_is_whole_or_not_there_when_a_leader_dies() {
    let (cluster, address) = cluster();
    let (client, files) = files(&cluster, &address, 0..8);
    let expected = bytes(5, 2 << 20);
    let mut written = Vec::new();
    client.block_on(async {
        let mut writers = Vec::new();
        for id in 0..8 {
            writers.push((id, client.write_blob(&files, &int(id), "data").await.unwrap().unwrap()));
        }
        for (number, piece) in expected.chunks(4 * PIECE).enumerate() {
            if number == 3 {
                cluster.kill(2);
            }
            for (_, writer) in &mut writers {
                // What was led by the node that has died is lost, and says so at every further step.
                let _ = writer.append(piece).await;
            }
        }
        for (id, writer) in writers {
            match writer.finish().await {
                Ok(()) => written.push((id, true)),
                Err(error) => {
                    assert_eq!(error.outcome(), Outcome::NotCommitted, "{error}");
                    written.push((id, false));
                }
            }
        }
        assert!(written.iter().any(|(_, is_written)| *is_written));
        assert!(written.iter().any(|(_, is_written)| !is_written));
        for (id, is_written) in written {
            let mut reader = client.read_blob(&files, &int(id), "data").await.unwrap().unwrap();
            assert_eq!(reader.length(), is_written.then_some(expected.len() as u64));
            let found = reader.read_at(0, usize::MAX).await.unwrap();
            assert!(found == is_written.then(|| expected.clone()));
        }
    });
}
