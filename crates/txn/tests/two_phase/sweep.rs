//! Faults at every step: each kind of fault at each step of two transactions that meet at one account, and all pairs of
//! faults at all pairs of steps of one transaction; under several orders in which messages arrive.

use crate::world::{Counters, Move, World};

#[derive(Clone, Copy, Debug)]
enum Fault {
    Restart(usize),
    Kill(usize),
    GiveUp(usize),
    LoseFirst,
    LoseLast,
    TimeOutFirst,
    TimeOutLast,
    TakeOver(usize),
    Checkpoint(usize),
}

const FAULTS: [Fault; 17] = [
    Fault::Restart(0),
    Fault::Restart(1),
    Fault::Restart(2),
    Fault::Kill(0),
    Fault::Kill(1),
    Fault::GiveUp(0),
    Fault::GiveUp(1),
    Fault::LoseFirst,
    Fault::LoseLast,
    Fault::TimeOutFirst,
    Fault::TimeOutLast,
    Fault::TakeOver(0),
    Fault::TakeOver(1),
    Fault::TakeOver(2),
    Fault::Checkpoint(0),
    Fault::Checkpoint(1),
    Fault::Checkpoint(2),
];

/// What the first fault may have left open.
const SECOND_FAULTS: [Fault; 7] = [
    Fault::Restart(0),
    Fault::Restart(1),
    Fault::Restart(2),
    Fault::Kill(0),
    Fault::GiveUp(0),
    Fault::LoseFirst,
    Fault::TimeOutFirst,
];

/// Which of the possible moves comes next.
#[derive(Clone, Copy, Debug)]
enum Order {
    First,
    Last,
    /// Logs become durable at the last moment.
    PersistLast,
    /// One partition is slow: what is for it comes after everything else.
    Slow(usize),
}

const ORDERS: [Order; 5] = [Order::First, Order::Last, Order::PersistLast, Order::Slow(0), Order::Slow(2)];

fn choose(world: &World, order: Order) -> Option<Move> {
    let moves = world.moves();
    let is_slow = |what: &&Move| match (order, what) {
        (Order::PersistLast, Move::Persist(_)) => true,
        (Order::Slow(slow), Move::Persist(number)) => slow == *number,
        (Order::Slow(slow), Move::Deliver(number)) => world.is_for(*number, slow),
        _ => false,
    };
    match order {
        Order::Last => moves.last().copied(),
        _ => moves.iter().find(|what| !is_slow(what)).or(moves.first()).copied(),
    }
}

fn inject(world: &mut World, fault: Fault) {
    let messages = world.messages.len();
    match fault {
        Fault::Restart(number) => world.restart(number),
        Fault::Kill(client) => world.kill(client),
        Fault::GiveUp(client) => world.give_up(client),
        Fault::LoseFirst if messages > 0 => world.lose(0),
        Fault::LoseLast if messages > 0 => world.lose(messages - 1),
        Fault::TimeOutFirst if messages > 0 => world.time_out(0),
        Fault::TimeOutLast if messages > 0 => world.time_out(messages - 1),
        Fault::TakeOver(number) => world.take_over(number),
        // Half of it at this step.
        Fault::Checkpoint(number) => (0..5).for_each(|_| world.servers[number].go_on_with_checkpoint()),
        Fault::LoseFirst | Fault::LoseLast | Fault::TimeOutFirst | Fault::TimeOutLast => {}
    }
}

/// Runs the scenario with faults at these steps; returns how many steps there were.
fn run(order: Order, transactions: usize, faults: &[(usize, Fault)], counters: &mut Counters) -> usize {
    let mut world = World::new(3, 2, 250);
    // One empties an account, the other one another; both write to the first.
    world.begin(0, vec![(0, 1, -3), (1, 1, 1), (2, 1, 2)]);
    if transactions > 1 {
        world.begin(1, vec![(0, 1, 1), (1, 2, -3), (1, 3, 2)]);
    }
    let mut steps = 0;
    while steps < 400 {
        for &(_, fault) in faults.iter().filter(|&&(step, _)| step == steps) {
            inject(&mut world, fault);
        }
        if steps % 4 == 0 && world.readers() == 0 {
            world.begin_read();
        }
        if steps % 7 == 3 {
            (0..3).for_each(|number| world.collect_garbage(number));
        }
        while let Some(Move::Read(reader)) = choose(&world, order) {
            world.make(Move::Read(reader));
        }
        let Some(what) = choose(&world, order) else { break };
        world.make(what);
        steps += 1;
    }
    world.heal();
    world.check_end();
    counters.add(world.counters);
    steps
}

/// Everything but reading goes on until nothing moves.
fn go_on_without_readers(world: &mut World) {
    while let Some(what) = world.moves().into_iter().find(|what| !matches!(what, Move::Read(_))) {
        world.make(what);
    }
}

/// A reader has seen one partition without a transaction that does not exist yet; the partition's next leader must not
/// prepare one before that snapshot, or the reader sees the other half of it.
#[test]
fn a_partitions_next_leader_prepares_nothing_before_snapshots_that_were_read_here() {
    let mut world = World::new(3, 1, 0);
    world.servers[2].clock = 10_000;
    world.begin(0, vec![(2, 0, 1), (2, 1, -1)]);
    go_on_without_readers(&mut world);
    world.begin_read();
    while world.reads_from(0) == 0 {
        world.make(Move::Read(0));
    }
    world.restart(0);
    world.begin(0, vec![(0, 0, 1), (1, 0, -1)]);
    go_on_without_readers(&mut world);
    assert_eq!(world.counters.committed, 2);
    world.heal();
    world.check_end();
}

/// Names the faults if they are too much.
fn run_named(order: Order, transactions: usize, faults: &[(usize, Fault)], counters: &mut Counters) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run(order, transactions, faults, counters);
    }));
    if let Err(panic) = outcome {
        println!("{order:?}: {faults:?}");
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn any_fault_at_any_step_leaves_all_or_nothing() {
    let mut counters = Counters::default();
    for order in ORDERS {
        let steps = run(order, 2, &[], &mut counters);
        for step in 0..=steps {
            for fault in FAULTS {
                run_named(order, 2, &[(step, fault)], &mut counters);
            }
        }
    }
    println!("{counters:?}");
    assert!(counters.unknown > 0 && counters.asked_home > 0 && counters.restarts_with_prepared > 0);
    assert!(counters.decided_late > 0 && counters.deaths_while_committing > 0);
}

#[test]
fn any_two_faults_leave_all_or_nothing() {
    let mut counters = Counters::default();
    for order in [Order::First, Order::Slow(2)] {
        let steps = run(order, 1, &[], &mut counters);
        for (first, second) in (0..=steps).flat_map(|first| (first..=steps).map(move |second| (first, second))) {
            for (one, other) in FAULTS.iter().flat_map(|&one| SECOND_FAULTS.iter().map(move |&other| (one, other)))
            {
                run_named(order, 1, &[(first, one), (second, other)], &mut counters);
            }
        }
    }
    println!("{counters:?}");
    assert!(counters.unknown > 0 && counters.asked_home > 0 && counters.restarts_with_prepared > 0);
}
