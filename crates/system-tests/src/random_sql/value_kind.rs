//! Kinds of values.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Decimal,
    Double,
    Text,
    Binary,
    Date,
    DateTime,
    Time,
    Json,
}
