//! What MEMBER OF, JSON_CONTAINS and JSON_OVERLAPS look for in the array that a multi-valued key part keeps.
//!
//! A predicate stays as it is and is tested on the rows that are found. So the elements that are looked for need only be such that no row
//! without any of them passes: of what JSON_CONTAINS asks for, one is enough.

use shoal_expr::{BuildContext, Call, Expr, Operation, array_element, build};
use shoal_types::json::{JsonKind, JsonRef};
use shoal_types::{Json, Result, SqlType, Value};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Test {
    MemberOf,
    Contains,
    Overlaps,
}

/// A predicate about an array and a value: the positions of both among its arguments.
#[derive(Clone, Copy)]
pub struct ArrayTest {
    test: Test,
    pub array: usize,
    value: usize,
}

/// Elements one of which a row must have.
pub enum Wanted {
    Elements(Vec<Expr>),
    /// That is told by the statement's literals.
    OfLiterals,
    /// The index is of no use.
    Unknown,
}

/// The ways to read a predicate as one about an array.
pub fn tests_of(call: &Call) -> Vec<ArrayTest> {
    let Operation::Function(function) = &call.operation else { return Vec::new() };
    match (function.name, call.arguments.len()) {
        ("MEMBER OF", 2) => vec![ArrayTest { test: Test::MemberOf, array: 1, value: 0 }],
        ("JSON_CONTAINS", 2) => vec![ArrayTest { test: Test::Contains, array: 0, value: 1 }],
        ("JSON_OVERLAPS", 2) => {
            let test = Test::Overlaps;
            vec![ArrayTest { test, array: 0, value: 1 }, ArrayTest { test, array: 1, value: 0 }]
        }
        _ => Vec::new(),
    }
}

impl ArrayTest {
    /// What the predicate looks for in an array of elements of this type.
    pub fn wanted(self, call: &Call, element: &SqlType, ctx: &BuildContext<'_>) -> Result<Wanted> {
        let value = &call.arguments[self.value];
        if self.test == Test::MemberOf {
            return member(value, element, ctx);
        }
        let document = match value {
            Expr::Literal(literal) => match &literal.value {
                Value::Json(json) => Some(json.clone()),
                Value::Str(text) if !literal.sql_type.is_binary_string() => Json::parse(text).ok(),
                _ => None,
            },
            other if other.columns_used().is_empty() && !other.parameters_used().is_empty() => {
                return Ok(Wanted::OfLiterals);
            }
            _ => None,
        };
        let Some(document) = document else { return Ok(Wanted::Unknown) };
        let root = document.root();
        let mut parts: Vec<JsonRef<'_>> = match root.kind() {
            JsonKind::Array => root.elements().collect(),
            _ => vec![root],
        };
        if is_text(element) && parts.iter().any(|part| part.kind() != JsonKind::String) {
            return Ok(Wanted::Unknown);
        }
        // What is no value of the elements' type is in no array.
        let is_element = |part: &JsonRef<'_>| array_element(part, element).is_ok();
        match self.test {
            Test::Contains if !parts.iter().all(is_element) => return Ok(Wanted::Unknown),
            Test::Contains => parts.truncate(1),
            Test::MemberOf | Test::Overlaps => parts.retain(is_element),
        }
        let literal = |part: &JsonRef<'_>| {
            let (value, _) = array_element(part, element).ok()?;
            Some(Expr::literal(value, element.clone()))
        };
        let elements: Vec<Expr> = parts.iter().filter_map(literal).collect();
        Ok(if elements.is_empty() { Wanted::Unknown } else { Wanted::Elements(elements) })
    }
}

fn member(value: &Expr, element: &SqlType, ctx: &BuildContext<'_>) -> Result<Wanted> {
    let sql_type = value.sql_type();
    let is_known = value.columns_used().is_empty() && value.is_deterministic();
    // Numbers that are equal may be different texts, and JSON tells a number from a text.
    if !is_known || is_text(element) && (!sql_type.is_string() || sql_type.is_binary_string()) {
        return Ok(Wanted::Unknown);
    }
    Ok(match build::wanted_element(value.clone(), element, ctx)? {
        Expr::Literal(literal) if literal.value.is_null() => Wanted::Unknown,
        wanted => Wanted::Elements(vec![wanted]),
    })
}

fn is_text(element: &SqlType) -> bool {
    element.is_string()
}
