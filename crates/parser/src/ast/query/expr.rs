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

/// An expression. The nesting says what precedence and parentheses said; parentheses themselves are not kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant: `1`, `'text'`, `NULL`.
    Literal(Literal),
    /// `?`, counted from zero in order of appearance.
    Parameter(u32),
    /// `column`, `table.column` or `schema.table.column`; in a stored program perhaps a local variable.
    Column(Box<ColumnName>),
    /// `DEFAULT` (no column) or `DEFAULT(column)`.
    Default(Option<Box<ColumnName>>),
    /// `VALUES(column)` inside ON DUPLICATE KEY UPDATE.
    InsertedValue(Box<ColumnName>),
    /// `@name`; the name compares without case.
    UserVariable(String),
    /// `@name := value`.
    AssignUserVariable {
        /// Without the `@`.
        name: String,
        /// What is assigned; the value of the expression too.
        value: Box<Expr>,
    },
    /// `@@name`, `@@GLOBAL.name`.
    SystemVariable(Box<SystemVariable>),
    /// `- operand` and the like.
    Unary {
        /// What is done.
        operator: UnaryOperator,
        /// What it is done to.
        operand: Box<Expr>,
    },
    /// `left operator right`, other than AND and OR.
    Binary {
        /// What is done.
        operator: BinaryOperator,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand behind it.
        right: Box<Expr>,
    },
    /// Two or more operands.
    And(Vec<Expr>),
    /// Two or more operands.
    Or(Vec<Expr>),
    /// `operand [NOT] LIKE pattern [ESCAPE escape]`.
    Like {
        /// The text that is looked at.
        operand: Box<Expr>,
        /// With `%` and `_`.
        pattern: Box<Expr>,
        /// `None`: a backslash, unless the SQL mode has NO_BACKSLASH_ESCAPES.
        escape: Option<Box<Expr>>,
        /// NOT LIKE.
        negated: bool,
    },
    /// `operand [NOT] REGEXP pattern`; RLIKE is the same.
    Regexp {
        /// The text that is looked at.
        operand: Box<Expr>,
        /// A regular expression.
        pattern: Box<Expr>,
        /// NOT REGEXP.
        negated: bool,
    },
    /// `operand [NOT] BETWEEN low AND high`, both ends included.
    Between {
        /// What is compared.
        operand: Box<Expr>,
        /// The lower end.
        low: Box<Expr>,
        /// The upper end.
        high: Box<Expr>,
        /// NOT BETWEEN.
        negated: bool,
    },
    /// `operand [NOT] IN (a, b, ..)`.
    InList {
        /// What is looked for; a row when the list has rows.
        operand: Box<Expr>,
        /// At least one expression.
        list: Vec<Expr>,
        /// NOT IN.
        negated: bool,
    },
    /// `operand [NOT] IN (SELECT ..)`.
    InSubquery {
        /// What is looked for; a row when the query has several columns.
        operand: Box<Expr>,
        /// The query in the parentheses.
        query: Box<Query>,
        /// NOT IN.
        negated: bool,
    },
    /// `operand IS [NOT] NULL | TRUE | FALSE | UNKNOWN`.
    Is {
        /// What is tested.
        operand: Box<Expr>,
        /// For what.
        test: TruthTest,
        /// IS NOT.
        negated: bool,
    },
    /// `value MEMBER OF (array)`.
    MemberOf {
        /// What is looked for.
        value: Box<Expr>,
        /// A JSON array.
        array: Box<Expr>,
    },
    /// `EXISTS (SELECT ..)`. NOT EXISTS is a NOT around it.
    Exists(Box<Query>),
    /// A query as a value: scalar or row.
    Subquery(Box<Query>),
    /// `left operator ANY (query)`; `SOME` is `ANY`.
    Quantified {
        /// A comparison.
        operator: BinaryOperator,
        /// ANY or ALL.
        quantifier: Quantifier,
        /// What is compared with each row.
        left: Box<Expr>,
        /// The query in the parentheses.
        query: Box<Query>,
    },
    /// `(a, b, ..)` or `ROW(a, b, ..)`, two or more fields.
    Row(Vec<Expr>),
    /// `CASE .. WHEN .. THEN .. END`.
    Case(Box<Case>),
    /// A call by name.
    Function(Box<FunctionCall>),
    /// `GROUP_CONCAT(..)`.
    GroupConcat(Box<GroupConcat>),
    /// An aggregate or window function with an OVER clause.
    Window(Box<WindowCall>),
    /// `CAST(..)` and `CONVERT(.., type)`.
    Cast(Box<Cast>),
    /// `CONVERT(operand USING charset)`.
    ConvertUsing {
        /// The text to convert.
        operand: Box<Expr>,
        /// The character set to convert it to.
        charset: Ident,
    },
    /// `CHAR(n, .. USING charset)`.
    Char {
        /// The codes of the characters; the bytes are put one behind the other.
        arguments: Vec<Expr>,
        /// `None`: the result is a binary string.
        charset: Option<Ident>,
    },
    /// `operand COLLATE collation`.
    Collate {
        /// A text.
        operand: Box<Expr>,
        /// The collation it is to compare by.
        collation: Ident,
    },
    /// `date +/- INTERVAL amount unit`, `DATE_ADD`, `DATE_SUB`, and `ADDDATE`/`SUBDATE` with an INTERVAL.
    DateArithmetic {
        /// The date, time or text that is changed.
        date: Box<Expr>,
        /// How many units; a text such as `'1:30'` for units of two parts.
        amount: Box<Expr>,
        /// The unit of the amount.
        unit: IntervalUnit,
        /// `-`, DATE_SUB or SUBDATE.
        subtract: bool,
    },
    /// `TIMESTAMPADD(unit, amount, timestamp)`.
    TimestampAdd {
        /// The unit of the amount.
        unit: IntervalUnit,
        /// How many units.
        amount: Box<Expr>,
        /// What they are added to.
        timestamp: Box<Expr>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        /// The unit of the result; what is less than one is cut off.
        unit: IntervalUnit,
        /// The time that is subtracted.
        from: Box<Expr>,
        /// The time that it is subtracted from.
        to: Box<Expr>,
    },
    /// `EXTRACT(unit FROM operand)`.
    Extract {
        /// The part that is wanted.
        unit: IntervalUnit,
        /// A date or time.
        operand: Box<Expr>,
    },
    /// `TRIM([side] [pattern FROM] operand)`.
    Trim {
        /// At which end; BOTH when not written.
        side: TrimSide,
        /// What to remove; a space when absent.
        pattern: Option<Box<Expr>>,
        /// The text that is trimmed.
        operand: Box<Expr>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME, name)`.
    GetFormat {
        /// Of which kind of value the format is.
        kind: TemporalKind,
        /// `'EUR'`, `'USA'`, `'JIS'`, `'ISO'` or `'INTERNAL'`.
        name: Box<Expr>,
    },
    /// `WEIGHT_STRING(..)`.
    WeightString(Box<WeightString>),
    /// `MATCH (..) AGAINST (..)`.
    Match(Box<Match>),
    /// `column -> path`, or `column ->> path` when `unquote`.
    JsonExtract {
        /// A column with a document.
        column: Box<ColumnName>,
        /// The path, a string literal.
        path: Box<Literal>,
        /// `->>`: the text of the result, without quotes.
        unquote: bool,
    },
    /// `JSON_VALUE(..)`.
    JsonValue(Box<JsonValue>),
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'` and the ODBC forms `{d '..'}`, `{t '..'}`, `{ts '..'}`.
    Temporal {
        /// Which of the three.
        kind: TemporalKind,
        /// Between the quotes, escapes resolved. It may be no date at all: that is an error when the statement is
        /// resolved.
        text: Vec<u8>,
    },
}

/// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `None`: the branches have conditions, not values to compare with.
    pub operand: Option<Expr>,
    /// (WHEN, THEN), at least one.
    pub branches: Vec<(Expr, Expr)>,
    /// ELSE; `None`: NULL.
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
    /// `None`: a built-in function, or a stored one in the current schema.
    pub schema: Option<Ident>,
    /// As written, except for the folded syntaxes above.
    pub name: Ident,
    /// `COUNT(DISTINCT ..)` and other aggregates with DISTINCT.
    pub distinct: bool,
    /// `COUNT(*)`.
    pub star: bool,
    /// In order; none for `f()`.
    pub arguments: Vec<Expr>,
}

/// `GROUP_CONCAT([DISTINCT] arguments [ORDER BY ..] [SEPARATOR ..])`.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupConcat {
    /// Each text once.
    pub distinct: bool,
    /// What is joined to the text of one row.
    pub arguments: Vec<Expr>,
    /// The order of the rows within the result.
    pub order_by: Vec<OrderItem>,
    /// `,` when absent.
    pub separator: Option<Vec<u8>>,
}

/// `CAST(operand AS type)` and `CONVERT(operand, type)`. `SIGNED` and `UNSIGNED` are `BigInt`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    /// What is converted.
    pub operand: Expr,
    /// What it becomes.
    pub data_type: DataType,
    /// `CAST(.. AS type ARRAY)`, allowed in functional indexes alone.
    pub array: bool,
    /// `CAST(operand AT TIME ZONE 'zone' AS DATETIME)`.
    pub at_time_zone: Option<Vec<u8>>,
}

/// The first word within TRIM's parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    /// BOTH.
    Both,
    /// LEADING.
    Leading,
    /// TRAILING.
    Trailing,
}

/// `WEIGHT_STRING(operand [AS CHAR(n) | AS BINARY(n)])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightString {
    /// The text whose sort key is wanted.
    pub operand: Expr,
    /// `AS CHAR(n)` (false) or `AS BINARY(n)` (true), with n.
    pub as_type: Option<(bool, u64)>,
}

/// `MATCH (columns) AGAINST (against [mode])`.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Those of one full-text index.
    pub columns: Vec<ColumnName>,
    /// What is searched for.
    pub against: Expr,
    /// IN BOOLEAN MODE and so on.
    pub mode: MatchMode,
}

/// The search modifier of MATCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// IN NATURAL LANGUAGE MODE, or nothing.
    NaturalLanguage,
    /// IN NATURAL LANGUAGE MODE WITH QUERY EXPANSION.
    NaturalLanguageWithQueryExpansion,
    /// IN BOOLEAN MODE.
    Boolean,
    /// WITH QUERY EXPANSION.
    QueryExpansion,
}

/// `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    /// The document.
    pub document: Expr,
    /// The path within the document.
    pub path: Expr,
    /// `None`: VARCHAR(512).
    pub returning: Option<DataType>,
    /// What the path of nothing gives; `None`: NULL.
    pub on_empty: Option<JsonResponse>,
    /// What a value that cannot be converted gives; `None`: NULL.
    pub on_error: Option<JsonResponse>,
}

/// What JSON_VALUE and JSON_TABLE give for a missing or wrong value.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonResponse {
    /// NULL ON EMPTY, NULL ON ERROR.
    Null,
    /// ERROR ON EMPTY, ERROR ON ERROR: the statement fails.
    Error,
    /// DEFAULT value ON EMPTY, DEFAULT value ON ERROR.
    Default(Expr),
}
