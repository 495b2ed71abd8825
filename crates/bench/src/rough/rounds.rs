//! Servers that take turns.

use std::io;

use crate::measure::interrupt;

use super::Session;
use super::memory::PeakMemory;
use super::row::{Cell, Row};
use super::target::{Target, Who};

/// Starts every server; Shoal's peers only if they are wanted.
pub fn start(session: &Session, servers: &[Who], arguments: &[&str]) -> io::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for &who in servers.iter().filter(|who| who.is_shoal() || !session.plan.alone) {
        session.progress.doing(format!("{}: start", who.name()));
        let arguments = if who == Who::Shoal { arguments } else { &[] };
        match Target::start_with(who, session.plan, arguments) {
            Ok(target) => targets.push(target),
            Err(error) if who.is_shoal() => return Err(error),
            Err(error) => session.progress.say(&format!("{} is not available: {error}", who.name())),
        }
    }
    Ok(targets)
}

/// Gives every server its turn in every round. `measure` adds to the cell; what it fails with ends the server's part in the row.
pub fn alternate(
    session: &Session,
    row: &mut Row,
    targets: &mut [Target],
    rounds: u32,
    mut measure: impl FnMut(&mut Target, &mut Cell) -> io::Result<()>,
) {
    for round in 0..rounds {
        for active in 0..targets.len() {
            let cell = row.cell_mut(targets[active].who);
            if cell.failure.is_some() || interrupt::requested() {
                continue;
            }
            session.progress.doing(format!("{} {} {}/{rounds}", row.load, targets[active].who.name(), round + 1));
            for (number, target) in targets.iter_mut().enumerate() {
                if number == active { target.resume() } else { target.pause() }
            }
            let cell = row.cell_mut(targets[active].who);
            let memory = PeakMemory::of(&targets[active]);
            let result = measure(&mut targets[active], cell);
            cell.peak_resident = cell.peak_resident.max(memory.bytes());
            if let Err(error) = result {
                cell.failure = Some(targets[active].explain(&error));
            }
        }
    }
    targets.iter_mut().for_each(Target::resume);
}
