//! Where values go that statements of a program yield.

/// A variable that takes a value.
#[derive(Clone, Debug)]
pub enum Target {
    /// Of the program, or a column of NEW.
    Slot(usize),
    /// `?` of a prepared CALL, from 0.
    Parameter(usize),
    /// `@name`, without the `@`.
    User(String),
}
