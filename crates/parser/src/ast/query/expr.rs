//! Expressions.
//!
//! `AND` and `OR` chains are flat lists, so a predicate of ten thousand alternatives is not ten thousand levels deep; every
//! other nesting is bounded by the parser (`EXPRESSION_HEIGHT_MAX`), so recursion over a tree, dropping it included, is safe.

mod window;

pub use window::*;

use super::{OrderItem, Query};
use crate::ast::{
    BinaryOperator, ColumnName, DataType, Ident, IntervalUnit, Literal, Quantifier, SystemVariable, TemporalKind,
    TruthTest, UnaryOperator,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// `?`, counted from zero in order of appearance.
    Parameter(u32),
    Column(Box<ColumnName>),
    /// `DEFAULT` (no column) or `DEFAULT(column)`.
    Default(Option<Box<ColumnName>>),
    /// `VALUES(column)` inside ON DUPLICATE KEY UPDATE.
    InsertedValue(Box<ColumnName>),
    /// `@name`; the name compares without case.
    UserVariable(String),
    /// `@name := value`.
    AssignUserVariable {
        name: String,
        value: Box<Expr>,
    },
    SystemVariable(Box<SystemVariable>),
    Unary {
        operator: UnaryOperator,
        operand: Box<Expr>,
    },
    Binary {
        operator: BinaryOperator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// Two or more operands.
    And(Vec<Expr>),
    /// Two or more operands.
    Or(Vec<Expr>),
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InSubquery {
        operand: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Is {
        operand: Box<Expr>,
        test: TruthTest,
        negated: bool,
    },
    /// `value MEMBER OF (array)`.
    MemberOf {
        value: Box<Expr>,
        array: Box<Expr>,
    },
    Exists(Box<Query>),
    /// A query as a value: scalar or row.
    Subquery(Box<Query>),
    /// `left operator ANY (query)`; `SOME` is `ANY`.
    Quantified {
        operator: BinaryOperator,
        quantifier: Quantifier,
        left: Box<Expr>,
        query: Box<Query>,
    },
    /// `(a, b, ..)` or `ROW(a, b, ..)`, two or more fields.
    Row(Vec<Expr>),
    Case(Box<Case>),
    Function(Box<FunctionCall>),
    GroupConcat(Box<GroupConcat>),
    /// An aggregate or window function with an OVER clause.
    Window(Box<WindowCall>),
    Cast(Box<Cast>),
    /// `CONVERT(operand USING charset)`.
    ConvertUsing {
        operand: Box<Expr>,
        charset: Ident,
    },
    /// `CHAR(n, .. USING charset)`.
    Char {
        arguments: Vec<Expr>,
        charset: Option<Ident>,
    },
    Collate {
        operand: Box<Expr>,
        collation: Ident,
    },
    /// `date +/- INTERVAL amount unit`, `DATE_ADD`, `DATE_SUB`, and `ADDDATE`/`SUBDATE` with an INTERVAL.
    DateArithmetic {
        date: Box<Expr>,
        amount: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    /// `TIMESTAMPADD(unit, amount, timestamp)`.
    TimestampAdd {
        unit: IntervalUnit,
        amount: Box<Expr>,
        timestamp: Box<Expr>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    Extract {
        unit: IntervalUnit,
        operand: Box<Expr>,
    },
    Trim {
        side: TrimSide,
        /// What to remove; a space when absent.
        pattern: Option<Box<Expr>>,
        operand: Box<Expr>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME, name)`.
    GetFormat {
        kind: TemporalKind,
        name: Box<Expr>,
    },
    WeightString(Box<WeightString>),
    Match(Box<Match>),
    /// `column -> path`, or `column ->> path` when `unquote`.
    JsonExtract {
        column: Box<ColumnName>,
        path: Box<Literal>,
        unquote: bool,
    },
    JsonValue(Box<JsonValue>),
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'` and the ODBC forms `{d '..'}`, `{t '..'}`, `{ts '..'}`.
    Temporal {
        kind: TemporalKind,
        text: Vec<u8>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub operand: Option<Expr>,
    /// (WHEN, THEN), at least one.
    pub branches: Vec<(Expr, Expr)>,
    pub otherwise: Option<Expr>,
}

/// A call by name: built-in, aggregate, loadable or stored.
///
/// Special syntaxes that mean a plain call come as that call: `SUBSTRING(a FROM b FOR c)`, `SUBSTR` and `MID` as `SUBSTRING(a, b, c)`,
/// `POSITION(a IN b)` as `LOCATE(a, b)`, `CURRENT_TIMESTAMP`, `LOCALTIME` and `LOCALTIMESTAMP` as `NOW`, `CURRENT_DATE` as
/// `CURDATE`, `CURRENT_TIME` as `CURTIME`, `SESSION_USER`/`SYSTEM_USER` as `USER`, `STD`/`STDDEV` as `STDDEV_POP`,
/// `VARIANCE` as `VAR_POP`, `SCHEMA()` as `DATABASE()`, `a MOD b` as the operator.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub schema: Option<Ident>,
    pub name: Ident,
    pub distinct: bool,
    /// `COUNT(*)`.
    pub star: bool,
    pub arguments: Vec<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GroupConcat {
    pub distinct: bool,
    pub arguments: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    /// `,` when absent.
    pub separator: Option<Vec<u8>>,
}

/// `CAST(operand AS type)` and `CONVERT(operand, type)`. `SIGNED` and `UNSIGNED` are `BigInt`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    pub operand: Expr,
    pub data_type: DataType,
    /// `CAST(.. AS type ARRAY)`, allowed in functional indexes alone.
    pub array: bool,
    /// `CAST(operand AT TIME ZONE 'zone' AS DATETIME)`.
    pub at_time_zone: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WeightString {
    pub operand: Expr,
    /// `AS CHAR(n)` (false) or `AS BINARY(n)` (true), with n.
    pub as_type: Option<(bool, u64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub columns: Vec<ColumnName>,
    pub against: Expr,
    pub mode: MatchMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    NaturalLanguage,
    NaturalLanguageWithQueryExpansion,
    Boolean,
    QueryExpansion,
}

/// `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    pub document: Expr,
    pub path: Expr,
    pub returning: Option<DataType>,
    pub on_empty: Option<JsonResponse>,
    pub on_error: Option<JsonResponse>,
}

/// What JSON_VALUE and JSON_TABLE give for a missing or wrong value.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonResponse {
    Null,
    Error,
    Default(Expr),
}
