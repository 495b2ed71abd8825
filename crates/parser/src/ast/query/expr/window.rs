//! Window functions: what stands behind OVER, and the WINDOW clause.

use super::Expr;
use crate::ast::{Ident, IntervalUnit, OrderItem};

#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// An `Expr::Function` or `Expr::GroupConcat`.
    pub function: Expr,
    /// `FROM LAST` of NTH_VALUE.
    pub from_last: bool,
    /// `IGNORE NULLS`; `RESPECT NULLS` is the default.
    pub ignore_nulls: bool,
    pub over: WindowReference,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WindowReference {
    Name(Ident),
    Specification(WindowSpecification),
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpecification {
    pub base: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<WindowFrame>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowFrame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// Absent: the current row.
    pub end: Option<FrameBound>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    /// The unit is set for `INTERVAL n unit PRECEDING`.
    Preceding(Expr, Option<IntervalUnit>),
    Following(Expr, Option<IntervalUnit>),
}
