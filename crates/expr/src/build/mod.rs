//! Construction of typed expressions with MySQL's rules for types, collations and comparison.
//!
//! The resolver walks its syntax tree from the leaves up and calls one function here a node. Every function checks its
//! operands, derives the result type (what metadata and CREATE TABLE ... SELECT show), inserts the conversions that
//! evaluation relies on, and folds what is constant. Folding never hides a condition: an expression whose evaluation
//! fails or warns stays as it is and does so at run time.

mod arithmetic;
mod call;
mod casts;
mod comparison;
mod control;
mod conversion;
mod function;
mod logic;
mod operators;
mod patterns;
mod special;
mod temporal;
pub(crate) mod types;

pub use crate::build_context::BuildContext;
pub(crate) use call::{make_call, make_call_with};
pub use casts::{binary_cast, cast, collate, convert_using};
pub use comparison::{
    between, comparison, comparison_type, in_list, is_null, is_truth, row_comparison, row_in_list,
    row_null_safe_equal,
};
pub use control::{case, coalesce, common_type, if_else, if_null, null_if, union_type};
pub(crate) use conversion::convert_charset;
pub use conversion::convert_expr;
#[cfg(test)]
pub(crate) use function::call as function_by_entry;
pub use function::{function, is_function};
pub use logic::{and, not, or};
pub use operators::{BinaryOperator, UnaryOperator, binary, unary};
pub use patterns::{like, regexp};
pub use special::{
    TrimSide, WeightStringType, assign_variable, char_function, date_format_name, json_extract, json_value,
    member_of, of_elements, partition_number, trim, untyped_parameter, user_variable, utf16_char_function,
    wanted_element, weight_string,
};
pub use temporal::{TemporalKind, add_interval, extract, temporal_literal, timestamp_add, timestamp_difference};
pub use types::{parameter_type, stored_type};
