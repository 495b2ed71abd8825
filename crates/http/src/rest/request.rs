//! Requests: a path and a body of JSON become operations, before anything is looked up.
//!
//! The words are those of RonDB's REST server (`filters`, `readColumns`, `operationId`, `relative-url`). A word that is not known is
//! refused: it was meant to do something.

use serde_json::{Map, Value as Json};
use shoal_types::ErrorCode;

use super::problem::Problem;
use hyper::StatusCode;

/// Of all paths, with RonDB's version of the interface.
pub const PREFIX: &str = "/0.1.0/";
/// Operations of one batch.
pub const OPERATIONS_MAX: usize = 1000;
/// Of a batch that the audit log tells of.
const SUMMARY_PARTS_MAX: usize = 20;
const OPERATION_ID_LETTERS_MAX: usize = 64;
/// Levels of arrays and objects. MySQL's documents have 100 at most, and stand a few levels within a batch.
const DEPTH_MAX: usize = 110;

/// What is done with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Read,
    Insert,
    Update,
    Upsert,
    Delete,
}

const VERBS: [(&str, Verb); 5] = [
    ("pk-read", Verb::Read),
    ("pk-insert", Verb::Insert),
    ("pk-update", Verb::Update),
    ("pk-upsert", Verb::Upsert),
    ("pk-delete", Verb::Delete),
];

impl Verb {
    fn by_name(name: &str) -> Option<Verb> {
        VERBS.iter().find(|(known, _)| *known == name).map(|(_, verb)| *verb)
    }

    pub fn name(self) -> &'static str {
        VERBS.iter().find(|(_, verb)| *verb == self).map_or("", |(name, _)| name)
    }

    pub fn writes(self) -> bool {
        self != Verb::Read
    }
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Batch,
    Row { database: String, table: String, verb: Verb },
}

impl Target {
    /// # Errors
    /// 404.
    pub fn of_path(path: &str) -> Result<Target, Problem> {
        let rest = path.strip_prefix(PREFIX).unwrap_or(path);
        let found = if rest == "batch" { Some(Target::Batch) } else { Target::of_row(rest) };
        found.ok_or_else(|| {
            let text = "there is no such request; there are /0.1.0/{database}/{table}/pk-read, pk-insert, pk-update, pk-upsert and \
                        pk-delete, and /0.1.0/batch: /api-docs tells more";
            Problem::unknown(StatusCode::NOT_FOUND, text)
        })
    }

    fn of_row(path: &str) -> Option<Target> {
        let mut parts = path.split('/');
        let (database, table, verb) = (parts.next()?, parts.next()?, Verb::by_name(parts.next()?)?);
        let (database, table) = (decoded(database)?, decoded(table)?);
        (parts.next().is_none() && !database.is_empty() && !table.is_empty()).then_some(Target::Row {
            database,
            table,
            verb,
        })
    }
}

/// A part of a path without its percent signs.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
                bytes.push((high? * 16 + low?) as u8);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// One operation on one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub database: String,
    pub table: String,
    pub verb: Verb,
    /// Columns of the primary key with their values.
    pub filters: Vec<(String, Json)>,
    /// What the row gets.
    pub data: Vec<(String, Json)>,
    /// What is read of it; empty: all.
    pub columns: Vec<String>,
    pub id: Option<String>,
}

/// What a request asks for.
#[derive(Debug)]
pub struct Operations {
    pub list: Vec<Operation>,
    /// Answered as a list, whatever their number.
    pub is_batch: bool,
}

impl Operations {
    /// What is done to which tables, without values: for the audit log.
    pub fn summary(&self) -> String {
        let mut counts: Vec<((Verb, &str, &str), usize)> = Vec::new();
        for Operation { verb, database, table, .. } in &self.list {
            let what = (*verb, database.as_str(), table.as_str());
            match counts.iter_mut().find(|(known, _)| *known == what) {
                Some((_, count)) => *count += 1,
                None => counts.push((what, 1)),
            }
        }
        let shown = counts.iter().take(SUMMARY_PARTS_MAX).map(|((verb, database, table), count)| {
            let times = if *count > 1 { format!(" x {count}") } else { String::new() };
            format!("{} {database}.{table}{times}", verb.name())
        });
        let left = counts.len().saturating_sub(SUMMARY_PARTS_MAX);
        let more = (left > 0).then(|| format!("{left} more"));
        shown.chain(more).collect::<Vec<_>>().join(", ")
    }
}

/// The operations of a body.
///
/// # Errors
/// 400: this is no such body. 413: there are too many.
pub fn operations(target: Target, body: &[u8]) -> Result<Operations, Problem> {
    check_depth(body)?;
    let body: Json = serde_json::from_slice(body).map_err(|error| {
        let text = format!("the body is no JSON: {error}");
        Problem::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidJsonText, text)
    })?;
    match target {
        Target::Row { database, table, verb } => {
            let list = vec![operation(database, table, verb, body)?];
            Ok(Operations { list, is_batch: false })
        }
        Target::Batch => Ok(Operations { list: batch(body)?, is_batch: true }),
    }
}

/// Parsing goes as deep as its text does, so the text is looked at first.
fn check_depth(body: &[u8]) -> Result<(), Problem> {
    let (mut depth, mut is_string, mut is_escaped) = (0usize, false, false);
    for &byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            let text = format!("the body is no JSON that is taken: it is more than {DEPTH_MAX} levels deep");
            return Err(Problem::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidJsonText, text));
        }
    }
    Ok(())
}

fn batch(body: Json) -> Result<Vec<Operation>, Problem> {
    let mut fields = Fields::of(body, "the body")?;
    let Some(Json::Array(items)) = fields.take("operations") else {
        return Err(Problem::malformed("send {\"operations\": [...]}"));
    };
    fields.end()?;
    if items.is_empty() || items.len() > OPERATIONS_MAX {
        let status = if items.is_empty() { StatusCode::BAD_REQUEST } else { StatusCode::PAYLOAD_TOO_LARGE };
        let text = format!("a batch has 1 to {OPERATIONS_MAX} operations, not {}", items.len());
        return Err(Problem::new(status, ErrorCode::WrongArguments, text));
    }
    let of_batch = |(position, item)| batch_item(item).map_err(|problem: Problem| problem.at(position));
    items.into_iter().enumerate().map(of_batch).collect()
}

fn batch_item(item: Json) -> Result<Operation, Problem> {
    let mut fields = Fields::of(item, "an operation")?;
    if let Some(method) = fields.take_text("method")?
        && method != "POST"
    {
        return Err(Problem::malformed("`method` is POST"));
    }
    let path = fields.take_text("relative-url")?;
    let path = path.ok_or_else(|| Problem::malformed("`relative-url` is missing: database/table/pk-read"))?;
    let body = fields.take("body").ok_or_else(|| Problem::malformed("`body` is missing"))?;
    fields.end()?;
    let path = path.strip_prefix(PREFIX).unwrap_or(&path);
    match Target::of_row(path.strip_prefix('/').unwrap_or(path)) {
        Some(Target::Row { database, table, verb }) => operation(database, table, verb, body),
        _ => Err(Problem::malformed(
            "`relative-url` is database/table/ and pk-read, pk-insert, pk-update, pk-upsert or pk-delete",
        )),
    }
}

fn operation(database: String, table: String, verb: Verb, body: Json) -> Result<Operation, Problem> {
    let mut fields = Fields::of(body, "the body of an operation")?;
    let id = fields.take_text("operationId")?;
    if id.as_ref().is_some_and(|id| id.chars().count() > OPERATION_ID_LETTERS_MAX) {
        let text = format!("`operationId` has at most {OPERATION_ID_LETTERS_MAX} letters");
        return Err(Problem::malformed(text));
    }
    let has_key = matches!(verb, Verb::Read | Verb::Update | Verb::Delete);
    let filters = if has_key { filters(fields.take("filters"))? } else { Vec::new() };
    let columns = if verb == Verb::Read { columns(fields.take("readColumns"))? } else { Vec::new() };
    let takes_data = matches!(verb, Verb::Insert | Verb::Update | Verb::Upsert);
    let data = if takes_data { data(fields.take("data"))? } else { Vec::new() };
    fields.end()?;
    let mut names: Vec<String> = filters.iter().chain(&data).map(|(name, _)| name.to_lowercase()).collect();
    if verb == Verb::Update {
        // A column may be both, as the row's key may change.
        names = data.iter().map(|(name, _)| name.to_lowercase()).collect();
    }
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let text = format!("Column '{}' specified twice", twice[0]);
        return Err(Problem::new(StatusCode::BAD_REQUEST, ErrorCode::FieldSpecifiedTwice, text));
    }
    Ok(Operation { database, table, verb, filters, data, columns, id })
}

fn filters(list: Option<Json>) -> Result<Vec<(String, Json)>, Problem> {
    let wanted =
        || Problem::malformed("`filters` names the primary key: [{\"column\": \"id\", \"value\": 1}, ...]");
    let Some(Json::Array(items)) = list else { return Err(wanted()) };
    let filter = |item| {
        let mut fields = Fields::of(item, "a filter")?;
        let column = fields.take_text("column")?.ok_or_else(wanted)?;
        let value = fields.take("value").ok_or_else(wanted)?;
        fields.end()?;
        Ok((column, value))
    };
    let filters: Vec<(String, Json)> = items.into_iter().map(filter).collect::<Result<_, Problem>>()?;
    if filters.is_empty() { Err(wanted()) } else { Ok(filters) }
}

fn columns(list: Option<Json>) -> Result<Vec<String>, Problem> {
    let wanted = || Problem::malformed("`readColumns` is a list: [{\"column\": \"name\"}, ...]");
    let items = match list {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(items)) => items,
        Some(_) => return Err(wanted()),
    };
    let column = |item| {
        let mut fields = Fields::of(item, "an item of `readColumns`")?;
        let column = fields.take_text("column")?.ok_or_else(wanted)?;
        if let Some(kind) = fields.take_text("dataReturnType")?
            && kind != "default"
        {
            return Err(Problem::malformed("`dataReturnType` is default"));
        }
        fields.end()?;
        Ok(column)
    };
    items.into_iter().map(column).collect()
}

fn data(object: Option<Json>) -> Result<Vec<(String, Json)>, Problem> {
    match object {
        Some(Json::Object(columns)) if !columns.is_empty() => Ok(columns.into_iter().collect()),
        _ => Err(Problem::malformed("`data` has the columns' values: {\"id\": 1, \"name\": \"perch\"}")),
    }
}

/// An object whose fields are taken one after the other.
struct Fields {
    left: Map<String, Json>,
    what: &'static str,
}

impl Fields {
    fn of(json: Json, what: &'static str) -> Result<Fields, Problem> {
        match json {
            Json::Object(left) => Ok(Fields { left, what }),
            _ => Err(Problem::malformed(format!("{what} is a JSON object"))),
        }
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        self.left.remove(name)
    }

    fn take_text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::malformed(format!("`{name}` is a string"))),
        }
    }

    /// All of them were known.
    fn end(self) -> Result<(), Problem> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => Err(Problem::malformed(format!("{} has no `{name}`", self.what))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verb: Verb) -> Target {
        Target::Row { database: "d".into(), table: "t".into(), verb }
    }

    fn refused(target: Target, body: &str) -> (u16, u16) {
        let problem = operations(target, body.as_bytes()).unwrap_err();
        (problem.status.as_u16(), problem.error().errno())
    }

    #[test]
    fn paths_name_a_table_and_a_verb() {
        assert_eq!(Target::of_path("/0.1.0/batch").unwrap(), Target::Batch);
        assert_eq!(Target::of_path("/0.1.0/d/t/pk-read").unwrap(), row(Verb::Read));
        let spaced = Target::of_path("/0.1.0/d/a%20b%2Fc/pk-delete").unwrap();
        assert_eq!(spaced, Target::Row { database: "d".into(), table: "a b/c".into(), verb: Verb::Delete });
        for path in [
            "/0.1.0/",
            "/0.1.0/d",
            "/0.1.0/d/t",
            "/0.1.0/d/t/scan",
            "/0.1.0/d/t/pk-read/x",
            "/0.1.0//t/pk-read",
            "/0.1.0/d/%f/pk-read",
            "/0.1.0/d/%ff/pk-read",
        ] {
            assert_eq!(Target::of_path(path).unwrap_err().status.as_u16(), 404, "{path}");
        }
    }

    #[test]
    fn bodies_become_operations() {
        let body = r#"{"filters":[{"column":"id","value":1}],"readColumns":[{"column":"a","dataReturnType":"default"}],"operationId":"x"}"#;
        let read = operations(row(Verb::Read), body.as_bytes()).unwrap().list.remove(0);
        assert_eq!(
            (read.filters, read.columns, read.id),
            (vec![("id".into(), 1.into())], vec!["a".into()], Some("x".into()))
        );
        let body = r#"{"operations":[{"method":"POST","relative-url":"d/t/pk-delete","body":{"filters":[{"column":"id","value":1}]}},
            {"relative-url":"/0.1.0/d/t/pk-insert","body":{"data":{"id":2}}}]}"#;
        let batch = operations(Target::Batch, body.as_bytes()).unwrap();
        assert!(batch.is_batch);
        assert_eq!(batch.summary(), "pk-delete d.t, pk-insert d.t");
        assert_eq!(batch.list.iter().map(|one| one.verb).collect::<Vec<_>>(), [Verb::Delete, Verb::Insert]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for body in ["", "{", "nul", "{} {}", "\u{0}", r#"{"filters":[{"column":"id","value":1}"#] {
            assert_eq!(refused(row(Verb::Read), body), (400, 3140), "{body}");
        }
        for body in [
            "[]",
            "{}",
            r#"{"filters":[]}"#,
            r#"{"filters":[{"column":"id"}]}"#,
            r#"{"filters":[{"column":1,"value":1}]}"#,
            r#"{"filters":[{"column":"id","value":1}],"readcolumns":[]}"#,
            r#"{"filters":[{"column":"id","value":1}],"data":{"a":1}}"#,
            r#"{"filters":[{"column":"id","value":1}],"operationId":7}"#,
            r#"{"filters":[{"column":"id","value":1}],"readColumns":[{"column":"a","dataReturnType":"raw"}]}"#,
        ] {
            assert_eq!(refused(row(Verb::Read), body), (400, 1210), "{body}");
        }
        let twice = r#"{"filters":[{"column":"id","value":1},{"column":"ID","value":1}]}"#;
        assert_eq!(refused(row(Verb::Read), twice), (400, 1110));
        assert_eq!(refused(row(Verb::Insert), r#"{"data":{"a":1,"A":2}}"#), (400, 1110));
        assert_eq!(refused(row(Verb::Insert), r#"{"data":{}}"#), (400, 1210));
        assert_eq!(refused(Target::Batch, r#"{"operations":[]}"#), (400, 1210));
        assert_eq!(refused(Target::Batch, r#"{"operations":[{"relative-url":"batch","body":{}}]}"#), (400, 1210));
    }

    #[test]
    fn deep_bodies_and_long_batches_are_refused() {
        let bomb = format!("{}1{}", "[".repeat(400_000), "]".repeat(400_000));
        assert_eq!(refused(Target::Batch, &bomb), (400, 3140));
        assert_eq!(refused(Target::Batch, &"{\"a\":".repeat(100_000)), (400, 3140));
        let brackets = format!(r#"{{"data":{{"a":"{}\""}}}}"#, "[".repeat(1000));
        assert!(operations(row(Verb::Insert), brackets.as_bytes()).is_ok(), "they are text");
        let one = r#"{"relative-url":"d/t/pk-delete","body":{"filters":[{"column":"id","value":1}]}}"#;
        let many = |count: usize| format!(r#"{{"operations":[{}]}}"#, vec![one; count].join(","));
        assert!(operations(Target::Batch, many(OPERATIONS_MAX).as_bytes()).is_ok());
        assert_eq!(refused(Target::Batch, &many(OPERATIONS_MAX + 1)).0, 413);
    }

    const WORDS: [&str; 16] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"operations\"",
        "\"relative-url\"",
        "\"d/t/pk-read\"",
        "\"body\"",
        "\"filters\"",
        "\"column\"",
        "\"value\"",
        "\"data\"",
        "1",
        "null",
    ];

    proptest::proptest! {
        #[test]
        fn any_body_is_understood_or_refused(bytes: Vec<u8>, words in proptest::collection::vec(0..WORDS.len(), 0..60), path: String) {
            let words: String = words.into_iter().map(|word| WORDS[word]).collect();
            let _ = Target::of_path(&format!("{PREFIX}{path}"));
            for target in [Target::Batch, row(Verb::Read), row(Verb::Update), row(Verb::Upsert)] {
                for body in [&bytes[..], words.as_bytes()] {
                    if let Ok(found) = operations(target.clone(), body) {
                        proptest::prop_assert!(!found.list.is_empty() && !found.summary().is_empty());
                    }
                }
            }
        }
    }
}
