//! Regular expressions: REGEXP and the REGEXP_ functions.
//!
//! MySQL uses ICU; the engine here is the `regex` crate, which runs in time linear in the text. It knows no
//! backreferences and no look-around: such patterns are refused with errno 1139. Texts and patterns are UTF-8, or bytes
//! when the collation is binary. Whether case counts follows the collation unless a match type says otherwise.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use shoal_types::{Collation, Error, ErrorCode, Result};

/// Memory that one compiled pattern may take.
const SIZE_LIMIT_BYTES: usize = 4 << 20;
/// Compiled patterns kept by one statement.
const CACHE_SIZE: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct CompiledRegex {
    pub regex: Regex,
}

/// How a pattern is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatchOptions {
    pub case_insensitive: bool,
    pub multi_line: bool,
    pub dot_matches_new_line: bool,
    pub unix_lines: bool,
    pub bytes: bool,
}

impl MatchOptions {
    /// The default of the collation, changed by the letters of a match type. Errors: another letter (1210).
    pub fn new(collation: Collation, match_type: &[u8]) -> Result<MatchOptions> {
        let mut options = MatchOptions {
            case_insensitive: collation.is_ci(),
            multi_line: false,
            dot_matches_new_line: false,
            unix_lines: false,
            bytes: collation == Collation::BINARY,
        };
        for letter in match_type {
            match letter {
                b'c' => options.case_insensitive = false,
                b'i' => options.case_insensitive = true,
                b'm' => options.multi_line = true,
                b'n' => options.dot_matches_new_line = true,
                b'u' => options.unix_lines = true,
                _ => return Err(Error::new(ErrorCode::WrongArguments, "Incorrect arguments to regexp_like")),
            }
        }
        Ok(options)
    }
}

/// Compiles a pattern. Errors: not a regular expression, or one that is too big (1139).
pub(crate) fn compile(pattern: &[u8], options: MatchOptions) -> Result<CompiledRegex> {
    let fail = |reason: &str| {
        let reason = reason.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
        Error::new(ErrorCode::RegexpError, format!("Got error '{reason}' from regexp"))
    };
    if pattern.is_empty() {
        return Err(fail("empty (sub)expression"));
    }
    let pattern = translate(std::str::from_utf8(pattern).map_err(|_| fail("pattern is not valid UTF-8"))?);
    let regex = RegexBuilder::new(&pattern)
        .case_insensitive(options.case_insensitive)
        .multi_line(options.multi_line)
        .crlf(options.multi_line && !options.unix_lines)
        .dot_matches_new_line(options.dot_matches_new_line)
        .unicode(!options.bytes)
        .size_limit(SIZE_LIMIT_BYTES)
        .dfa_size_limit(SIZE_LIMIT_BYTES)
        .nest_limit(100)
        .build()
        .map_err(|error| fail(&error.to_string()))?;
    Ok(CompiledRegex { regex })
}

/// ICU's spellings that the engine does not know: `[[:<:]]` and `[[:>:]]` of older MySQL, `\Q` is left to fail.
fn translate(pattern: &str) -> String {
    pattern.replace("[[:<:]]", r"\b").replace("[[:>:]]", r"\b").replace(r"\Z", r"\z")
}

/// The patterns that a statement compiled because they were not constant.
#[derive(Default)]
pub(crate) struct RegexCache {
    entries: Vec<(Vec<u8>, MatchOptions, Arc<CompiledRegex>)>,
}

impl RegexCache {
    pub fn get(&mut self, pattern: &[u8], options: MatchOptions) -> Result<Arc<CompiledRegex>> {
        let hit = self.entries.iter().position(|entry| entry.1 == options && entry.0 == pattern);
        if let Some(position) = hit {
            return Ok(self.entries[position].2.clone());
        }
        let compiled = Arc::new(compile(pattern, options)?);
        if self.entries.len() == CACHE_SIZE {
            self.entries.remove(0);
        }
        self.entries.push((pattern.to_vec(), options, compiled.clone()));
        Ok(compiled)
    }
}
