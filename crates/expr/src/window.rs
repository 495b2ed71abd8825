//! Window functions: what they are called with, and the types of their results (manual, "Window Function Descriptions").
//!
//! Which rows they see is not known here: whoever has partitions and frames evaluates them.

use std::fmt::{self, Display, Formatter};

use shoal_types::{Error, ErrorCode, Result, SqlType};

use crate::aggregate::{Aggregate, AggregateKind};
use crate::build::{self, BuildContext, types};
use crate::expr::Expr;

/// A call with an OVER clause.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFunction {
    /// Which function.
    pub kind: WindowKind,
    /// Those of an aggregate are in the aggregate.
    pub arguments: Vec<Expr>,
    /// Of the result.
    pub sql_type: SqlType,
    /// The result may be NULL.
    pub nullable: bool,
    /// As messages call it.
    pub name: &'static str,
}

/// Which function is called over a window.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowKind {
    /// The number of the row in its partition.
    RowNumber,
    /// One more than the rows before the row's peers.
    Rank,
    /// One more than the groups of peers before the row's.
    DenseRank,
    /// (rank - 1) / (rows - 1).
    PercentRank,
    /// The share of rows up to the row's peers.
    CumeDist,
    /// The number of the row's bucket, of so many.
    Ntile,
    /// The argument in an earlier row of the partition: argument, offset, default.
    Lag,
    /// The same in a later row.
    Lead,
    /// The argument in the first row of the frame.
    FirstValue,
    /// In the last one.
    LastValue,
    /// In the n-th one: argument, n.
    NthValue,
    /// An aggregate over the rows of the frame.
    Aggregate(Box<Aggregate>),
}

/// Names, and the least and greatest number of arguments.
const NAMES: &[(&str, WindowKind, usize, usize)] = &[
    ("row_number", WindowKind::RowNumber, 0, 0),
    ("rank", WindowKind::Rank, 0, 0),
    ("dense_rank", WindowKind::DenseRank, 0, 0),
    ("percent_rank", WindowKind::PercentRank, 0, 0),
    ("cume_dist", WindowKind::CumeDist, 0, 0),
    ("ntile", WindowKind::Ntile, 1, 1),
    ("lag", WindowKind::Lag, 1, 3),
    ("lead", WindowKind::Lead, 1, 3),
    ("first_value", WindowKind::FirstValue, 1, 1),
    ("last_value", WindowKind::LastValue, 1, 1),
    ("nth_value", WindowKind::NthValue, 2, 2),
];

impl WindowKind {
    /// It depends on nothing but the row's place in its partition.
    pub fn is_rank(&self) -> bool {
        use WindowKind::*;
        matches!(self, RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile)
    }
}

impl WindowFunction {
    /// There is a function of this name (in lower case) that makes sense only over a window.
    pub fn is_window_only(name: &str) -> bool {
        NAMES.iter().any(|(known, ..)| *known == name)
    }

    /// A function that is no aggregate, by its name in lower case.
    ///
    /// # Errors
    /// 1305, there is none; 1582, so many arguments it does not take; 1210, a number among them is no constant.
    pub fn new(name: &str, mut arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<WindowFunction> {
        let Some((name, kind, least, most)) = NAMES.iter().find(|(known, ..)| *known == name) else {
            return Err(Error::new(ErrorCode::SpDoesNotExist, format!("FUNCTION {name} does not exist")));
        };
        if !(*least..=*most).contains(&arguments.len()) {
            let message = format!("Incorrect parameter count in the call to native function '{name}'");
            return Err(Error::new(ErrorCode::WrongParamcountToNativeFct, message));
        }
        let number = match kind {
            WindowKind::Ntile => arguments.first_mut(),
            _ => arguments.get_mut(1),
        };
        if let Some(number) = number {
            types::give_type(number, &SqlType::bigint(false));
            let is_integer = number.sql_type().is_integer() || matches!(number, Expr::Parameter(_));
            if !number.is_constant() || !is_integer {
                return Err(wrong_arguments(name));
            }
        }
        let (sql_type, nullable) = result_type(kind, name, &mut arguments, ctx)?;
        Ok(WindowFunction { kind: kind.clone(), arguments, sql_type, nullable, name })
    }

    /// An aggregate over a window; `name` as messages call it.
    pub fn of_aggregate(aggregate: Aggregate) -> WindowFunction {
        WindowFunction {
            sql_type: aggregate.sql_type.clone(),
            nullable: aggregate.nullable,
            name: aggregate_name(aggregate.kind),
            kind: WindowKind::Aggregate(Box::new(aggregate)),
            arguments: Vec::new(),
        }
    }

    /// Calls `visit` for each argument.
    pub fn visit_arguments(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().for_each(&mut *visit);
        if let WindowKind::Aggregate(aggregate) = &mut self.kind {
            aggregate.arguments.iter_mut().for_each(visit);
        }
    }

    /// It looks at the frame of a row; the others look at its partition.
    pub fn uses_frame(&self) -> bool {
        matches!(
            self.kind,
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue | WindowKind::Aggregate(_)
        )
    }
}

/// Errno 1210.
pub fn wrong_arguments(name: &str) -> Error {
    Error::new(ErrorCode::WrongArguments, format!("Incorrect arguments to {name}"))
}

fn result_type(
    kind: &WindowKind,
    name: &str,
    arguments: &mut [Expr],
    ctx: &BuildContext<'_>,
) -> Result<(SqlType, bool)> {
    Ok(match (kind, &mut *arguments) {
        (WindowKind::PercentRank | WindowKind::CumeDist, _) => (SqlType::double(), false),
        (WindowKind::Lag | WindowKind::Lead, [value, _, default]) => {
            let (target, _) = build::common_type(&[&*value, &*default], name, ctx)?;
            for argument in [&mut *value, &mut *default] {
                let present = std::mem::replace(argument, Expr::null());
                *argument = build::convert_expr(present, &target, ctx)?;
            }
            (target, value.nullable() || default.nullable())
        }
        (WindowKind::Ntile, _) => (types::bigint(true, 21), true),
        (_, [value, ..]) => (value.sql_type().clone(), true),
        _ => (types::bigint(true, 21), false),
    })
}

fn aggregate_name(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::CountRows | AggregateKind::Count => "count",
        AggregateKind::Sum => "sum",
        AggregateKind::Average => "avg",
        AggregateKind::Minimum => "min",
        AggregateKind::Maximum => "max",
        AggregateKind::GroupConcat => "group_concat",
        AggregateKind::BitAnd => "bit_and",
        AggregateKind::BitOr => "bit_or",
        AggregateKind::BitXor => "bit_xor",
        AggregateKind::DeviationPopulation => "std",
        AggregateKind::DeviationSample => "stddev_samp",
        AggregateKind::VariancePopulation => "variance",
        AggregateKind::VarianceSample => "var_samp",
        AggregateKind::AnyValue => "any_value",
        AggregateKind::JsonArray => "json_arrayagg",
        AggregateKind::JsonObject => "json_objectagg",
    }
}

impl Display for WindowFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let arguments = match &self.kind {
            WindowKind::Aggregate(aggregate) if aggregate.kind == AggregateKind::CountRows => {
                return f.write_str("count(0)");
            }
            WindowKind::Aggregate(aggregate) => &aggregate.arguments,
            _ => &self.arguments,
        };
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        write!(f, "{}({})", self.name, arguments.join(","))
    }
}
