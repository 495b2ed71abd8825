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

/// Which aggregate function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// COUNT(*): no arguments.
    CountRows,
    /// COUNT(expr): rows for which no argument is NULL.
    Count,
    /// SUM
    Sum,
    /// AVG
    Average,
    /// MIN
    Minimum,
    /// MAX
    Maximum,
    /// GROUP_CONCAT
    GroupConcat,
    /// BIT_AND
    BitAnd,
    /// BIT_OR
    BitOr,
    /// BIT_XOR
    BitXor,
    /// STD, STDDEV, STDDEV_POP
    DeviationPopulation,
    /// STDDEV_SAMP
    DeviationSample,
    /// VARIANCE, VAR_POP
    VariancePopulation,
    /// VAR_SAMP
    VarianceSample,
    /// ANY_VALUE
    AnyValue,
    /// JSON_ARRAYAGG
    JsonArray,
    /// JSON_OBJECTAGG
    JsonObject,
}

/// A call of an aggregate function. Built by [`Aggregate::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which function.
    pub kind: AggregateKind,
    /// Evaluated for every row of the group; none for COUNT(*).
    pub arguments: Vec<Expr>,
    /// DISTINCT: equal arguments count once.
    pub distinct: bool,
    /// GROUP_CONCAT's ORDER BY: expression and whether it descends.
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's, in the result's character set.
    pub separator: Vec<u8>,
    /// Of the result.
    pub sql_type: SqlType,
    /// The result may be NULL, for a group without rows say.
    pub nullable: bool,
    /// Of the result, where it meets other texts.
    pub coercibility: Coercibility,
}

impl Aggregate {
    /// A row can be taken away from its accumulators again, and what is left is as if the row had never been there; with
    /// `is_exact`, to the last bit.
    pub fn is_removable(&self, is_exact: bool) -> bool {
        match self.kind {
            AggregateKind::CountRows | AggregateKind::Count => !self.distinct,
            AggregateKind::Sum | AggregateKind::Average => {
                !self.distinct && (!is_exact || self.sql_type.base == shoal_types::BaseType::Decimal)
            }
            _ => false,
        }
    }

    /// Its accumulators keep values, so what they take grows with their rows.
    pub fn keeps_values(&self) -> bool {
        use AggregateKind::*;
        self.distinct || matches!(self.kind, GroupConcat | JsonArray | JsonObject | Minimum | Maximum | AnyValue)
    }
}
