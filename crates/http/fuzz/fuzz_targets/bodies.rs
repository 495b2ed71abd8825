//! Requests for rows, over any path and any body: what is understood keeps to the limits, values become values of columns of every kind and are
//! JSON again, and what is refused has an answer of JSON that says why.
//!
//! The modules are those of the crate, which keeps them to itself.

#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../src/rest/problem.rs"]
mod problem;
#[path = "../../src/reply.rs"]
mod reply;
#[path = "../../src/rest/request.rs"]
mod request;
#[path = "../../src/rest/value.rs"]
mod value;

use http_body_util::BodyExt;
use libfuzzer_sys::fuzz_target;
use problem::Problem;
use request::{OPERATIONS_MAX, Operations, Target, operations};
use serde_json::Value as Json;
use shoal_types::{BaseType, Collation, SqlType};

const PATHS: [&str; 6] = ["batch", "d/t/pk-read", "d/t/pk-insert", "d/t/pk-update", "d/t/pk-upsert", "d/t/pk-delete"];

fn check_refusal(problem: &Problem) {
    let reply = problem.reply();
    assert!(reply.status().is_client_error() || reply.status().is_server_error());
    let waker = std::task::Waker::noop();
    let mut body = std::pin::pin!(reply.into_body().collect());
    let std::task::Poll::Ready(Ok(body)) = body.as_mut().poll(&mut std::task::Context::from_waker(waker)) else {
        panic!("the body is there");
    };
    let json: Json = serde_json::from_slice(&body.to_bytes()).expect("an answer of JSON");
    assert!(json["error"]["errno"].as_u64().is_some_and(|errno| errno > 0));
}

fn kinds() -> Vec<SqlType> {
    let bases = [BaseType::BigInt, BaseType::Double, BaseType::Bit, BaseType::Json, BaseType::DateTime];
    let mut kinds: Vec<SqlType> = bases.into_iter().map(SqlType::new).collect();
    kinds.push(SqlType::decimal(30, 9));
    kinds.push(SqlType::varchar(20, Collation::UTF8MB4_0900_AI_CI));
    kinds.push(SqlType::varchar(20, Collation::BINARY));
    kinds
}

fn check_value(json: &Json, kinds: &[SqlType]) {
    for kind in kinds {
        match value::from_json(json, kind, "c") {
            Ok(value) => {
                let mut text = String::new();
                value::append(&value, kind, &mut text);
                assert!(serde_json::from_str::<Json>(&text).is_ok(), "{text}");
            }
            Err(error) => assert!(matches!(error.errno(), 1264 | 1366)),
        }
    }
}

fn check(operations: &Operations) {
    assert!(!operations.list.is_empty() && operations.list.len() <= OPERATIONS_MAX);
    assert!(!operations.summary().is_empty());
    let kinds = kinds();
    for operation in &operations.list {
        assert!(!operation.database.is_empty() && !operation.table.is_empty());
        operation.filters.iter().chain(&operation.data).for_each(|(_, json)| check_value(json, &kinds));
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&which, rest)) = input.split_first() else { return };
    let (path, body) = match PATHS.get(usize::from(which)) {
        Some(path) => ((*path).to_owned(), rest),
        None => {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let (path, body) = rest.split_at(end);
            (String::from_utf8_lossy(path).into_owned(), body)
        }
    };
    match Target::of_path(&format!("{}{path}", request::PREFIX)) {
        Err(problem) => check_refusal(&problem),
        Ok(target) => match operations(target, body) {
            Ok(operations) => check(&operations),
            Err(problem) => check_refusal(&problem),
        },
    }
});
