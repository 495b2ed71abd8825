//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: documents against draft 4 of the JSON Schema specification.
//!
//! `$ref` may refer to parts of the schema itself. What a keyword says that is not of the keyword's type is ignored.

use std::cell::Cell;

use regex::bytes::RegexBuilder;
use shoal_types::json::JsonValue;
use shoal_types::{Error, ErrorCode, Json, Result, Value};

use super::Function;
use super::json::{call_name, document, documents, from_tree};
use crate::context::EvalContext;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "JSON_SCHEMA_VALID",
        2,
        2,
        |d| {
            documents(d, 0)?;
            Ok(d.boolean()?.nullable())
        },
        |call, values, ctx| Ok(Value::from(validate(call, values, ctx)?.is_none())),
    ),
    Function::new("JSON_SCHEMA_VALIDATION_REPORT", 2, 2, |d| documents(d, 0), report),
];

/// Schemas that are looked at for one document: those that refer to themselves would be without end.
const SCHEMAS_MAX: usize = 100_000;
/// And how deep within each other.
const DEPTH_MAX: usize = 200;
/// Of a compiled pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Why a document does not match.
struct Failure {
    keyword: &'static str,
    schema: String,
    document: String,
}

fn report(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = |text: &str| JsonValue::String(text.as_bytes().to_vec());
    let mut members = Vec::new();
    let failure = validate(call, values, ctx)?;
    members.push((b"valid".to_vec(), JsonValue::Bool(failure.is_none())));
    if let Some(Failure { keyword, schema, document }) = failure {
        let reason = format!(
            "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'"
        );
        members.push((b"reason".to_vec(), text(&reason)));
        members.push((b"schema-location".to_vec(), text(&schema)));
        members.push((b"document-location".to_vec(), text(&document)));
        members.push((b"schema-failed-keyword".to_vec(), text(keyword)));
    }
    Ok(from_tree(JsonValue::object(members)))
}

/// Errors: 3853, the schema is no object; those of documents.
fn validate(call: &Call, values: &[Value], _ctx: &mut EvalContext<'_>) -> Result<Option<Failure>> {
    let schema = document(call, values, 0)?.root().to_tree();
    if !matches!(schema, JsonValue::Object(_)) {
        let name = call_name(call);
        let message = format!("Invalid JSON type in argument 1 to function {name}; an object is required.");
        return Err(Error::new(ErrorCode::InvalidJsonType, message));
    }
    let document = document(call, values, 1)?.root().to_tree();
    let validator = Validator { root: &schema, looked_at: Cell::new(0) };
    let place = Place { schema: "#".to_owned(), document: "#".to_owned(), depth: 0 };
    validator.check(&schema, &document, &place)
}

struct Validator<'s> {
    root: &'s JsonValue,
    looked_at: Cell<usize>,
}

/// Where schema and document are, as JSON pointers.
struct Place {
    schema: String,
    document: String,
    depth: usize,
}

impl Place {
    fn fails(&self, keyword: &'static str) -> Option<Failure> {
        Some(Failure { keyword, schema: self.schema.clone(), document: self.document.clone() })
    }

    fn within(&self, schema: &str, document: Option<&str>) -> Place {
        let document = match document {
            Some(step) => format!("{}/{}", self.document, step.replace('~', "~0").replace('/', "~1")),
            None => self.document.clone(),
        };
        Place { schema: format!("{}/{schema}", self.schema), document, depth: self.depth + 1 }
    }
}

type Outcome = Result<Option<Failure>>;
type Members = [(Vec<u8>, JsonValue)];

fn member<'v>(members: &'v Members, name: &str) -> Option<&'v JsonValue> {
    members.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, value)| value)
}

fn number(value: Option<&JsonValue>) -> Option<f64> {
    match value? {
        JsonValue::Int(number) => Some(*number as f64),
        JsonValue::UInt(number) => Some(*number as f64),
        JsonValue::Double(number) => Some(*number),
        JsonValue::Decimal(number) => Some(number.to_f64()),
        _ => None,
    }
}

fn count(members: &Members, name: &str) -> Option<usize> {
    number(member(members, name)).filter(|count| *count >= 0.0).map(|count| count as usize)
}

fn is_true(members: &Members, name: &str) -> bool {
    member(members, name) == Some(&JsonValue::Bool(true))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn equal(left: &JsonValue, right: &JsonValue) -> bool {
    Json::from_tree(left).root().compare(&Json::from_tree(right).root()).is_eq()
}

fn is_of_type(value: &JsonValue, name: &JsonValue) -> bool {
    let JsonValue::String(name) = name else { return true };
    match (name.as_slice(), value) {
        (b"null", JsonValue::Null)
        | (b"boolean", JsonValue::Bool(_))
        | (b"integer", JsonValue::Int(_) | JsonValue::UInt(_))
        | (b"string", JsonValue::String(_))
        | (b"array", JsonValue::Array(_))
        | (b"object", JsonValue::Object(_)) => true,
        (b"number", value) => number(Some(value)).is_some(),
        _ => false,
    }
}

/// A pattern that cannot be compiled matches nothing.
fn matches(pattern: &[u8], subject: &[u8]) -> bool {
    let pattern = std::str::from_utf8(pattern).ok();
    let regex = pattern.and_then(|pattern| RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build().ok());
    regex.is_some_and(|regex| regex.is_match(subject))
}

impl Validator<'_> {
    /// `None`: the document matches.
    fn check(&self, schema: &JsonValue, value: &JsonValue, place: &Place) -> Outcome {
        self.looked_at.set(self.looked_at.get() + 1);
        if self.looked_at.get() > SCHEMAS_MAX || place.depth > DEPTH_MAX {
            return Err(Error::unsupported("JSON schemas that refer to themselves without end"));
        }
        let JsonValue::Object(keywords) = schema else { return Ok(None) };
        if let Some(JsonValue::String(reference)) = member(keywords, "$ref") {
            return match self.referred(reference)? {
                Some((schema, location)) => {
                    let place =
                        Place { schema: location, document: place.document.clone(), depth: place.depth + 1 };
                    self.check(schema, value, &place)
                }
                None => Ok(None),
            };
        }
        let is_wanted = match member(keywords, "type") {
            Some(JsonValue::Array(types)) => types.iter().any(|name| is_of_type(value, name)),
            Some(name) => is_of_type(value, name),
            None => true,
        };
        if !is_wanted {
            return Ok(place.fails("type"));
        }
        let failure = match value {
            JsonValue::String(string) => check_string(keywords, string, place),
            JsonValue::Array(items) => self.check_array(keywords, items, place)?,
            JsonValue::Object(members) => self.check_object(keywords, members, place)?,
            value => number(Some(value)).and_then(|number| check_number(keywords, number, place)),
        };
        match failure {
            Some(failure) => Ok(Some(failure)),
            None => self.check_combined(keywords, value, place),
        }
    }

    /// What `#/...` means within the schema, and where it is. Errors: it is elsewhere.
    fn referred(&self, reference: &[u8]) -> Result<Option<(&JsonValue, String)>> {
        let reference = text(reference);
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(Error::unsupported("references to other documents in JSON Schema"));
        };
        let mut part = self.root;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let found = match part {
                JsonValue::Object(members) => member(members, &step),
                JsonValue::Array(items) => step.parse().ok().and_then(|place: usize| items.get(place)),
                _ => None,
            };
            let Some(found) = found else { return Ok(None) };
            part = found;
        }
        Ok(Some((part, reference)))
    }

    fn check_array(&self, keywords: &Members, items: &[JsonValue], place: &Place) -> Outcome {
        for (number, item) in items.iter().enumerate() {
            let step = number.to_string();
            let outcome = match (member(keywords, "items"), member(keywords, "additionalItems")) {
                (Some(JsonValue::Array(schemas)), additional) => match (schemas.get(number), additional) {
                    (Some(schema), _) => {
                        self.check(schema, item, &place.within(&format!("items/{number}"), Some(&step)))?
                    }
                    (None, Some(JsonValue::Bool(false))) => place.fails("additionalItems"),
                    (None, Some(schema)) => {
                        self.check(schema, item, &place.within("additionalItems", Some(&step)))?
                    }
                    (None, None) => None,
                },
                (Some(schema), _) => self.check(schema, item, &place.within("items", Some(&step)))?,
                (None, _) => None,
            };
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        if count(keywords, "minItems").is_some_and(|least| items.len() < least) {
            return Ok(place.fails("minItems"));
        }
        if count(keywords, "maxItems").is_some_and(|most| items.len() > most) {
            return Ok(place.fails("maxItems"));
        }
        let is_twice = |place: usize| items[..place].iter().any(|before| equal(before, &items[place]));
        if is_true(keywords, "uniqueItems") && (1..items.len()).any(is_twice) {
            return Ok(place.fails("uniqueItems"));
        }
        Ok(None)
    }

    fn check_object(&self, keywords: &Members, members: &Members, place: &Place) -> Outcome {
        for (name, value) in members {
            let outcome = self.check_member(keywords, name, value, place)?;
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        let has = |name: &JsonValue| match name {
            JsonValue::String(name) => members.iter().any(|(known, _)| known == name),
            _ => true,
        };
        if let Some(JsonValue::Array(required)) = member(keywords, "required")
            && !required.iter().all(has)
        {
            return Ok(place.fails("required"));
        }
        if count(keywords, "minProperties").is_some_and(|least| members.len() < least) {
            return Ok(place.fails("minProperties"));
        }
        if count(keywords, "maxProperties").is_some_and(|most| members.len() > most) {
            return Ok(place.fails("maxProperties"));
        }
        let Some(JsonValue::Object(dependencies)) = member(keywords, "dependencies") else { return Ok(None) };
        for (name, dependency) in dependencies {
            let matches = match dependency {
                _ if !members.iter().any(|(known, _)| known == name) => true,
                JsonValue::Array(names) => names.iter().all(has),
                schema => {
                    let object = JsonValue::Object(members.to_vec());
                    self.check(schema, &object, &place.within("dependencies", None))?.is_none()
                }
            };
            if !matches {
                return Ok(place.fails("dependencies"));
            }
        }
        Ok(None)
    }

    fn check_member(&self, keywords: &Members, name: &[u8], value: &JsonValue, place: &Place) -> Outcome {
        let step = text(name);
        let mut is_known = false;
        if let Some(JsonValue::Object(properties)) = member(keywords, "properties")
            && let Some((_, schema)) = properties.iter().find(|(known, _)| known == name)
        {
            is_known = true;
            let outcome = self.check(schema, value, &place.within(&format!("properties/{step}"), Some(&step)))?;
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        if let Some(JsonValue::Object(patterns)) = member(keywords, "patternProperties") {
            for (pattern, schema) in patterns.iter().filter(|(pattern, _)| matches(pattern, name)) {
                is_known = true;
                let schema_step = format!("patternProperties/{}", text(pattern));
                let outcome = self.check(schema, value, &place.within(&schema_step, Some(&step)))?;
                if outcome.is_some() {
                    return Ok(outcome);
                }
            }
        }
        match member(keywords, "additionalProperties") {
            Some(JsonValue::Bool(false)) if !is_known => Ok(place.fails("additionalProperties")),
            Some(schema) if !is_known => {
                self.check(schema, value, &place.within("additionalProperties", Some(&step)))
            }
            _ => Ok(None),
        }
    }

    /// enum, allOf, anyOf, oneOf, not.
    fn check_combined(&self, keywords: &Members, value: &JsonValue, place: &Place) -> Outcome {
        if let Some(JsonValue::Array(values)) = member(keywords, "enum")
            && !values.iter().any(|one| equal(one, value))
        {
            return Ok(place.fails("enum"));
        }
        for (keyword, wants) in [("allOf", None), ("anyOf", Some(1..=usize::MAX)), ("oneOf", Some(1..=1))] {
            let Some(JsonValue::Array(schemas)) = member(keywords, keyword) else { continue };
            let mut matching = 0;
            for (number, schema) in schemas.iter().enumerate() {
                let inner = place.within(&format!("{keyword}/{number}"), None);
                matching += usize::from(self.check(schema, value, &inner)?.is_none());
            }
            let holds = wants.map_or(matching == schemas.len(), |wanted| wanted.contains(&matching));
            if !holds {
                return Ok(place.fails(keyword));
            }
        }
        match member(keywords, "not") {
            Some(schema) if self.check(schema, value, &place.within("not", None))?.is_none() => {
                Ok(place.fails("not"))
            }
            _ => Ok(None),
        }
    }
}

fn check_number(keywords: &Members, value: f64, place: &Place) -> Option<Failure> {
    if let Some(least) = number(member(keywords, "minimum")) {
        let is_exclusive = is_true(keywords, "exclusiveMinimum");
        if value < least || is_exclusive && value == least {
            return place.fails(if is_exclusive { "exclusiveMinimum" } else { "minimum" });
        }
    }
    if let Some(most) = number(member(keywords, "maximum")) {
        let is_exclusive = is_true(keywords, "exclusiveMaximum");
        if value > most || is_exclusive && value == most {
            return place.fails(if is_exclusive { "exclusiveMaximum" } else { "maximum" });
        }
    }
    let step = number(member(keywords, "multipleOf")).filter(|step| *step > 0.0)?;
    let quotient = value / step;
    if (quotient - quotient.round()).abs() > 1e-9 * quotient.abs().max(1.0) {
        place.fails("multipleOf")
    } else {
        None
    }
}

fn check_string(keywords: &Members, string: &[u8], place: &Place) -> Option<Failure> {
    let characters = || String::from_utf8_lossy(string).chars().count();
    if count(keywords, "minLength").is_some_and(|least| characters() < least) {
        return place.fails("minLength");
    }
    if count(keywords, "maxLength").is_some_and(|most| characters() > most) {
        return place.fails("maxLength");
    }
    match member(keywords, "pattern") {
        Some(JsonValue::String(pattern)) if !matches(pattern, string) => place.fails("pattern"),
        _ => None,
    }
}
