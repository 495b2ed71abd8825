//! Regular expressions: REGEXP and the REGEXP_ functions.
//!
//! MySQL uses ICU; the engine here is the `regex` crate, which runs in time linear in the text. Patterns that it does not know,
//! those with back-references and look-around, go to one that tries one way after the other, up to a number of steps. Texts and patterns are UTF-8, or bytes
//! when the collation is binary. Whether case counts follows the collation unless a match type says otherwise.

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use shoal_types::{Collation, Error, ErrorCode, Result};

/// Memory that one compiled pattern may take.
const SIZE_LIMIT_BYTES: usize = 4 << 20;
/// Compiled patterns kept by one statement.
const CACHE_SIZE: usize = 8;

/// Steps after which a match that goes back and forth is given up.
const STEPS_MAX: usize = 300_000;

/// Where the groups of a match lie, the whole match first.
pub(crate) type Groups = [Option<(usize, usize)>];

#[derive(Clone, Debug)]
pub(crate) enum CompiledRegex {
    Linear(Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

impl CompiledRegex {
    /// # Errors
    /// 3699: it takes too many steps; so for all that match.
    pub fn is_match(&self, text: &[u8]) -> Result<bool> {
        match self {
            CompiledRegex::Linear(regex) => Ok(regex.is_match(text)),
            CompiledRegex::Backtracking(regex) => regex.is_match(as_text(text)?).map_err(given_up),
        }
    }

    /// The match number `skipped` (from 0) in the text.
    pub fn find(&self, text: &[u8], skipped: usize) -> Result<Option<(usize, usize)>> {
        match self {
            CompiledRegex::Linear(regex) => {
                Ok(regex.find_iter(text).nth(skipped).map(|found| (found.start(), found.end())))
            }
            CompiledRegex::Backtracking(regex) => {
                for (number, found) in regex.find_iter(as_text(text)?).enumerate() {
                    let found = found.map_err(given_up)?;
                    if number == skipped {
                        return Ok(Some((found.start(), found.end())));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Shows the groups of all matches, until the visitor returns false.
    pub fn for_each(&self, text: &[u8], visit: &mut dyn FnMut(&Groups) -> Result<bool>) -> Result<()> {
        let mut groups = Vec::new();
        match self {
            CompiledRegex::Linear(regex) => {
                for found in regex.captures_iter(text) {
                    groups.clear();
                    groups.extend(found.iter().map(|group| group.map(|group| (group.start(), group.end()))));
                    if !visit(&groups)? {
                        break;
                    }
                }
            }
            CompiledRegex::Backtracking(regex) => {
                for found in regex.captures_iter(as_text(text)?) {
                    groups.clear();
                    let found = found.map_err(given_up)?;
                    groups.extend(found.iter().map(|group| group.map(|group| (group.start(), group.end()))));
                    if !visit(&groups)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

fn as_text(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| {
        let message = "Got error 'text is not valid UTF-8' from regexp";
        Error::new(ErrorCode::RegexpError, message)
    })
}

fn given_up(_: fancy_regex::Error) -> Error {
    Error::new(ErrorCode::RegexpTimeOut, "Timeout exceeded in regular expression match.")
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
        .build();
    match regex {
        Ok(regex) => Ok(CompiledRegex::Linear(regex)),
        Err(error) => backtracking(&pattern, options).ok_or_else(|| fail(&error.to_string())),
    }
}

/// The pattern for the engine that has look-around and back-references; `None`: it is no pattern for it either.
fn backtracking(pattern: &str, options: MatchOptions) -> Option<CompiledRegex> {
    let flags =
        [(options.case_insensitive, "(?i)"), (options.multi_line, "(?m)"), (options.dot_matches_new_line, "(?s)")];
    let mut flagged: String = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
    flagged.push_str(pattern);
    let regex = fancy_regex::RegexBuilder::new(&flagged)
        .backtrack_limit(STEPS_MAX)
        .delegate_size_limit(SIZE_LIMIT_BYTES)
        .delegate_dfa_size_limit(SIZE_LIMIT_BYTES)
        .build();
    regex.ok().map(|regex| CompiledRegex::Backtracking(Box::new(regex)))
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
