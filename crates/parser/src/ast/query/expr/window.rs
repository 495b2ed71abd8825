//! Window functions: what stands behind OVER, and the WINDOW clause.

use super::Expr;
use crate::ast::{Ident, IntervalUnit, OrderItem};

/// `function OVER window`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// An `Expr::Function` or `Expr::GroupConcat`.
    pub function: Expr,
    /// `FROM LAST` of NTH_VALUE.
    pub from_last: bool,
    /// `IGNORE NULLS`; `RESPECT NULLS` is the default.
    pub ignore_nulls: bool,
    /// The window, or the name of one.
    pub over: WindowReference,
}

/// What stands behind OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowReference {
    /// `OVER name`: a window of the WINDOW clause.
    Name(Ident),
    /// `OVER (..)`.
    Specification(WindowSpecification),
}

/// `([base] [PARTITION BY ..] [ORDER BY ..] [frame])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpecification {
    /// A window of the WINDOW clause that this one adds to.
    pub base: Option<Ident>,
    /// Empty: all rows are one partition.
    pub partition_by: Vec<Expr>,
    /// Empty: all rows of a partition are peers.
    pub order_by: Vec<OrderItem>,
    /// `None`: up to the peers of the current row with an ORDER BY, else the whole partition.
    pub frame: Option<WindowFrame>,
}

/// `ROWS | RANGE start`, or `ROWS | RANGE BETWEEN start AND end`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowFrame {
    /// What the bounds count.
    pub unit: FrameUnit,
    /// The first row of the frame.
    pub start: FrameBound,
    /// Absent: the current row.
    pub end: Option<FrameBound>,
    /// With an EXCLUDE clause.
    pub exclude: bool,
}

/// What the bounds of a frame count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// ROWS: rows.
    Rows,
    /// RANGE: differences in the value of ORDER BY.
    Range,
    /// GROUPS: groups of peers.
    Groups,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING: the first row of the partition.
    UnboundedPreceding,
    /// UNBOUNDED FOLLOWING: the last row of the partition.
    UnboundedFollowing,
    /// CURRENT ROW; under RANGE with its peers.
    CurrentRow,
    /// `n PRECEDING`. The unit is set for `INTERVAL n unit PRECEDING`.
    Preceding(Expr, Option<IntervalUnit>),
    /// `n FOLLOWING`; the unit as above.
    Following(Expr, Option<IntervalUnit>),
}
