//! What reads lines, over any bytes: none may panic, no value may lie outside its line, no request may be larger than its line, and
//! values come back from their escaped form.
//!
//! The modules are those of the crate, which keeps them to itself.

#![no_main]
#![allow(dead_code)]

#[path = "../../src/line.rs"]
mod line;
#[path = "../../src/refusal.rs"]
mod refusal;
#[path = "../../src/request.rs"]
mod request;
#[path = "../../src/token.rs"]
mod token;

use libfuzzer_sys::fuzz_target;
use refusal::Outcome;
use request::{Head, Open, Request, take_operation};
use token::{Span, Tokens};

fn read(line: &[u8], request: &mut Request) -> Outcome {
    let mut tokens = Tokens::new(line);
    match Head::take(&mut tokens)? {
        Head::Open => drop(Open::read(&mut tokens)?),
        Head::Authorize => while tokens.next().is_some() {},
        Head::OnIndex(_) => {
            take_operation(&mut tokens)?;
            request.read(&mut tokens)?;
            let filtered = request.filters.iter().map(|filter| filter.value);
            let values = [&request.values, &request.list, &request.change_values];
            let spans: Vec<Span> = values.into_iter().flatten().copied().chain(filtered).collect();
            assert!(spans.len() <= line.len() + 1);
            spans.iter().for_each(|span| check_value(span.of(line)));
        }
    }
    Ok(())
}

/// A value has the same meaning when it is escaped again.
fn check_value(token: &[u8]) {
    let (mut buffer, mut again, mut escaped) = (Vec::new(), Vec::new(), Vec::new());
    let Some(bytes) = token::value(token, &mut buffer) else { return };
    assert!(bytes.len() <= token.len());
    token::append_value(bytes, &mut escaped);
    assert!(!escaped.iter().any(|&byte| matches!(byte, b'\t' | b'\n' | 0)));
    assert_eq!(token::value(&escaped, &mut again), Some(bytes));
}

fuzz_target!(|input: &[u8]| {
    // As a session does it: one request is used for all lines.
    let mut request = Request::default();
    let mut rest = input;
    let mut answer = Vec::new();
    while let Some((line, length)) = line::next_line(rest) {
        assert!(line.len() < length);
        answer.clear();
        if let Err(refusal) = read(line, &mut request) {
            refusal.append(&mut answer);
            assert_eq!(answer.iter().position(|&byte| byte == b'\n'), Some(answer.len() - 1));
        }
        rest = &rest[length..];
    }
    assert!(!rest.contains(&b'\n'));
});
