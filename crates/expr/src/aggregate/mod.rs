//! Aggregate functions: their description ([`Aggregate`]) and their running state ([`Accumulator`]).
//!
//! Data nodes may aggregate their part of the rows and the SQL node merges the accumulators; the result is the same as
//! if one accumulator had seen all rows (GROUP_CONCAT without ORDER BY and the JSON aggregates keep the order of merging).

mod accumulator;
mod build;
mod concat;
mod json;
mod numeric;

pub use accumulator::Accumulator;

use shoal_types::SqlType;

use crate::collate::Coercibility;
use crate::expr::Expr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// COUNT(*): no arguments.
    CountRows,
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    /// STD, STDDEV, STDDEV_POP
    DeviationPopulation,
    DeviationSample,
    /// VARIANCE, VAR_POP
    VariancePopulation,
    VarianceSample,
    AnyValue,
    JsonArray,
    JsonObject,
}

/// A call of an aggregate function. Built by [`Aggregate::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    pub kind: AggregateKind,
    pub arguments: Vec<Expr>,
    pub distinct: bool,
    /// GROUP_CONCAT's ORDER BY: expression and whether it descends.
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's, in the result's character set.
    pub separator: Vec<u8>,
    pub sql_type: SqlType,
    pub nullable: bool,
    pub coercibility: Coercibility,
}

impl Aggregate {
    /// Its accumulators keep values, so what they take grows with their rows.
    pub fn keeps_values(&self) -> bool {
        use AggregateKind::*;
        self.distinct || matches!(self.kind, GroupConcat | JsonArray | JsonObject | Minimum | Maximum | AnyValue)
    }
}
