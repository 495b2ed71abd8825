use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use shoal_types::schema::TableOptions;
use shoal_types::*;

use super::*;
use crate::dictionary::sequence::Sequence;

const LONG: Duration = Duration::from_secs(60);

fn table(id: u32) -> Arc<Table> {
    let column = Column::new("id", SqlType::bigint(false));
    let primary = Index::new(IndexId(0), "PRIMARY", &[0], true, IndexMethod::BTree);
    let options = TableOptions::new("NDB", Collation::default());
    let schema = TableSchema {
        id: TableId(id),
        version: 1,
        database: "d".into(),
        name: format!("t{id}"),
        columns: vec![column],
        indexes: vec![primary],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options,
    };
    Arc::new(Table::new(schema, Arc::new(Sequence::new(1))))
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_definition_waits_for_users_and_keeps_newcomers_out_but_not_users_of_other_tables() {
    run(async {
        let slots = Arc::new(WaitSlots::default());
        let locks = MetadataLocks::new(Arc::clone(&slots));
        let (one, two) = (table(1), table(2));
        assert!(locks.try_share(&one, false));
        let tables = [Arc::clone(&one), Arc::clone(&two)];
        let mut definition = pin!(locks.exclusive(&tables, LONG));
        assert!(poll(&mut definition).is_pending());
        assert!(!locks.try_share(&two, false));
        let mut waiter = slots.waiter();
        let mut newcomer = Box::pin(locks.share(&two, false, &mut waiter, LONG));
        assert!(poll(&mut newcomer).is_pending());
        // The user of the first table goes past.
        assert!(locks.try_share(&two, true));
        locks.release(&one);
        assert!(poll(&mut definition).is_pending());
        locks.release(&two);
        let Poll::Ready(Ok(held)) = poll(&mut definition) else { panic!("the definition still waits") };
        assert!(!locks.try_share(&one, true));
        assert!(poll(&mut newcomer).is_pending());
        drop(held);
        assert!(poll(&mut newcomer).is_ready());
        assert_eq!((one.metadata_lock.users(), two.metadata_lock.users()), (0, 1));
    });
}

#[test]
fn definitions_of_one_table_take_turns_and_a_cancelled_one_is_forgotten() {
    run(async {
        let locks = MetadataLocks::new(Arc::default());
        let (one, two) = (table(1), table(2));
        let first = locks.exclusive(std::slice::from_ref(&one), LONG).await.unwrap();
        let both = [Arc::clone(&one), Arc::clone(&two)];
        let mut second = Box::pin(locks.exclusive(&both, LONG));
        let mut third = Box::pin(locks.exclusive(std::slice::from_ref(&two), LONG));
        assert!(poll(&mut second).is_pending());
        // It may not overtake the second, which came before it.
        assert!(poll(&mut third).is_pending());
        drop(second);
        assert!(poll(&mut third).is_ready());
        drop(first);
        drop(third);
        assert!(locks.try_share(&one, false) && locks.try_share(&two, false));
    });
}

#[test]
fn waiting_too_long_is_error_1205_on_either_side() {
    run(async {
        let slots = Arc::new(WaitSlots::default());
        let locks = MetadataLocks::new(Arc::clone(&slots));
        let one = table(1);
        assert!(locks.try_share(&one, false));
        let short = Duration::from_millis(1);
        let error = locks.exclusive(std::slice::from_ref(&one), short).await.err().unwrap();
        assert_eq!(error.errno(), 1205);
        locks.release(&one);
        let _held = locks.exclusive(std::slice::from_ref(&one), LONG).await.unwrap();
        let mut waiter = slots.waiter();
        let error = locks.share(&one, false, &mut waiter, short).await.err().unwrap();
        assert_eq!(error.errno(), 1205);
    });
}

#[test]
fn a_table_that_is_held_by_the_dictionary_keeps_newcomers_out_at_once_and_until_all_who_have_it_let_go() {
    run(async {
        let locks = MetadataLocks::new(Arc::default());
        let one = table(1);
        assert!(locks.try_share(&one, false));
        let held = locks.hold(&one);
        assert!(!locks.try_share(&one, true));
        let tables = [Arc::clone(&one)];
        let mut definition = pin!(locks.exclusive(&tables, LONG));
        locks.release(&one);
        assert!(poll(&mut definition).is_pending());
        drop(held);
        let definition = definition.await.unwrap();
        let held = locks.hold(&one);
        drop(definition);
        assert!(!locks.try_share(&one, true));
        drop(held);
        assert!(locks.try_share(&one, false));
    });
}

#[test]
fn a_frozen_table_is_read_and_not_written_until_all_who_froze_it_let_go() {
    run(async {
        let slots = Arc::new(WaitSlots::default());
        let locks = MetadataLocks::new(Arc::clone(&slots));
        let one = table(1);
        let tables = [Arc::clone(&one)];
        let exclusive = locks.exclusive(&tables, LONG).await.unwrap();
        let (first, second) = (locks.freeze(&tables), locks.freeze(&tables));
        drop(exclusive);
        assert!(locks.try_share(&one, false));
        let mut waiter = slots.waiter();
        let mut writer = Box::pin(locks.await_writable(&one, false, &mut waiter, LONG));
        assert!(poll(&mut writer).is_pending());
        drop(first);
        assert!(poll(&mut writer).is_pending());
        // The definition has the table again when the reader has gone, and nobody has written.
        let mut again = Box::pin(locks.exclusive(&tables, LONG));
        assert!(poll(&mut again).is_pending() && poll(&mut writer).is_pending());
        locks.release(&one);
        assert!(poll(&mut again).is_ready());
        drop(again);
        drop(second);
        assert!(poll(&mut writer).is_ready());
        assert!(!one.metadata_lock.is_frozen() && locks.try_share(&one, false));
    });
}

/// The definition waits for the reader, and the reader for the definition.
#[test]
fn a_reader_that_waits_to_write_is_told_of_the_deadlock_when_the_definition_wants_the_table() {
    run(async {
        let slots = Arc::new(WaitSlots::default());
        let locks = MetadataLocks::new(Arc::clone(&slots));
        let one = table(1);
        let tables = [Arc::clone(&one)];
        let _frozen = locks.freeze(&tables);
        assert!(locks.try_share(&one, false));
        let mut waiter = slots.waiter();
        let mut writer = Box::pin(locks.await_writable(&one, true, &mut waiter, LONG));
        assert!(poll(&mut writer).is_pending());
        let mut again = Box::pin(locks.exclusive(&tables, LONG));
        assert!(poll(&mut again).is_pending());
        let Poll::Ready(Err(error)) = poll(&mut writer) else { panic!("the reader still waits") };
        assert_eq!(error.errno(), 1213);
        locks.release(&one);
        assert!(poll(&mut again).is_ready());
    });
}
