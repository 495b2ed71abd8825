//! A small reader of SQL expressions, so that tests can be written as the manual writes its examples.

use shoal_types::{BaseType, Charset, Collation, Decimal, IntervalUnit, Result, SqlType, Value};

use crate::build::{self, BinaryOperator, BuildContext, TemporalKind, TrimSide, UnaryOperator};
use crate::expr::Expr;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

const SYMBOLS: &[&str] = &[
    "<=>", "->>", "->", "<<", ">>", "<=", ">=", "<>", "!=", "||", "&&", ":=", "+", "-", "*", "/", "%", "=", "<",
    ">", "(", ")", ",", "&", "|", "^", "~", "!", "?",
];

fn tokens(sql: &str) -> Vec<Token> {
    let bytes = sql.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            byte if byte.is_ascii_whitespace() => at += 1,
            b'\'' | b'"' => {
                let quote = bytes[at];
                let mut text = Vec::new();
                at += 1;
                loop {
                    match bytes[at] {
                        b'\\' => {
                            at += 1;
                            text.extend_from_slice(match bytes[at] {
                                b'n' => b"\n",
                                b't' => b"\t",
                                b'0' => b"\0",
                                b'%' => b"\\%",
                                b'_' => b"\\_",
                                ref other => std::slice::from_ref(other),
                            });
                        }
                        byte if byte == quote && bytes.get(at + 1) == Some(&quote) => {
                            text.push(quote);
                            at += 1;
                        }
                        byte if byte == quote => break,
                        byte => text.push(byte),
                    }
                    at += 1;
                }
                at += 1;
                tokens.push(Token::Text(text));
            }
            b'0' if bytes.get(at + 1) == Some(&b'x') => {
                at += 2;
                while at < bytes.len() && bytes[at].is_ascii_hexdigit() {
                    at += 1;
                }
                tokens.push(Token::Bytes(hex(&sql[start + 2..at])));
            }
            b'x' | b'X' if bytes.get(at + 1) == Some(&b'\'') => {
                let end = sql[at + 2..].find('\'').unwrap() + at + 2;
                tokens.push(Token::Bytes(hex(&sql[at + 2..end])));
                at = end + 1;
            }
            b'0'..=b'9' | b'.' => {
                while at < bytes.len()
                    && (bytes[at].is_ascii_digit()
                        || bytes[at] == b'.'
                        || (matches!(bytes[at], b'e' | b'E'))
                        || (matches!(bytes[at], b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E')))
                {
                    at += 1;
                }
                tokens.push(Token::Number(sql[start..at].to_owned()));
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                tokens.push(Token::Word(sql[start..at].to_ascii_uppercase()));
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| sql[at..].starts_with(**symbol));
                let symbol = symbol.unwrap_or_else(|| panic!("no token at {at} of {sql}"));
                at += symbol.len();
                tokens.push(Token::Symbol(symbol));
            }
        }
    }
    tokens.push(Token::End);
    tokens
}

fn hex(digits: &str) -> Vec<u8> {
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

pub struct Reader<'a> {
    tokens: Vec<Token>,
    at: usize,
    ctx: &'a BuildContext<'a>,
    columns: &'a [(&'a str, SqlType)],
}

/// Builds the expression that `sql` spells. Words that are names of `columns` are columns at their positions.
pub fn read(sql: &str, columns: &[(&str, SqlType)], ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut reader = Reader { tokens: tokens(sql), at: 0, ctx, columns };
    let expr = reader.disjunction()?;
    assert_eq!(reader.peek(), &Token::End, "unread input in {sql}");
    Ok(expr)
}

impl Reader<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token {
        self.at += 1;
        self.tokens[self.at - 1].clone()
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(known) if known == word);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(known) if *known == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) {
        assert!(self.symbol(symbol), "expected {symbol}, found {:?}", self.peek());
    }

    fn binary(&self, operator: BinaryOperator, left: Expr, right: Expr) -> Result<Expr> {
        build::binary(operator, left, right, self.ctx)
    }

    fn disjunction(&mut self) -> Result<Expr> {
        let mut left = self.exclusive()?;
        while self.word("OR") || self.symbol("||") {
            let right = self.exclusive()?;
            left = self.binary(BinaryOperator::Or, left, right)?;
        }
        Ok(left)
    }

    fn exclusive(&mut self) -> Result<Expr> {
        let mut left = self.conjunction()?;
        while self.word("XOR") {
            let right = self.conjunction()?;
            left = self.binary(BinaryOperator::Xor, left, right)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr> {
        let mut left = self.negation()?;
        while self.word("AND") || self.symbol("&&") {
            let right = self.negation()?;
            left = self.binary(BinaryOperator::And, left, right)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expr> {
        if self.word("NOT") {
            let operand = self.negation()?;
            return build::not(operand, self.ctx);
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Result<Expr> {
        use BinaryOperator as B;
        let mut left = self.bit_or()?;
        loop {
            let operator = match self.peek() {
                Token::Symbol("=") => B::Equal,
                Token::Symbol("<=>") => B::NullSafeEqual,
                Token::Symbol("<>" | "!=") => B::NotEqual,
                Token::Symbol("<") => B::Less,
                Token::Symbol("<=") => B::LessOrEqual,
                Token::Symbol(">") => B::Greater,
                Token::Symbol(">=") => B::GreaterOrEqual,
                _ => {
                    let before = self.at;
                    left = self.word_predicate(left)?;
                    if self.at == before {
                        return Ok(left);
                    }
                    continue;
                }
            };
            self.at += 1;
            let right = self.bit_or()?;
            left = self.binary(operator, left, right)?;
        }
    }

    fn word_predicate(&mut self, left: Expr) -> Result<Expr> {
        if self.word("IS") {
            let negated = self.word("NOT");
            return match self.next() {
                Token::Word(word) if word == "TRUE" => build::is_truth(left, true, negated, self.ctx),
                Token::Word(word) if word == "FALSE" => build::is_truth(left, false, negated, self.ctx),
                _ => build::is_null(left, negated, self.ctx),
            };
        }
        if self.word("SOUNDS") {
            assert!(self.word("LIKE"));
            let right = self.bit_or()?;
            return self.binary(BinaryOperator::SoundsLike, left, right);
        }
        if self.word("MEMBER") {
            assert!(self.word("OF"));
            let array = self.primary()?;
            return build::member_of(left, array, self.ctx);
        }
        let negated = self.word("NOT");
        if self.word("LIKE") {
            let pattern = self.bit_or()?;
            let escape = if self.word("ESCAPE") { Some(self.primary()?) } else { None };
            return build::like(left, pattern, escape, negated, self.ctx);
        }
        if self.word("REGEXP") || self.word("RLIKE") {
            let pattern = self.bit_or()?;
            return build::regexp(left, pattern, negated, self.ctx);
        }
        if self.word("BETWEEN") {
            let low = self.bit_or()?;
            assert!(self.word("AND"));
            let high = self.bit_or()?;
            return build::between(left, low, high, negated, self.ctx);
        }
        if self.word("IN") {
            self.expect("(");
            let list = self.list()?;
            return build::in_list(left, list, negated, self.ctx);
        }
        assert!(!negated, "NOT before {:?}", self.peek());
        Ok(left)
    }

    /// Expressions up to the closing parenthesis.
    fn list(&mut self) -> Result<Vec<Expr>> {
        let mut list = Vec::new();
        if self.symbol(")") {
            return Ok(list);
        }
        loop {
            list.push(self.disjunction()?);
            if self.symbol(")") {
                return Ok(list);
            }
            self.expect(",");
        }
    }

    fn levels(
        &mut self,
        operators: &[(&str, BinaryOperator)],
        below: fn(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut left = below(self)?;
        'next: loop {
            for (spelling, operator) in operators {
                if self.symbol(spelling) || self.word(spelling) {
                    let additive = matches!(operator, BinaryOperator::Add | BinaryOperator::Subtract);
                    if additive && self.word("INTERVAL") {
                        let amount = self.disjunction()?;
                        let unit = self.unit();
                        let subtract = *operator == BinaryOperator::Subtract;
                        left = build::add_interval(left, amount, unit, subtract, self.ctx)?;
                    } else {
                        let right = below(self)?;
                        left = self.binary(*operator, left, right)?;
                    }
                    continue 'next;
                }
            }
            return Ok(left);
        }
    }

    fn bit_or(&mut self) -> Result<Expr> {
        self.levels(&[("|", BinaryOperator::BitOr)], |reader| {
            reader.levels(&[("&", BinaryOperator::BitAnd)], Self::shift)
        })
    }

    fn shift(&mut self) -> Result<Expr> {
        self.levels(&[("<<", BinaryOperator::ShiftLeft), (">>", BinaryOperator::ShiftRight)], |reader| {
            reader.levels(&[("+", BinaryOperator::Add), ("-", BinaryOperator::Subtract)], Self::product)
        })
    }

    fn product(&mut self) -> Result<Expr> {
        use BinaryOperator::{Divide, IntegerDivide, Modulo, Multiply};
        let operators = [("*", Multiply), ("/", Divide), ("%", Modulo), ("DIV", IntegerDivide), ("MOD", Modulo)];
        self.levels(&operators, |reader| reader.levels(&[("^", BinaryOperator::BitXor)], Self::unary))
    }

    fn unary(&mut self) -> Result<Expr> {
        let operator = match self.peek() {
            Token::Symbol("-") => UnaryOperator::Minus,
            Token::Symbol("+") => UnaryOperator::Plus,
            Token::Symbol("~") => UnaryOperator::BitNot,
            Token::Symbol("!") => UnaryOperator::Not,
            Token::Word(word) if word == "BINARY" => UnaryOperator::Binary,
            _ => return self.collated(),
        };
        self.at += 1;
        let operand = self.unary()?;
        build::unary(operator, operand, self.ctx)
    }

    fn collated(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        loop {
            if self.word("COLLATE") {
                let Token::Word(name) = self.next() else { panic!("collation expected") };
                expr = build::collate(expr, Collation::resolve(&name.to_ascii_lowercase())?, self.ctx)?;
            } else if self.symbol("->>") {
                let path = self.primary()?;
                expr = build::json_extract(expr, path, true, self.ctx)?;
            } else if self.symbol("->") {
                let path = self.primary()?;
                expr = build::json_extract(expr, path, false, self.ctx)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn string(&self, text: Vec<u8>) -> Expr {
        Expr::string(text, self.ctx.settings.collation_connection)
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.next() {
            Token::Number(digits) => Ok(number(&digits)),
            Token::Text(text) => Ok(self.string(text)),
            Token::Bytes(bytes) => Ok(Expr::hexadecimal(bytes)),
            Token::Symbol("?") => Ok(build::untyped_parameter(0, self.ctx)),
            Token::Symbol("(") => {
                let expr = self.disjunction()?;
                self.expect(")");
                Ok(expr)
            }
            Token::Word(word) => self.named(&word),
            other => panic!("unexpected {other:?}"),
        }
    }

    fn named(&mut self, word: &str) -> Result<Expr> {
        if let Some(position) = self.columns.iter().position(|(name, _)| name.eq_ignore_ascii_case(word)) {
            let (name, sql_type) = &self.columns[position];
            return Ok(Expr::column(position, sql_type.clone(), true, name));
        }
        let literal_kind = match word {
            "DATE" => Some(TemporalKind::Date),
            "TIME" => Some(TemporalKind::Time),
            "TIMESTAMP" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        if let (Some(kind), Token::Text(text)) = (literal_kind, self.peek().clone()) {
            self.at += 1;
            return build::temporal_literal(kind, &text, self.ctx);
        }
        if let (Some(charset), Token::Text(text)) =
            (word.strip_prefix('_').and_then(Charset::by_name), self.peek().clone())
        {
            self.at += 1;
            return Ok(Expr::string(text, charset.default_collation()));
        }
        match word {
            "NULL" => return Ok(Expr::null()),
            "TRUE" => return Ok(Expr::boolean(true)),
            "FALSE" => return Ok(Expr::boolean(false)),
            "CASE" => return self.case(),
            "CURRENT_USER" | "CURRENT_DATE" if self.peek() != &Token::Symbol("(") => {
                return build::function(word, Vec::new(), self.ctx);
            }
            _ => {}
        }
        self.expect("(");
        self.call(word)
    }

    fn call(&mut self, name: &str) -> Result<Expr> {
        match name {
            "CAST" => {
                let operand = self.disjunction()?;
                assert!(self.word("AS"));
                let target = self.cast_type();
                self.expect(")");
                build::cast(operand, target, self.ctx)
            }
            "CONVERT" => {
                let operand = self.disjunction()?;
                if self.symbol(",") {
                    let target = self.cast_type();
                    self.expect(")");
                    return build::cast(operand, target, self.ctx);
                }
                assert!(self.word("USING"));
                let Token::Word(charset) = self.next() else { panic!("charset expected") };
                self.expect(")");
                build::convert_using(operand, Charset::resolve(&charset)?, self.ctx)
            }
            "EXTRACT" => {
                let unit = self.unit();
                assert!(self.word("FROM"));
                let operand = self.disjunction()?;
                self.expect(")");
                build::extract(unit, operand, self.ctx)
            }
            "TIMESTAMPDIFF" | "TIMESTAMPADD" => {
                let unit = self.unit();
                self.expect(",");
                let mut arguments = self.list()?;
                let second = arguments.pop().unwrap();
                let first = arguments.pop().unwrap();
                if name == "TIMESTAMPADD" {
                    build::timestamp_add(unit, first, second, self.ctx)
                } else {
                    build::timestamp_difference(unit, first, second, self.ctx)
                }
            }
            "GET_FORMAT" => {
                let kind = match self.next() {
                    Token::Word(word) if word == "DATE" => TemporalKind::Date,
                    Token::Word(word) if word == "TIME" => TemporalKind::Time,
                    _ => TemporalKind::Timestamp,
                };
                self.expect(",");
                let standard = self.list()?.remove(0);
                build::date_format_name(kind, standard, self.ctx)
            }
            "TRIM" => self.trim(),
            "ADDDATE" | "DATE_ADD" | "SUBDATE" | "DATE_SUB" => self.date_arithmetic(name),
            "CHAR" => {
                let mut arguments = Vec::new();
                loop {
                    arguments.push(self.disjunction()?);
                    if self.word("USING") {
                        let Token::Word(charset) = self.next() else { panic!("charset expected") };
                        self.expect(")");
                        return build::char_function(arguments, Some(Charset::resolve(&charset)?), self.ctx);
                    }
                    if self.symbol(")") {
                        return build::char_function(arguments, None, self.ctx);
                    }
                    self.expect(",");
                }
            }
            _ => {
                let arguments = self.list()?;
                build::function(name, arguments, self.ctx)
            }
        }
    }

    fn trim(&mut self) -> Result<Expr> {
        let side = match self.peek() {
            Token::Word(word) if word == "LEADING" => Some(TrimSide::Leading),
            Token::Word(word) if word == "TRAILING" => Some(TrimSide::Trailing),
            Token::Word(word) if word == "BOTH" => Some(TrimSide::Both),
            _ => None,
        };
        self.at += usize::from(side.is_some());
        let first = if self.word("FROM") { None } else { Some(self.disjunction()?) };
        let (remove, text) = match first {
            None => (None, self.disjunction()?),
            Some(first) if self.word("FROM") => (Some(first), self.disjunction()?),
            Some(first) => (None, first),
        };
        self.expect(")");
        build::trim(side.unwrap_or(TrimSide::Both), remove, text, self.ctx)
    }

    fn date_arithmetic(&mut self, name: &str) -> Result<Expr> {
        let start = self.disjunction()?;
        self.expect(",");
        if !self.word("INTERVAL") {
            let days = self.list()?.remove(0);
            return build::function(name, vec![start, days], self.ctx);
        }
        let amount = self.disjunction()?;
        let unit = self.unit();
        self.expect(")");
        build::add_interval(start, amount, unit, matches!(name, "SUBDATE" | "DATE_SUB"), self.ctx)
    }

    fn case(&mut self) -> Result<Expr> {
        let operand = if matches!(self.peek(), Token::Word(word) if word == "WHEN") {
            None
        } else {
            Some(self.disjunction()?)
        };
        let mut branches = Vec::new();
        while self.word("WHEN") {
            let condition = self.disjunction()?;
            assert!(self.word("THEN"));
            branches.push((condition, self.disjunction()?));
        }
        let otherwise = if self.word("ELSE") { Some(self.disjunction()?) } else { None };
        assert!(self.word("END"));
        build::case(operand, branches, otherwise, self.ctx)
    }

    fn length(&mut self) -> Option<(u32, u8)> {
        if !self.symbol("(") {
            return None;
        }
        let mut number = || match self.next() {
            Token::Number(digits) => digits.parse::<u32>().unwrap(),
            other => panic!("length expected, found {other:?}"),
        };
        let first = number();
        let second = if self.symbol(",") {
            match self.next() {
                Token::Number(digits) => digits.parse().unwrap(),
                other => panic!("scale expected, found {other:?}"),
            }
        } else {
            0
        };
        self.expect(")");
        Some((first, second))
    }

    fn cast_type(&mut self) -> SqlType {
        let Token::Word(word) = self.next() else { panic!("type expected") };
        let length = self.length();
        match word.as_str() {
            "SIGNED" => {
                self.word("INTEGER");
                SqlType::bigint(false)
            }
            "UNSIGNED" => {
                self.word("INTEGER");
                SqlType::bigint(true)
            }
            "CHAR" => SqlType {
                length: length.map_or(u32::MAX, |length| length.0),
                collation: self.ctx.settings.collation_connection,
                ..SqlType::new(BaseType::Char)
            },
            "BINARY" => {
                SqlType { length: length.map_or(u32::MAX, |length| length.0), ..SqlType::new(BaseType::Char) }
            }
            "DECIMAL" => {
                let (precision, scale) = length.unwrap_or((10, 0));
                SqlType::decimal(precision, scale)
            }
            "DATE" => SqlType::new(BaseType::Date),
            "TIME" => {
                SqlType { decimals: length.map_or(0, |length| length.0 as u8), ..SqlType::new(BaseType::Time) }
            }
            "DATETIME" => SqlType::datetime(length.map_or(0, |length| length.0 as u8)),
            "DOUBLE" => SqlType::double(),
            "FLOAT" => SqlType::new(BaseType::Float),
            "YEAR" => SqlType::new(BaseType::Year),
            "JSON" => SqlType { collation: Collation::UTF8MB4_BIN, ..SqlType::new(BaseType::Json) },
            other => panic!("unknown type {other}"),
        }
    }

    fn unit(&mut self) -> IntervalUnit {
        use IntervalUnit::*;
        let Token::Word(word) = self.next() else { panic!("unit expected") };
        match word.as_str() {
            "MICROSECOND" => Microsecond,
            "SECOND" => Second,
            "MINUTE" => Minute,
            "HOUR" => Hour,
            "DAY" => Day,
            "WEEK" => Week,
            "MONTH" => Month,
            "QUARTER" => Quarter,
            "YEAR" => Year,
            "SECOND_MICROSECOND" => SecondMicrosecond,
            "MINUTE_MICROSECOND" => MinuteMicrosecond,
            "MINUTE_SECOND" => MinuteSecond,
            "HOUR_MICROSECOND" => HourMicrosecond,
            "HOUR_SECOND" => HourSecond,
            "HOUR_MINUTE" => HourMinute,
            "DAY_MICROSECOND" => DayMicrosecond,
            "DAY_SECOND" => DaySecond,
            "DAY_MINUTE" => DayMinute,
            "DAY_HOUR" => DayHour,
            "YEAR_MONTH" => YearMonth,
            other => panic!("unknown unit {other}"),
        }
    }
}

fn number(digits: &str) -> Expr {
    if digits.contains(['e', 'E']) {
        return Expr::literal(Value::Double(digits.parse().unwrap()), SqlType::double());
    }
    if let Ok(number) = digits.parse::<i64>() {
        return Expr::integer(number);
    }
    if let Ok(number) = digits.parse::<u64>() {
        return Expr::literal(Value::UInt(number), SqlType { length: 20, ..SqlType::bigint(true) });
    }
    let number = Decimal::parse(digits.as_bytes()).value;
    Expr::literal(Value::Decimal(number), SqlType::decimal(u32::from(number.precision()), number.scale()))
}
