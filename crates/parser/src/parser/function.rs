//! Function calls and the syntaxes some functions have of their own.

use super::expression::{Interval, call, power};
use super::window::WINDOW_ONLY;
use super::{Parser, Result};
use crate::ParserMode;
use crate::ast::{
    Cast, Expr, FunctionCall, GroupConcat, Ident, IntervalUnit, JsonResponse, JsonValue, TemporalKind, TrimSide,
    WeightString,
};
use crate::lexer::TokenKind;

/// Built-in functions that are one only when their parenthesis touches them, unless IGNORE_SPACE.
#[rustfmt::skip]
const TOUCHING: &[&str] = &[
    "ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "CAST", "COUNT", "CURDATE", "CURTIME", "DATE_ADD", "DATE_SUB", "EXTRACT",
    "GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "MAX", "MID", "MIN", "NOW", "POSITION", "SESSION_USER", "STD", "STDDEV",
    "STDDEV_POP", "STDDEV_SAMP", "SUBDATE", "SUBSTR", "SUBSTRING", "SUM", "SYSDATE", "SYSTEM_USER", "TRIM", "VARIANCE",
    "VAR_POP", "VAR_SAMP",
];

/// Reserved words that are functions when a parenthesis follows.
#[rustfmt::skip]
const RESERVED_FUNCTIONS: &[&str] = &[
    "CHAR", "CONVERT", "CUME_DIST", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "DATABASE",
    "DENSE_RANK", "FIRST_VALUE", "GROUPING", "IF", "INSERT", "LAG", "LAST_VALUE", "LEAD", "LEFT", "LOCALTIME", "LOCALTIMESTAMP",
    "MOD", "NTH_VALUE", "NTILE", "PERCENT_RANK", "RANK", "REPEAT", "REPLACE", "RIGHT", "ROW_NUMBER", "SCHEMA", "UTC_DATE",
    "UTC_TIME", "UTC_TIMESTAMP",
];

/// Reserved words that are calls without a parenthesis.
#[rustfmt::skip]
const BARE_FUNCTIONS: &[&str] = &[
    "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "LOCALTIME", "LOCALTIMESTAMP", "UTC_DATE", "UTC_TIME",
    "UTC_TIMESTAMP",
];

/// Folds the names that MySQL gives one meaning.
fn fold_synonym(mut name: Ident, upper: &str) -> Ident {
    let folded = match upper {
        "SUBSTR" | "MID" => "SUBSTRING",
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "NOW",
        "CURRENT_DATE" => "CURDATE",
        "CURRENT_TIME" => "CURTIME",
        "SESSION_USER" | "SYSTEM_USER" => "USER",
        "STD" | "STDDEV" => "STDDEV_POP",
        "VARIANCE" => "VAR_POP",
        "SCHEMA" => "DATABASE",
        _ => return name,
    };
    name.value = folded.to_owned();
    name
}

impl Parser<'_> {
    /// A function whose name is a reserved word.
    pub(super) fn reserved_function(&mut self) -> Result<Expr> {
        let upper = self.upper();
        let with_parenthesis = self.peek(1).kind == TokenKind::LeftParen;
        if with_parenthesis && RESERVED_FUNCTIONS.contains(&upper.as_str()) {
            let name = self.take_ident()?;
            return self.function(name, upper.as_str(), true);
        }
        if !with_parenthesis && BARE_FUNCTIONS.contains(&upper.as_str()) {
            let name = self.take_ident()?;
            return Ok(call(fold_synonym(name, upper.as_str()), Vec::new()));
        }
        Err(self.unexpected())
    }

    /// A call whose name has been taken; the current token is the parenthesis.
    pub(super) fn function(&mut self, name: Ident, upper: &str, adjacent: bool) -> Result<Expr> {
        let by_name_only = name.quoted
            || (!adjacent && !self.mode.contains(ParserMode::IGNORE_SPACE) && TOUCHING.contains(&upper));
        if by_name_only {
            return self.stored_function(None, name);
        }
        match upper {
            "CAST" => self.cast(),
            "CONVERT" => self.convert(),
            "CHAR" => self.char_function(),
            "TRIM" => self.trim(),
            "SUBSTRING" | "SUBSTR" | "MID" => self.substring(fold_synonym(name, upper)),
            "POSITION" => self.position(name),
            "EXTRACT" => self.extract(),
            "DATE_ADD" | "ADDDATE" => self.date_arithmetic(name, false),
            "DATE_SUB" | "SUBDATE" => self.date_arithmetic(name, true),
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => self.timestamp_function(upper == "TIMESTAMPADD"),
            "GET_FORMAT" => self.get_format(),
            "WEIGHT_STRING" => self.weight_string(),
            "JSON_VALUE" => self.json_value(),
            "GROUP_CONCAT" => {
                let function = self.group_concat()?;
                self.optional_over(function, upper)
            }
            "COUNT" | "SUM" | "MIN" | "MAX" | "AVG" | "BIT_AND" | "BIT_OR" | "BIT_XOR" | "STD" | "STDDEV"
            | "STDDEV_POP" | "STDDEV_SAMP" | "VARIANCE" | "VAR_POP" | "VAR_SAMP" | "JSON_ARRAYAGG"
            | "JSON_OBJECTAGG" | "ST_COLLECT" => {
                let function = self.aggregate(fold_synonym(name, upper), upper)?;
                self.optional_over(function, upper)
            }
            _ => {
                let function = call(fold_synonym(name, upper), self.arguments()?);
                if WINDOW_ONLY.contains(&upper) { self.optional_over(function, upper) } else { Ok(function) }
            }
        }
    }

    /// A function that is looked up by its name alone.
    #[inline(never)]
    pub(super) fn stored_function(&mut self, schema: Option<Ident>, name: Ident) -> Result<Expr> {
        let arguments = self.arguments()?;
        Ok(Expr::Function(Box::new(FunctionCall { schema, name, distinct: false, star: false, arguments })))
    }

    /// `( [expr, ..] )`.
    #[inline(never)]
    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.eat_kind(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let arguments = self.comma_list(Self::expr)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(arguments)
    }

    #[inline(never)]
    fn aggregate(&mut self, name: Ident, upper: &str) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let distinct = self.eat_any(&["DISTINCT", "DISTINCTROW"]);
        if !distinct {
            self.eat("ALL");
        }
        let star = upper == "COUNT" && !distinct && self.eat_kind(TokenKind::Star);
        let arguments = if star { Vec::new() } else { self.comma_list(Self::expr)? };
        let allowed = match upper {
            "COUNT" => star || distinct || arguments.len() == 1,
            "JSON_OBJECTAGG" => arguments.len() == 2,
            _ => arguments.len() == 1,
        };
        if !allowed {
            return Err(self.unexpected());
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Function(Box::new(FunctionCall { schema: None, name, distinct, star, arguments })))
    }

    #[inline(never)]
    fn group_concat(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let distinct = self.eat_any(&["DISTINCT", "DISTINCTROW"]);
        let arguments = self.comma_list(Self::expr)?;
        let order_by = self.optional_order_by()?;
        let separator = if self.eat("SEPARATOR") { Some(self.text_or_binary()?) } else { None };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::GroupConcat(Box::new(GroupConcat { distinct, arguments, order_by, separator })))
    }

    /// `CAST(expr [AT TIME ZONE 'zone'] AS type [ARRAY])`.
    #[inline(never)]
    fn cast(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = self.expr()?;
        let mut at_time_zone = None;
        if self.eat("AT") {
            self.expect_all(&["TIME", "ZONE"])?;
            self.eat("INTERVAL");
            at_time_zone = Some(self.string()?);
        }
        self.expect("AS")?;
        let data_type = self.cast_type()?;
        let array = self.eat("ARRAY");
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Cast(Box::new(Cast { operand, data_type, array, at_time_zone })))
    }

    /// `CONVERT(expr, type)` and `CONVERT(expr USING charset)`.
    #[inline(never)]
    fn convert(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = self.expr()?;
        if self.eat("USING") {
            let charset = self.charset_ident()?;
            self.expect_kind(TokenKind::RightParen)?;
            let operand = Box::new(operand);
            return Ok(Expr::ConvertUsing { operand, charset });
        }
        self.expect_kind(TokenKind::Comma)?;
        let data_type = self.cast_type()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Cast(Box::new(Cast { operand, data_type, array: false, at_time_zone: None })))
    }

    /// The name of a character set or collation, in lower case.
    pub(super) fn charset_ident(&mut self) -> Result<Ident> {
        let offset = self.token.start;
        let mut charset = Ident::new(self.charset_name()?);
        charset.offset = offset;
        Ok(charset)
    }

    /// `CHAR(n, .. [USING charset])`.
    #[inline(never)]
    fn char_function(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let arguments = self.comma_list(Self::expr)?;
        let charset = if self.eat("USING") { Some(self.charset_ident()?) } else { None };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Char { arguments, charset })
    }

    /// `TRIM([[BOTH | LEADING | TRAILING] [pattern] FROM] operand)`.
    #[inline(never)]
    fn trim(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let side = match self.upper().as_str() {
            "BOTH" => Some(TrimSide::Both),
            "LEADING" => Some(TrimSide::Leading),
            "TRAILING" => Some(TrimSide::Trailing),
            _ => None,
        };
        let mut pattern = None;
        if side.is_some() {
            self.advance();
            if !self.at("FROM") {
                pattern = Some(Box::new(self.expr()?));
            }
            self.expect("FROM")?;
        }
        let mut operand = Box::new(self.expr()?);
        if side.is_none() && self.eat("FROM") {
            pattern = Some(std::mem::replace(&mut operand, Box::new(self.expr()?)));
        }
        self.expect_kind(TokenKind::RightParen)?;
        let side = side.unwrap_or(TrimSide::Both);
        Ok(Expr::Trim { side, pattern, operand })
    }

    /// `SUBSTRING(text, start [, length])` and `SUBSTRING(text FROM start [FOR length])`.
    #[inline(never)]
    fn substring(&mut self, name: Ident) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut arguments = vec![self.expr()?];
        let standard = self.eat("FROM");
        if !standard {
            self.expect_kind(TokenKind::Comma)?;
        }
        arguments.push(self.expr()?);
        let has_length = if standard { self.eat("FOR") } else { self.eat_kind(TokenKind::Comma) };
        if has_length {
            arguments.push(self.expr()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(call(name, arguments))
    }

    /// `POSITION(needle IN text)`, which is `LOCATE(needle, text)`.
    #[inline(never)]
    fn position(&mut self, mut name: Ident) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let needle = self.expression(power::BIT_OR)?;
        self.expect("IN")?;
        let text = self.expr()?;
        self.expect_kind(TokenKind::RightParen)?;
        name.value = "LOCATE".to_owned();
        Ok(call(name, vec![needle, text]))
    }

    #[inline(never)]
    fn extract(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let unit = self.interval_unit()?;
        self.expect("FROM")?;
        let operand = Box::new(self.expr()?);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Extract { unit, operand })
    }

    /// DATE_ADD and friends; ADDDATE and SUBDATE with a plain number stay calls.
    #[inline(never)]
    fn date_arithmetic(&mut self, name: Ident, subtract: bool) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let date = self.expr()?;
        self.expect_kind(TokenKind::Comma)?;
        let plain_days = name.is("ADDDATE") || name.is("SUBDATE");
        if self.at("INTERVAL") {
            let expr = match self.interval()? {
                Interval::Amount(amount, unit) => {
                    Expr::DateArithmetic { date: Box::new(date), amount: Box::new(amount), unit, subtract }
                }
                Interval::Call(days) if plain_days => call(name, vec![date, days]),
                Interval::Call(_) => return Err(self.unexpected()),
            };
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(expr);
        }
        if !plain_days {
            return Err(self.unexpected());
        }
        let days = self.expr()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(call(name, vec![date, days]))
    }

    #[inline(never)]
    fn timestamp_function(&mut self, add: bool) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let unit = self.timestamp_unit()?;
        self.expect_kind(TokenKind::Comma)?;
        let first = Box::new(self.expr()?);
        self.expect_kind(TokenKind::Comma)?;
        let second = Box::new(self.expr()?);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(if add {
            Expr::TimestampAdd { unit, amount: first, timestamp: second }
        } else {
            Expr::TimestampDiff { unit, from: first, to: second }
        })
    }

    #[inline(never)]
    fn get_format(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let kind = match self.upper().as_str() {
            "DATE" => TemporalKind::Date,
            "TIME" => TemporalKind::Time,
            "DATETIME" | "TIMESTAMP" => TemporalKind::Timestamp,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect_kind(TokenKind::Comma)?;
        let name = Box::new(self.expr()?);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::GetFormat { kind, name })
    }

    /// `WEIGHT_STRING(expr [AS CHAR(n) | AS BINARY(n)])`.
    #[inline(never)]
    fn weight_string(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = self.expr()?;
        let mut as_type = None;
        if self.eat("AS") {
            let binary = self.at("BINARY");
            self.expect_any(&["CHAR", "BINARY"])?;
            let length = self.optional_length()?.ok_or_else(|| self.unexpected())?;
            as_type = Some((binary, length));
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::WeightString(Box::new(WeightString { operand, as_type })))
    }

    /// `JSON_VALUE(document, path [RETURNING type] [on empty] [on error])`.
    #[inline(never)]
    fn json_value(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let document = self.expr()?;
        self.expect_kind(TokenKind::Comma)?;
        let path = self.expr()?;
        let returning = if self.eat("RETURNING") { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_responses()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::JsonValue(Box::new(JsonValue { document, path, returning, on_empty, on_error })))
    }

    /// `[NULL | ERROR | DEFAULT literal ON EMPTY] [.. ON ERROR]`.
    pub(super) fn json_responses(&mut self) -> Result<(Option<JsonResponse>, Option<JsonResponse>)> {
        let (mut on_empty, mut on_error) = (None, None);
        loop {
            let response = match self.upper().as_str() {
                "NULL" => {
                    self.advance();
                    JsonResponse::Null
                }
                "ERROR" => {
                    self.advance();
                    JsonResponse::Error
                }
                "DEFAULT" => {
                    self.advance();
                    JsonResponse::Default(self.expression(power::UNARY)?)
                }
                _ => return Ok((on_empty, on_error)),
            };
            self.expect("ON")?;
            if self.eat("EMPTY") && on_empty.is_none() && on_error.is_none() {
                on_empty = Some(response);
            } else if self.eat("ERROR") && on_error.is_none() {
                on_error = Some(response);
            } else {
                return Err(self.unexpected());
            }
        }
    }

    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let unit = IntervalUnit::from_keyword(self.upper().as_str()).ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(unit)
    }

    /// A simple unit, with the ODBC prefix `SQL_TSI_` allowed.
    fn timestamp_unit(&mut self) -> Result<IntervalUnit> {
        let upper = self.upper();
        let word = upper.as_str().strip_prefix("SQL_TSI_").unwrap_or(upper.as_str());
        let unit = match IntervalUnit::from_keyword(word) {
            Some(unit) if !unit.keyword().contains('_') => unit,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(unit)
    }
}
