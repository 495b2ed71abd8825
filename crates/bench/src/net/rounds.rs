//! Configurations that take turns.

use std::io;

use super::contestant::Contestant;
use super::row::{Cell, Row};
use crate::measure::interrupt;
use crate::measure::progress::Progress;

/// Returns the figure of one run.
type Measure<'a> = dyn Fn(&Contestant) -> io::Result<f64> + 'a;

/// One configuration of a row.
pub struct Setting<'a> {
    pub name: String,
    /// Which of the contestants.
    pub place: usize,
    pub measure: Box<Measure<'a>>,
}

impl<'a> Setting<'a> {
    pub fn new(
        name: impl Into<String>,
        place: usize,
        measure: impl Fn(&Contestant) -> io::Result<f64> + 'a,
    ) -> Setting<'a> {
        Setting { name: name.into(), place, measure: Box::new(measure) }
    }
}

/// Measures all of them `runs` times, in turn (A B A B ...), so that a slow minute of the machine hits all alike. Who is not measured is paused. A
/// configuration that fails is not tried again.
pub fn alternate(
    contestants: &mut [Contestant],
    row: &mut Row,
    settings: &[Setting],
    runs: u32,
    progress: &Progress,
) -> io::Result<()> {
    for round in 0..runs {
        for setting in settings {
            if interrupt::requested() {
                return Ok(());
            }
            give_the_floor_to(setting.place, contestants)?;
            progress.doing(format!("{}: {} {}/{runs}", row.what, setting.name, round + 1));
            let cell = row.cell(&setting.name);
            if cell.failure.is_none() {
                record(cell, (setting.measure)(&contestants[setting.place]));
            }
        }
    }
    Ok(())
}

fn record(cell: &mut Cell, measured: io::Result<f64>) {
    match measured {
        Ok(figure) => cell.runs.push(figure),
        Err(error) => cell.failure = Some(error.to_string()),
    }
}

/// The others are paused.
pub fn give_the_floor_to(active: usize, contestants: &mut [Contestant]) -> io::Result<()> {
    for (place, contestant) in contestants.iter_mut().enumerate() {
        match place == active {
            true => contestant.resume()?,
            false => contestant.pause()?,
        }
    }
    Ok(())
}
