//! The state of a program that runs.

use std::collections::VecDeque;
use std::rc::Rc;

use shoal_expr::Warnings;
use shoal_types::{Collation, Result, StoreOptions, Value};

use super::cache::Running;
use super::code::Compiled;
use super::computed::Calls;
use super::condition::Handled;
use super::host::{Entered, Host};
use super::store;
use crate::execute::memory::Held;

/// Steps between two looks at the interrupt.
pub const STEPS_PER_CHECK: u32 = 256;

/// The variables of a program, and where it is.
pub struct Frame {
    pub slots: Vec<Value>,
    /// By the numbers of the program's cursors; `None`: not open.
    pub cursors: Vec<Option<OpenCursor>>,
    /// The blocks that have been entered, the innermost last.
    pub blocks: Vec<usize>,
    /// The handlers that are running, the innermost last.
    pub handling: Vec<Handling>,
    /// The step that is next.
    pub at: usize,
    /// Steps until the next look at the interrupt.
    pub steps_left: u32,
    /// What the next step has begun, and has to wait for.
    pub pending: Option<Box<Pending>>,
    /// A row on its way to variables.
    pub row: Vec<Value>,
    /// How values become those of variables, once it was asked for.
    options: Option<StoreOptions>,
}

pub struct OpenCursor {
    pub rows: VecDeque<Vec<Value>>,
    pub collations: Rc<[Collation]>,
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

/// A program that was called and has not returned.
pub struct Invocation {
    pub compiled: Rc<Compiled>,
    pub frame: Frame,
    /// What is put back at its end.
    pub entered: Entered,
    /// LAST_INSERT_ID() and ROW_COUNT() of before, which are not changed by functions and triggers.
    pub kept: Option<(u64, i64)>,
    pub _running: Running,
}

/// A program that a step has called, and that waits.
pub enum Pending {
    Procedure(Invocation),
    Function(Evaluation, Invocation),
}

/// An expression that is computed, call by call.
pub struct Evaluation {
    pub calls: Rc<Calls>,
    /// Its call that is next, or waits.
    pub call: usize,
    /// Results of calls that are columns of its row.
    pub row: Vec<Value>,
    /// Conditions that were collected for an expression around.
    pub around: Option<Warnings>,
}

impl Frame {
    pub fn new(compiled: &Compiled) -> Frame {
        Frame::with_values(compiled, Vec::new())
    }

    /// The first variables have values.
    pub fn with_values(compiled: &Compiled, mut values: Vec<Value>) -> Frame {
        values.resize(compiled.slots.types.borrow().len(), Value::Null);
        Frame {
            slots: values,
            cursors: compiled.cursors.iter().map(|_| None).collect(),
            blocks: Vec::new(),
            handling: Vec::new(),
            at: 0,
            steps_left: STEPS_PER_CHECK,
            pending: None,
            row: Vec::new(),
            options: None,
        }
    }

    /// How values become those of variables.
    pub fn options<H: Host>(&mut self, host: &mut H) -> &StoreOptions {
        self.options.get_or_insert_with(|| host.store_options())
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
    pub fn assign<H: Host>(
        &mut self,
        compiled: &Compiled,
        slot: usize,
        (value, collation): (Value, Collation),
        host: &mut H,
    ) -> Result<()> {
        match value {
            Value::Int(number) if self.assign_signed(compiled, slot, number) => Ok(()),
            Value::Null => {
                self.slots[slot] = Value::Null;
                Ok(())
            }
            value => self.convert(compiled, slot, (value, collation), host),
        }
    }

    fn convert<H: Host>(
        &mut self,
        compiled: &Compiled,
        slot: usize,
        (value, collation): (Value, Collation),
        host: &mut H,
    ) -> Result<()> {
        let types = compiled.slots.types.borrow();
        let options = self.options(host);
        let name = &compiled.slots.names[slot];
        let (value, warning) = store::converted(value, collation, &types[slot], name, options)?;
        self.slots[slot] = value;
        if let Some(warning) = warning {
            host.warn(warning.level, warning.code, &warning.message);
        }
        Ok(())
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
