//! GROUPING(): which columns of a row of WITH ROLLUP are NULL because the row sums over them.

use shoal_expr::{BuildContext, CompareOperator, Expr, build};
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::Resolver;
use super::scope::GROUPING_BASE;

/// A bit for each argument must fit.
const ARGUMENTS_MAX: usize = 64;

impl Resolver<'_> {
    /// A call of GROUPING(), registered with the block.
    ///
    /// # Errors
    /// 1111, it may not stand here; 1582.
    pub(super) fn grouping_call(&mut self, call: &ast::FunctionCall) -> Result<Expr> {
        if !self.block().takes_aggregates() {
            return Err(invalid_use());
        }
        if !(1..=ARGUMENTS_MAX).contains(&call.arguments.len()) {
            let message = "Incorrect parameter count in the call to native function 'grouping'";
            return Err(Error::new(ErrorCode::WrongParamcountToNativeFct, message));
        }
        let arguments = self.expressions(&call.arguments)?;
        let groupings = &mut self.block().groupings;
        let place = groupings.iter().position(|known| *known == arguments).unwrap_or_else(|| {
            groupings.push(arguments);
            groupings.len() - 1
        });
        Ok(Expr::column(GROUPING_BASE + place, SqlType::bigint(false), false, "grouping"))
    }
}

/// What GROUPING() of `arguments` tells: the first argument is the highest bit. The number of GROUP BY items that the row
/// has values of is a column at [`GROUPING_BASE`].
///
/// # Errors
/// 3602, an argument is no item of GROUP BY.
pub fn grouping(arguments: &[Expr], keys: &[Expr], context: &BuildContext<'_>) -> Result<Expr> {
    let mut bits = Expr::integer(0);
    for (number, argument) in arguments.iter().enumerate() {
        let Some(key) = keys.iter().position(|key| key == argument) else {
            let message = format!("Argument #{} of GROUPING function is not in GROUP BY", number + 1);
            return Err(Error::new(ErrorCode::FieldInGroupingNotGroupBy, message));
        };
        let level = Expr::column(GROUPING_BASE, SqlType::bigint(false), false, "level");
        let bit = build::comparison(CompareOperator::LessOrEqual, level, Expr::integer(key as i64), context)?;
        bits = match number {
            0 => bit,
            _ => {
                let doubled = build::binary(build::BinaryOperator::Multiply, bits, Expr::integer(2), context)?;
                build::binary(build::BinaryOperator::Add, doubled, bit, context)?
            }
        };
    }
    build::cast(bits, SqlType::bigint(false), context)
}

/// Errno 1111.
pub fn invalid_use() -> Error {
    Error::new(ErrorCode::InvalidGroupFuncUse, "Invalid use of group function")
}
