//! Functions that yield what an argument is in another row: LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE.

use std::ops::Range;

use shoal_expr::{EvalContext, WindowFunction, WindowKind, wrong_arguments};
use shoal_types::{Result, Value};

use super::frame::{BoundFrame, FrameCursor, constant_number};
use super::rows::WindowRows;
use super::spans::{Spans, Turns};
use crate::plan::windows::WindowCall;
use crate::session::Interrupt;

/// Computes one of them for all rows.
///
/// # Errors
/// 1210, an offset is negative or NULL, or a place is not positive; 1041; 1317.
pub async fn values(
    call: &WindowCall,
    frame: &BoundFrame,
    rows: &mut WindowRows,
    (partitions, peers): (&Spans, &Spans),
    eval: &mut EvalContext<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    let WindowFunction { kind, arguments, name, .. } = &call.function;
    let number = match (kind, arguments.get(1)) {
        (_, None) => 1,
        (_, Some(number)) => {
            let least = u64::from(*kind == WindowKind::NthValue);
            let number = constant_number(Some(number), eval)?.filter(|&number| number >= least);
            number.ok_or_else(|| wrong_arguments(name))?
        }
    };
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let mut peers = peers.cursor();
    let mut turns = Turns::default();
    for partition in partitions.iter() {
        let mut cursor = FrameCursor::new(frame, partition.clone());
        for row in partition.clone() {
            if turns.is_due() {
                interrupt.check_between_batches().await?;
            }
            let source = match kind {
                WindowKind::Lag => row.checked_sub(number).filter(|source| *source >= partition.start),
                WindowKind::Lead => row.checked_add(number).filter(|source| *source < partition.end),
                _ => {
                    let frame = cursor.of_row(row, peers.of_row(row), rows);
                    row_of_frame(kind, frame, number)
                }
            };
            let value = match source {
                Some(source) => arguments[0].eval(rows.row(source), eval)?,
                None => match arguments.get(2) {
                    Some(default) => default.eval(rows.row(row), eval)?,
                    None => Value::Null,
                },
            };
            rows.keep(row, call.position, value)?;
        }
    }
    Ok(())
}

fn row_of_frame(kind: &WindowKind, frame: Range<usize>, number: usize) -> Option<usize> {
    match kind {
        _ if frame.is_empty() => None,
        WindowKind::FirstValue => Some(frame.start),
        WindowKind::LastValue => Some(frame.end - 1),
        _ => frame.start.checked_add(number - 1).filter(|row| *row < frame.end),
    }
}
