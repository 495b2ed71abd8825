//! Every reader of client bytes, over the same input: none may panic or overflow its stack, and what they say about one statement must agree.
//!
//! The first byte picks the SQL mode; the rest is the statement.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_parser::ast::Statement;
use shoal_parser::{Digester, ParserMode, normalised_text, parse, parse_expression, parse_first, parse_parameterised};

const MODES: [ParserMode; 5] = [
    ParserMode::ANSI_QUOTES,
    ParserMode::PIPES_AS_CONCAT,
    ParserMode::NO_BACKSLASH_ESCAPES,
    ParserMode::IGNORE_SPACE,
    ParserMode::HIGH_NOT_PRECEDENCE,
];

fuzz_target!(|input: &[u8]| {
    let Some((&picks, sql)) = input.split_first() else { return };
    let mode = MODES
        .into_iter()
        .enumerate()
        .filter(|(index, _)| picks >> index & 1 == 1)
        .fold(ParserMode::NONE, |mode, (_, picked)| mode | picked);
    let _ = parse(sql, mode);
    let _ = parse_expression(sql, mode);
    normalised_text(sql, 0, mode);
    let mut literals = Vec::new();
    let digest = Digester::default().digest(sql, 0, mode, &mut literals);
    for literal in &literals {
        literal.value(sql, mode);
    }
    if let (Ok(first), Ok(parameterised)) = (parse_first(sql, 0, mode), parse_parameterised(sql, 0, mode)) {
        assert_eq!(first.start, digest.start);
        assert_eq!(parameterised.literal_count as usize, literals.len());
        if let Statement::Query(query) = first.statement {
            let text = query.to_string();
            let _ = parse(text.as_bytes(), ParserMode::NONE);
        }
    }
});
