//! What a line asks for. Parsing looks at nothing but the line; the places of its values go into lists that are used again.
//!
//! ```text
//! P <index id> <database> <table> <index> <columns,...> [<filter columns,...>]
//! A 1 <secret>
//! <index id> <operator> <n> <value>*n [<limit> <offset>] [@ <key part> <n> <value>*n] [F|W <operator> <column> <value>]* [<change> <value>*]
//! <index id> + <n> <value>*n
//! ```

use shoal_types::Comparison;

use crate::refusal::{Outcome, Refusal};
use crate::token::{Span, Tokens, number};

/// What the operator of a request on an index stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Find(Comparison),
    Insert,
    /// Reserved for statements; nobody has ever answered it.
    Sql,
}

/// What a filter does with rows that it does not hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// `F`: they are left out.
    Skip,
    /// `W`: the first of them ends the search.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterToken {
    pub kind: FilterKind,
    pub comparison: Comparison,
    /// Position among the index's filter columns.
    pub column: u32,
    pub value: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Update,
    Delete,
    Add,
    Subtract,
}

/// What happens to the rows that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// The rows as they were are the answer, not their number.
    pub returns_rows: bool,
}

/// A request on an open index, as it was asked for.
#[derive(Debug, Default)]
pub struct Request {
    /// Values of the key, or of the row to insert.
    pub values: Vec<Span>,
    pub limit: u32,
    pub offset: u32,
    /// The part of the key that takes the values of the list one after the other.
    pub list_part: Option<u32>,
    pub list: Vec<Span>,
    pub filters: Vec<FilterToken>,
    pub change: Option<Result<Change, Refusal>>,
    pub change_values: Vec<Span>,
}

/// The first token of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    Open,
    Authorize,
    OnIndex(u32),
}

impl Head {
    /// Takes the head off the line.
    #[inline]
    pub fn take(tokens: &mut Tokens<'_>) -> Outcome<Head> {
        match tokens.next().unwrap_or_default() {
            b"P" => Ok(Head::Open),
            b"A" => Ok(Head::Authorize),
            token @ [b'0'..=b'9', ..] => match number(token) {
                Some(id) => Ok(Head::OnIndex(id)),
                None => Err(Refusal::Request("stmtnum")),
            },
            _ => Err(Refusal::COMMAND),
        }
    }
}

/// The operator of a request on an index.
#[inline]
pub fn take_operation(tokens: &mut Tokens<'_>) -> Outcome<Operation> {
    Ok(match tokens.next().unwrap_or_default() {
        b"=" => Operation::Find(Comparison::Equal),
        b">" => Operation::Find(Comparison::Greater),
        b">=" => Operation::Find(Comparison::GreaterOrEqual),
        b"<" => Operation::Find(Comparison::Less),
        b"<=" => Operation::Find(Comparison::LessOrEqual),
        b"+" => Operation::Insert,
        b"S" => Operation::Sql,
        _ => return Err(Refusal::Request("op")),
    })
}

impl Request {
    /// Reads what follows the operator.
    #[inline]
    pub fn read(&mut self, tokens: &mut Tokens<'_>) -> Outcome {
        self.clear();
        let count = take_number(tokens)?;
        if count == 0 {
            return Err(Refusal::Request("klen"));
        }
        take_values(tokens, count, &mut self.values)?;
        self.limit = take_number(tokens)?.max(1);
        self.offset = take_number(tokens)?;
        if tokens.is_at_end() {
            return Ok(());
        }
        self.read_conditions(tokens)
    }

    fn clear(&mut self) {
        self.values.clear();
        self.list_part = None;
        self.list.clear();
        self.filters.clear();
        self.change = None;
        self.change_values.clear();
    }

    /// The list, the filters and the change.
    fn read_conditions(&mut self, tokens: &mut Tokens<'_>) -> Outcome {
        let mut word = tokens.next();
        if word == Some(b"@") {
            self.list_part = Some(take_number(tokens)?);
            let count = take_number(tokens)?;
            let wrong_count = Refusal::Request("invalueslen");
            if count == 0 || take_values(tokens, count, &mut self.list).is_err() {
                return Err(wrong_count);
            }
            word = tokens.next();
        }
        while let Some(kind @ (b"F" | b"W")) = word {
            let kind = if kind == b"F" { FilterKind::Skip } else { FilterKind::Stop };
            let comparison = filter_comparison(tokens.next().unwrap_or_default())?;
            let column = tokens.next().and_then(number).ok_or(Refusal::Request("filterfld"))?;
            let value = tokens.next_span().ok_or(Refusal::SYNTAX)?;
            self.filters.push(FilterToken { kind, comparison, column, value });
            word = tokens.next();
        }
        let Some(word) = word else { return Ok(()) };
        if matches!(word, [b'F' | b'W', ..]) {
            return Err(Refusal::Request("filtertype"));
        }
        if word.is_empty() && tokens.is_at_end() {
            return Ok(());
        }
        self.change = Some(change(word));
        self.change_values.extend(std::iter::from_fn(|| tokens.next_span()));
        Ok(())
    }
}

fn change(word: &[u8]) -> Outcome<Change> {
    let (letter, returns_rows) = match word {
        [letter] => (letter, false),
        [letter, b'?'] => (letter, true),
        _ => return Err(Refusal::Request("modop")),
    };
    let kind = match letter {
        b'U' => ChangeKind::Update,
        b'D' => ChangeKind::Delete,
        b'+' => ChangeKind::Add,
        b'-' => ChangeKind::Subtract,
        _ => return Err(Refusal::Request("modop")),
    };
    Ok(Change { kind, returns_rows })
}

fn filter_comparison(token: &[u8]) -> Outcome<Comparison> {
    Ok(match token {
        b"=" => Comparison::Equal,
        b"!=" => Comparison::NotEqual,
        b">" => Comparison::Greater,
        b">=" => Comparison::GreaterOrEqual,
        b"<" => Comparison::Less,
        b"<=" => Comparison::LessOrEqual,
        _ => return Err(Refusal::Request("op")),
    })
}

/// A number, 0 where the line has ended.
#[inline]
fn take_number(tokens: &mut Tokens<'_>) -> Outcome<u32> {
    number(tokens.next().unwrap_or_default()).ok_or(Refusal::SYNTAX)
}

/// As many values as were announced: the line has them, whatever it announces.
#[inline]
fn take_values(tokens: &mut Tokens<'_>, count: u32, values: &mut Vec<Span>) -> Outcome {
    for _ in 0..count {
        values.push(tokens.next_span().ok_or(Refusal::Request("klen"))?);
    }
    Ok(())
}

/// `P` without its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'l> {
    pub id: u32,
    pub database: &'l [u8],
    pub table: &'l [u8],
    pub index: &'l [u8],
    pub columns: &'l [u8],
    pub filter_columns: &'l [u8],
}

impl<'l> Open<'l> {
    pub fn read(tokens: &mut Tokens<'l>) -> Outcome<Open<'l>> {
        let id = tokens.next().filter(|token| !token.is_empty()).and_then(number);
        let id = id.ok_or(Refusal::Request("stmtnum"))?;
        let mut text = || tokens.next().unwrap_or_default();
        let (database, table, index, columns, filter_columns) = (text(), text(), text(), text(), text());
        Ok(Open { id, database, table, index, columns, filter_columns })
    }
}

#[cfg(test)]
mod tests;
