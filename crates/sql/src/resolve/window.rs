//! Window functions and the WINDOW clause (manual, "Window Function Concepts and Syntax").
//!
//! A call becomes a column of the block at a virtual position from [`WINDOW_BASE`] on; `windowing` makes the plan of
//! them when everything else of the block is resolved.

use std::collections::HashMap;

use shoal_expr::{Aggregate, Expr, WindowFunction, build};
use shoal_parser::ast::{self, FrameUnit, WindowReference};
use shoal_types::{BaseType, Error, ErrorCode, Result, SqlType};

use super::expression::interval_unit;
use super::scope::WINDOW_BASE;
use super::{Clause, Resolver};
use crate::plan::windows::{Frame, FrameBound, FrameOffset, RangeOffset, UNNAMED};

/// A call, registered with its block.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub window: Window,
}

/// A window: what is written, and what it inherits.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    pub name: Option<String>,
    pub partition: Vec<Expr>,
    /// Expression, and whether it descends.
    pub order: Vec<(Expr, bool)>,
    /// `None`: the default.
    pub frame: Option<Frame>,
}

impl Window {
    fn title(&self) -> &str {
        title(self.name.as_deref())
    }

    /// The frame that it has without one of its own: up to the row's peers, which without ORDER BY are all rows.
    pub fn frame(&self) -> Frame {
        self.frame.clone().unwrap_or_else(|| Frame {
            by_rows: false,
            start: FrameBound::UnboundedPreceding,
            end: if self.order.is_empty() { FrameBound::UnboundedFollowing } else { FrameBound::CurrentRow },
        })
    }
}

fn title(name: Option<&str>) -> &str {
    name.unwrap_or(UNNAMED)
}

impl Resolver<'_> {
    /// The windows of the WINDOW clause, whether anything uses them or not.
    ///
    /// # Errors
    /// 3579 to 3592; those of names.
    pub(super) fn named_windows(&mut self, windows: &[ast::NamedWindow]) -> Result<()> {
        let mut places = HashMap::new();
        for (place, window) in windows.iter().enumerate() {
            if places.insert(window.name.value.to_lowercase(), place).is_some() {
                let message = format!("Window '{}' is defined twice.", window.name.value);
                return Err(Error::new(ErrorCode::WindowDuplicateName, message));
            }
        }
        for window in windows {
            // Whoever comes back to where he has been goes round in circles.
            let (mut next, mut steps) = (window, 0);
            while let Some(base) = &next.specification.base {
                let Some(&place) = places.get(&base.value.to_lowercase()) else {
                    return Err(no_window(&base.value));
                };
                (next, steps) = (&windows[place], steps + 1);
                if steps > windows.len() {
                    let message = "There is a circularity in the window dependency graph.";
                    return Err(Error::new(ErrorCode::WindowCircularityInWindowGraph, message));
                }
            }
        }
        let mut waiting: Vec<&ast::NamedWindow> = windows.iter().collect();
        while !waiting.is_empty() {
            let known = |block: &super::BlockState, name: &str| {
                block.named_windows.iter().any(|window| window.title() == name)
            };
            let is_ready = |window: &&ast::NamedWindow, block: &super::BlockState| {
                window.specification.base.as_ref().is_none_or(|base| {
                    places
                        .get(&base.value.to_lowercase())
                        .is_some_and(|&place| known(block, &windows[place].name.value))
                })
            };
            let block = self.block();
            let Some(place) = waiting.iter().position(|window| is_ready(window, block)) else { break };
            let window = waiting.remove(place);
            let window = self.window(Some(&window.name.value), &window.specification)?;
            self.block().named_windows.push(window);
        }
        Ok(())
    }

    fn named_window(&mut self, name: &str) -> Result<Window> {
        let found = self.block().named_windows.iter().find(|window| window.title().eq_ignore_ascii_case(name));
        found.cloned().ok_or_else(|| no_window(name))
    }

    /// Errors: 3581, 3582, 3583, 3592, 3595; those of frames.
    fn window(&mut self, name: Option<&str>, written: &ast::WindowSpecification) -> Result<Window> {
        let base = written.base.as_ref().map(|base| self.named_window(&base.value)).transpose()?;
        let clause = std::mem::replace(&mut self.block().clause, Clause::WindowPartition);
        let around =
            self.block().inside_window.replace(super::InsideWindow::Specification(title(name).to_owned()));
        let parts = self.window_parts(name, written);
        self.block().clause = clause;
        self.block().inside_window = around;
        let mut window = parts?;
        if let Some(base) = base {
            if !window.partition.is_empty() {
                let message = "A window which depends on another cannot define partitioning.";
                return Err(Error::new(ErrorCode::WindowNoChildPartitioning, message));
            }
            if !window.order.is_empty() && !base.order.is_empty() {
                let message = format!(
                    "Window '{}' cannot inherit '{}' since both contain an ORDER BY clause.",
                    title(name),
                    base.title()
                );
                return Err(Error::new(ErrorCode::WindowNoRedefineOrderBy, message));
            }
            if base.frame.is_some() {
                let message = format!(
                    "Window '{}' has a frame definition, so cannot be referenced by another window.",
                    base.title()
                );
                return Err(Error::new(ErrorCode::WindowNoInheritFrame, message));
            }
            window.partition = base.partition;
            if window.order.is_empty() {
                window.order = base.order;
            }
        }
        window.frame = written.frame.as_ref().map(|frame| self.frame(&window, frame)).transpose()?;
        Ok(window)
    }

    /// What is written of a window, but its frame and what it inherits. Errors: 3592; those of names.
    fn window_parts(&mut self, name: Option<&str>, written: &ast::WindowSpecification) -> Result<Window> {
        let ordered = written.order_by.iter().map(|item| &item.expr);
        if written.partition_by.iter().chain(ordered).any(|item| self.position_of(item).is_some()) {
            let message = format!(
                "Window '{}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use \
                 expression.",
                title(name)
            );
            return Err(Error::new(ErrorCode::WindowIllegalOrderBy, message));
        }
        let partition = self.expressions(&written.partition_by)?;
        self.block().clause = Clause::WindowOrder;
        let order = written.order_by.iter().map(|item| Ok((self.expression(&item.expr)?, item.descending)));
        let order = order.collect::<Result<_>>()?;
        Ok(Window { name: name.map(str::to_owned), partition, order, frame: None })
    }

    /// Errors: 1235, 3584 to 3590, 3596.
    fn frame(&mut self, window: &Window, written: &ast::WindowFrame) -> Result<Frame> {
        if written.unit == FrameUnit::Groups {
            return Err(Error::unsupported("GROUPS"));
        }
        if written.exclude {
            return Err(Error::unsupported("EXCLUDE"));
        }
        let illegal = |code, what: &str| Err(Error::new(code, format!("Window '{}': {what}", window.title())));
        let end = written.end.as_ref().unwrap_or(&ast::FrameBound::CurrentRow);
        if written.start == ast::FrameBound::UnboundedFollowing {
            return illegal(ErrorCode::WindowFrameStartIllegal, "frame start cannot be UNBOUNDED FOLLOWING.");
        }
        if *end == ast::FrameBound::UnboundedPreceding {
            return illegal(ErrorCode::WindowFrameEndIllegal, "frame end cannot be UNBOUNDED PRECEDING.");
        }
        use ast::FrameBound::{CurrentRow, Following, Preceding};
        if matches!(
            (&written.start, end),
            (CurrentRow | Following(..), Preceding(..)) | (Following(..), CurrentRow)
        ) {
            return Err(illegal_frame(window.title()));
        }
        let by_rows = written.unit == FrameUnit::Rows;
        let start = self.frame_bound(window, by_rows, &written.start)?;
        let end = self.frame_bound(window, by_rows, end)?;
        Ok(Frame { by_rows, start, end })
    }

    fn frame_bound(&mut self, window: &Window, by_rows: bool, written: &ast::FrameBound) -> Result<FrameBound> {
        let (amount, unit, preceding) = match written {
            ast::FrameBound::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            ast::FrameBound::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::Preceding(amount, unit) => (amount, unit, true),
            ast::FrameBound::Following(amount, unit) => (amount, unit, false),
        };
        let around =
            self.block().inside_window.replace(super::InsideWindow::Specification(window.title().to_owned()));
        let amount = self.expression(amount);
        self.block().inside_window = around;
        let amount = amount?;
        if !amount.is_constant() {
            let message = format!("Window '{}' has a non-constant frame bound.", window.title());
            return Err(Error::new(ErrorCode::WindowRangeBoundNotConstant, message));
        }
        let range = match (by_rows, unit) {
            (true, Some(_)) => {
                let message = format!("Window '{}': INTERVAL can only be used with RANGE frames.", window.title());
                return Err(Error::new(ErrorCode::WindowRowsIntervalUse, message));
            }
            (true, None) if !amount.sql_type().is_integer() && !is_untyped(&amount) => {
                return Err(illegal_frame(window.title()));
            }
            (true, None) => None,
            (false, unit) => {
                let unit = unit.map(interval_unit);
                Some(self.range_offset(window, &amount, unit, preceding)?)
            }
        };
        Ok(FrameBound::Offset(Box::new(FrameOffset { amount, preceding, range })))
    }

    /// What the value of ORDER BY is compared with: itself and so much less or more. Exact numbers become decimals, which
    /// do not run over at the ends of their types.
    fn range_offset(
        &mut self,
        window: &Window,
        amount: &Expr,
        unit: Option<shoal_types::IntervalUnit>,
        preceding: bool,
    ) -> Result<RangeOffset> {
        let refuse = |code, what: &str| Err(Error::new(code, format!("Window '{}' {what}", window.title())));
        let [(key, descending)] = &window.order[..] else {
            return refuse(ErrorCode::WindowRangeFrameOrderType, ORDER_TYPE);
        };
        let sql_type = key.sql_type();
        let is_temporal =
            matches!(sql_type.base, BaseType::Date | BaseType::Time | BaseType::DateTime | BaseType::Timestamp);
        let context = self.build();
        let less = preceding != *descending;
        let (key, bound) = match unit {
            _ if !is_temporal && !sql_type.is_numeric() => {
                return refuse(ErrorCode::WindowRangeFrameOrderType, ORDER_TYPE);
            }
            None if is_temporal => {
                let what = "with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
                return refuse(ErrorCode::WindowRangeFrameTemporalType, what);
            }
            Some(_) if !is_temporal => {
                let what =
                    "with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
                return refuse(ErrorCode::WindowRangeFrameNumericType, what);
            }
            Some(unit) => {
                let bound = build::add_interval(key.clone(), amount.clone(), unit, less, context)?;
                let target = bound.sql_type().clone();
                (build::convert_expr(key.clone(), &target, context)?, bound)
            }
            None => {
                let inexact = |of: &SqlType| matches!(of.base, BaseType::Float | BaseType::Double);
                let target = match inexact(sql_type) || inexact(amount.sql_type()) {
                    true => SqlType::double(),
                    false => SqlType::decimal(65, sql_type.decimals.max(amount.sql_type().decimals).min(30)),
                };
                let key = build::convert_expr(key.clone(), &target, context)?;
                let amount = build::convert_expr(amount.clone(), &target, context)?;
                let operator = if less { build::BinaryOperator::Subtract } else { build::BinaryOperator::Add };
                let bound = build::binary(operator, key.clone(), amount, context)?;
                (key, bound)
            }
        };
        Ok(RangeOffset { key, bound, descending: *descending })
    }

    /// `function OVER window`, registered with the block.
    ///
    /// # Errors
    /// 3593, it may not stand here; 1235; 3579; those of arguments and windows.
    pub(super) fn window_call(&mut self, call: &ast::WindowCall) -> Result<Expr> {
        let name = function_name(&call.function);
        let block = self.block();
        if let Some(super::InsideWindow::Specification(window)) = &block.inside_window {
            let message = format!("You cannot nest a window function in the specification of window '{window}'.");
            return Err(Error::new(ErrorCode::WindowNestedWindowFuncUseInWindowSpec, message));
        }
        if !block.takes_windows() {
            let message = format!("You cannot use the window function '{name}' in this context.'");
            return Err(Error::new(ErrorCode::WindowInvalidWindowFuncUse, message));
        }
        let window = match &call.over {
            WindowReference::Name(name) => self.named_window(&name.value)?,
            WindowReference::Specification(written) => self.window(None, written)?,
        };
        self.block().inside_window = Some(super::InsideWindow::Arguments);
        let function = self.window_function(call, &name);
        self.block().inside_window = None;
        let function = function?;
        if window.frame.is_some() && !function.uses_frame() {
            let message = format!(
                "Window function '{name}' ignores the frame clause of window '{}' and aggregates over the whole \
                 partition",
                window.title()
            );
            self.warnings.push((ErrorCode::WindowFunctionIgnoresFrame, message));
        }
        let (sql_type, nullable) = (function.sql_type.clone(), function.nullable);
        let text = function.to_string();
        let call = WindowCall { function, window };
        let calls = &mut self.block().windows;
        let place = calls.iter().position(|known| *known == call).unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Expr::column(WINDOW_BASE + place, sql_type, nullable, &text))
    }

    fn window_function(&mut self, call: &ast::WindowCall, name: &str) -> Result<WindowFunction> {
        let function = match &call.function {
            ast::Expr::GroupConcat(_) => return Err(Error::unsupported("group_concat as window function")),
            ast::Expr::Function(function) => function,
            _ => return Err(Error::unsupported("this function as window function")),
        };
        if call.ignore_nulls {
            return Err(Error::unsupported("IGNORE NULLS"));
        }
        if call.from_last {
            return Err(Error::unsupported("FROM LAST"));
        }
        if function.distinct {
            return Err(Error::unsupported("<window function>(DISTINCT ..)"));
        }
        if function.star {
            return Ok(WindowFunction::of_aggregate(Aggregate::count_rows()));
        }
        let arguments = self.expressions(&function.arguments)?;
        if WindowFunction::is_window_only(name) {
            return WindowFunction::new(name, arguments, self.build());
        }
        let aggregate = Aggregate::new(&function.name.value, arguments, false, self.build())?;
        Ok(WindowFunction::of_aggregate(aggregate))
    }
}

const ORDER_TYPE: &str =
    "with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type";

/// Of a bound as PREPARE sees it.
fn is_untyped(expression: &Expr) -> bool {
    matches!(expression, Expr::Parameter(parameter) if parameter.untyped)
}

fn function_name(function: &ast::Expr) -> String {
    match function {
        ast::Expr::Function(call) => match call.name.value.to_ascii_lowercase().as_str() {
            "stddev_pop" => "std".to_owned(),
            "var_pop" => "variance".to_owned(),
            name => name.to_owned(),
        },
        _ => "group_concat".to_owned(),
    }
}

fn no_window(name: &str) -> Error {
    Error::new(ErrorCode::WindowNoSuchWindow, format!("Window name '{name}' is not defined."))
}

/// Errno 3586.
pub fn illegal_frame(window: &str) -> Error {
    let message = format!("Window '{window}': frame start or end is negative, NULL or of non-integral type");
    Error::new(ErrorCode::WindowFrameIllegal, message)
}
