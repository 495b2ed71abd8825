//! The variables of a program: a slot for each.

use std::cell::RefCell;
use std::rc::Rc;

use shoal_types::SqlType;

use crate::resolve::Locals;
use crate::resolve::locals::LocalRow;

/// Names in sight at some place, and their slots, the innermost last.
pub type Scope = Rc<[(Rc<str>, usize)]>;

/// All slots of a program.
pub struct Slots {
    /// Those of CASE operands are known when they are computed.
    pub types: RefCell<Rc<[SqlType]>>,
    /// For messages.
    pub names: Vec<Rc<str>>,
    /// NEW and OLD.
    pub rows: Rc<[LocalRow]>,
}

impl Slots {
    /// Slots of these types, without names.
    pub fn of(types: Vec<SqlType>) -> Slots {
        let names = types.iter().map(|_| Rc::from("?")).collect();
        Slots { types: RefCell::new(types.into()), names, rows: Rc::from([]) }
    }

    pub fn types(&self) -> Rc<[SqlType]> {
        Rc::clone(&self.types.borrow())
    }

    /// The type of a CASE operand has become known.
    pub fn set_type(&self, slot: usize, sql_type: SqlType) {
        if self.types.borrow()[slot] != sql_type {
            let mut types = self.types().to_vec();
            types[slot] = sql_type;
            *self.types.borrow_mut() = types.into();
        }
    }

    /// They were made for a table with these columns.
    pub fn has_row(&self, row: &[(String, SqlType)]) -> bool {
        let Some(known) = self.rows.first() else { return true };
        let types = self.types.borrow();
        let mut pairs = known.columns.iter().zip(&types[known.first..]).zip(row);
        known.columns.len() == row.len()
            && pairs.all(|((name, known), (other, sql_type))| name == other && known == sql_type)
    }

    /// Looks at what is in sight in a scope.
    pub fn with_locals<T>(&self, scope: &Scope, look: impl FnOnce(&Locals<'_>) -> T) -> T {
        look(&Locals { variables: scope, rows: &self.rows, types: &self.types() })
    }
}
