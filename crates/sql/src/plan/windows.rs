//! Windows of a block: what is kept of its rows, in which orders they are sorted, and what is computed then.
//!
//! A *window row* has the values of `inputs`, and behind them one result for each window function. Windows whose order is
//! the beginning of another one's share that one's sort. The stages run one after the other over all rows.

use shoal_expr::{Expr, WindowFunction};

use super::{SortKey, SubqueryColumn};

/// The windows of a block.
#[derive(Debug)]
pub struct Windowing {
    /// Over the joined row, or over the aggregation's row.
    pub inputs: Vec<Expr>,
    /// Columns of a window row.
    pub width: usize,
    pub stages: Vec<WindowStage>,
    /// Subqueries over the window row, run behind all stages; their results are the last columns.
    pub subqueries: Vec<SubqueryColumn>,
}

/// Windows that see the rows in one order.
#[derive(Debug)]
pub struct WindowStage {
    /// By positions in the window row; empty: in any order.
    pub keys: Vec<SortKey>,
    pub windows: Vec<Window>,
}

/// A window and what is computed over it.
#[derive(Debug)]
pub struct Window {
    /// As the WINDOW clause calls it.
    pub name: Option<String>,
    /// So many of the stage's keys make a partition.
    pub partition_keys: usize,
    /// So many make peers: those of the partition, and ORDER BY.
    pub peer_keys: usize,
    pub frame: Frame,
    pub functions: Vec<WindowCall>,
}

#[derive(Debug)]
pub struct WindowCall {
    /// Over the window row.
    pub function: WindowFunction,
    /// Of its result, in the window row.
    pub position: usize,
}

/// The rows of a partition that a row's frame has.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// ROWS; else RANGE.
    pub by_rows: bool,
    pub start: FrameBound,
    pub end: FrameBound,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    /// n PRECEDING or n FOLLOWING.
    Offset(Box<FrameOffset>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FrameOffset {
    /// n: a constant.
    pub amount: Expr,
    pub preceding: bool,
    /// Of RANGE: the value of ORDER BY, and that at which the frame begins or ends, of one type.
    pub range: Option<RangeOffset>,
}

/// By positions in the window row once it is planned.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeOffset {
    pub key: Expr,
    pub bound: Expr,
    pub descending: bool,
}

impl Frame {
    /// All rows of the partition are in every row's frame.
    pub fn is_whole_partition(&self) -> bool {
        self.start == FrameBound::UnboundedPreceding && self.end == FrameBound::UnboundedFollowing
    }

    pub fn offsets_mut(&mut self) -> impl Iterator<Item = &mut FrameOffset> {
        [&mut self.start, &mut self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Offset(offset) => Some(&mut **offset),
            _ => None,
        })
    }

    pub fn offsets(&self) -> impl Iterator<Item = &FrameOffset> {
        [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Offset(offset) => Some(&**offset),
            _ => None,
        })
    }
}

impl Window {
    /// As messages and EXPLAIN call it.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }
}

/// What a window without a name is called.
pub const UNNAMED: &str = "<unnamed window>";
