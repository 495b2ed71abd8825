//! The state of a program that runs.

use std::collections::VecDeque;

use shoal_types::{Result, StoreOptions, Value};

use super::code::Compiled;
use super::condition::Handled;
use super::store;
use crate::execute::memory::Held;

/// See the module.
pub struct Frame {
    pub slots: Vec<Value>,
    /// By the numbers of the program's cursors; `None`: not open.
    pub cursors: Vec<Option<OpenCursor>>,
    /// The blocks that have been entered, the innermost last.
    pub blocks: Vec<usize>,
    /// The handlers that are running, the innermost last.
    pub handling: Vec<Handling>,
    pub options: StoreOptions,
}

pub struct OpenCursor {
    pub rows: VecDeque<Vec<Value>>,
    pub collations: Vec<shoal_types::Collation>,
    pub _held: Held,
}

/// A handler that is running.
pub struct Handling {
    /// Blocks whose handlers are not in sight from its body: its own, and those that it was called from.
    pub hidden: std::ops::Range<usize>,
    /// Where the program goes on behind it.
    pub resume: usize,
    /// It ends the block that declares it, which is the one at `hidden.start`.
    pub exits: bool,
    pub handled: Handled,
}

impl Frame {
    pub fn new(compiled: &Compiled, options: StoreOptions) -> Frame {
        Frame {
            slots: vec![Value::Null; compiled.slots.types.borrow().len()],
            cursors: compiled.cursors.iter().map(|_| None).collect(),
            blocks: Vec::new(),
            handling: Vec::new(),
            options,
        }
    }

    /// Gives a variable a number, if it holds it as it is.
    #[inline]
    pub fn assign_signed(&mut self, compiled: &Compiled, slot: usize, number: i64) -> bool {
        let fits = store::fits(number, &compiled.slots.types.borrow()[slot]);
        if fits {
            self.slots[slot] = Value::Int(number);
        }
        fits
    }

    /// Gives a variable a value, converted to its type.
    #[inline]
    pub fn assign(
        &mut self,
        compiled: &Compiled,
        slot: usize,
        (value, collation): (Value, shoal_types::Collation),
    ) -> Result<Option<shoal_types::Warning>> {
        let (value, warning) = store::converted(
            value,
            collation,
            &compiled.slots.types.borrow()[slot],
            &compiled.slots.names[slot],
            &self.options,
        )?;
        self.slots[slot] = value;
        Ok(warning)
    }

    /// Leaves the innermost blocks, so that `depth` are left.
    pub fn leave_to(&mut self, depth: usize, compiled: &Compiled) {
        for block in self.blocks.drain(depth..) {
            for cursor in compiled.blocks[block].cursors.clone() {
                self.cursors[cursor] = None;
            }
        }
        while self.handling.last().is_some_and(|handling| handling.hidden.start >= depth) {
            self.handling.pop();
        }
    }
}
