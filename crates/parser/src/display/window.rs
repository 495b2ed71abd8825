//! Window calls and specifications.

use std::fmt::{self, Display, Formatter};

use super::comma_list;
use crate::ast::{
    FrameBound, FrameUnit, IntervalUnit, WindowCall, WindowFrame, WindowReference, WindowSpecification,
};

impl Display for WindowCall {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.function)?;
        if self.from_last {
            formatter.write_str(" from last")?;
        }
        if self.ignore_nulls {
            formatter.write_str(" ignore nulls")?;
        }
        match &self.over {
            WindowReference::Name(name) => write!(formatter, " over {name}"),
            WindowReference::Specification(specification) => write!(formatter, " over {specification}"),
        }
    }
}

impl Display for WindowSpecification {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("(")?;
        if let Some(base) = &self.base {
            write!(formatter, "{base}")?;
        }
        if !self.partition_by.is_empty() {
            formatter.write_str(" partition by ")?;
            comma_list(formatter, &self.partition_by)?;
        }
        if !self.order_by.is_empty() {
            formatter.write_str(" order by ")?;
            comma_list(formatter, &self.order_by)?;
        }
        if let Some(frame) = &self.frame {
            write!(formatter, " {frame}")?;
        }
        formatter.write_str(")")
    }
}

impl Display for WindowFrame {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.unit {
            FrameUnit::Rows => "rows ",
            FrameUnit::Range => "range ",
            FrameUnit::Groups => "groups ",
        })?;
        match &self.end {
            Some(end) => write!(formatter, "between {} and {end}", self.start),
            None => write!(formatter, "{}", self.start),
        }
    }
}

impl Display for FrameBound {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (amount, unit, direction): (_, &Option<IntervalUnit>, _) = match self {
            FrameBound::UnboundedPreceding => return formatter.write_str("unbounded preceding"),
            FrameBound::UnboundedFollowing => return formatter.write_str("unbounded following"),
            FrameBound::CurrentRow => return formatter.write_str("current row"),
            FrameBound::Preceding(amount, unit) => (amount, unit, "preceding"),
            FrameBound::Following(amount, unit) => (amount, unit, "following"),
        };
        match unit {
            Some(unit) => write!(formatter, "interval {amount} {} {direction}", unit.keyword().to_lowercase()),
            None => write!(formatter, "{amount} {direction}"),
        }
    }
}
