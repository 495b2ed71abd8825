//! Statements as logs may show them: passwords are `<secret>`.
//!
//! Works on the text, so that nothing else of a statement changes, and that a statement which the parser refuses cannot give
//! anything away either. Only statements that can name a password are read through.

use std::borrow::Cow;

const SECRET: &[u8] = b"<secret>";

/// What a token of a statement is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Text,
    Sign(u8),
}

/// Which literals of a statement are secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Nothing has been read of it yet.
    Begins,
    /// CREATE or ALTER was read: USER or SERVER may follow.
    Defines,
    /// CREATE USER, ALTER USER, GRANT, and what names accounts of other servers: what follows BY, AS, REPLACE, USING and PASSWORD.
    Account,
    /// SET: all behind PASSWORD; else texts that hold statements with passwords.
    Set,
    Password,
    /// PREPARE: a text that holds such a statement.
    Prepare,
    Nothing,
}

/// The text without passwords. `backslashes`: they escape, as they do unless the mode is NO_BACKSLASH_ESCAPES.
pub fn without_secrets(text: &[u8], backslashes: bool) -> Cow<'_, [u8]> {
    let mut shown: Vec<u8> = Vec::new();
    let mut kept_to = 0;
    let mut rule = Rule::Begins;
    let mut wants_secret = false;
    let mut hides_next_text = false;
    let mut position = 0;
    while let Some((kind, start, end)) = next_token(text, position, backslashes) {
        position = end;
        let token = &text[start..end];
        if kind == Kind::Sign(b';') {
            (rule, wants_secret, hides_next_text) = (Rule::Begins, false, false);
            continue;
        }
        let is = |word: &str| kind == Kind::Word && token.eq_ignore_ascii_case(word.as_bytes());
        let is_value = kind == Kind::Text || is_hexadecimal(token);
        let is_secret = is_value
            && match rule {
                // Literals that stand side by side are one.
                Rule::Account => wants_secret || hides_next_text,
                Rule::Password => wants_secret,
                Rule::Set | Rule::Prepare => holds_statement_with_secret(token),
                Rule::Begins | Rule::Defines | Rule::Nothing => false,
            };
        if is_secret {
            shown.extend_from_slice(&text[kept_to..start]);
            if !hides_next_text {
                shown.extend_from_slice(SECRET);
            }
            kept_to = end;
        }
        hides_next_text = is_secret;
        match rule {
            Rule::Begins => {
                rule = match () {
                    () if is("CREATE") || is("ALTER") => Rule::Defines,
                    () if is("GRANT") || is("CHANGE") || is("START") || is("CLONE") => Rule::Account,
                    () if is("SET") => Rule::Set,
                    () if is("PREPARE") => Rule::Prepare,
                    () if matches!(kind, Kind::Sign(_)) => Rule::Begins,
                    () => Rule::Nothing,
                }
            }
            Rule::Defines => rule = if is("USER") || is("SERVER") { Rule::Account } else { Rule::Nothing },
            // The introducer of a literal, as in _utf8'text', changes nothing.
            Rule::Account if !token.starts_with(b"_") && kind != Kind::Sign(b'=') => {
                let names_password = kind == Kind::Word && ends_with_password(token);
                wants_secret = is("BY") || is("AS") || is("REPLACE") || is("USING") || names_password;
            }
            Rule::Set if is("PASSWORD") => rule = Rule::Password,
            Rule::Password => wants_secret |= kind == Kind::Sign(b'=') || is("TO"),
            _ => {}
        }
    }
    if kept_to == 0 {
        return Cow::Borrowed(text);
    }
    shown.extend_from_slice(&text[kept_to..]);
    Cow::Owned(shown)
}

/// PASSWORD, SOURCE_PASSWORD and their like.
fn ends_with_password(word: &[u8]) -> bool {
    let suffix = b"PASSWORD";
    word.len() >= suffix.len() && word[word.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
}

/// A number that a password's hash may be written as.
fn is_hexadecimal(token: &[u8]) -> bool {
    token.len() > 2 && token[0] == b'0' && token[1].eq_ignore_ascii_case(&b'x')
}

fn holds_statement_with_secret(literal: &[u8]) -> bool {
    let holds = |word: &[u8]| literal.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    holds(b"IDENTIFIED") || holds(b"PASSWORD")
}

/// Whether a statement is an administrative one, which `log_slow_admin_statements` is about.
pub fn is_administrative(text: &[u8]) -> bool {
    let mut position = 0;
    let mut words: [&[u8]; 3] = [b""; 3];
    for word in &mut words {
        let Some((Kind::Word, start, end)) = next_token(text, position, true) else { break };
        *word = &text[start..end];
        position = end;
    }
    let is = |at: usize, word: &str| words[at].eq_ignore_ascii_case(word.as_bytes());
    match () {
        () if is(0, "ANALYZE") || is(0, "CHECK") || is(0, "OPTIMIZE") || is(0, "REPAIR") => true,
        () if is(0, "ALTER") => is(1, "TABLE"),
        () if is(0, "DROP") => is(1, "INDEX"),
        () if is(0, "CREATE") => is(1, "INDEX") || is(2, "INDEX"),
        () => false,
    }
}

/// A text with parameters in the place of its question marks.
pub fn with_parameters(text: &[u8], backslashes: bool, mut parameters: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
    let mut position = 0;
    let mut kept_to = 0;
    while let Some((kind, start, end)) = next_token(text, position, backslashes) {
        position = end;
        if kind == Kind::Sign(b'?')
            && let Some(parameter) = parameters.next()
        {
            shown.extend_from_slice(&text[kept_to..start]);
            shown.extend_from_slice(&parameter);
            kept_to = end;
        }
    }
    shown.extend_from_slice(&text[kept_to..]);
    shown
}

/// The token at or behind `position`: what it is, where it begins and where it ends. Comments are passed over, but for those whose
/// contents the server runs.
fn next_token(text: &[u8], position: usize, backslashes: bool) -> Option<(Kind, usize, usize)> {
    let mut start = position;
    loop {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let ends_line = |rest: &[u8]| rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        start += match rest {
            [b'/', b'*', b'!' | b'+', version @ ..] => {
                3 + version.iter().take_while(|byte| byte.is_ascii_digit()).count()
            }
            [b'/', b'*', body @ ..] => {
                2 + body.windows(2).position(|end| end == b"*/").map_or(body.len(), |end| end + 2)
            }
            [b'*', b'/', ..] => 2,
            [b'#', ..] => ends_line(rest),
            [b'-', b'-', after, ..] if after.is_ascii_whitespace() || after.is_ascii_control() => ends_line(rest),
            [b'-', b'-'] => 2,
            [first, ..] if first.is_ascii_whitespace() => 1,
            [quote @ (b'\'' | b'"'), body @ ..] => {
                return Some((Kind::Text, start, start + 1 + quoted(body, *quote, backslashes)));
            }
            [b'`', body @ ..] => return Some((Kind::Word, start, start + 1 + quoted(body, b'`', false))),
            [first, ..] if is_word(*first) => {
                let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
                return Some((Kind::Word, start, start + length));
            }
            [first, ..] => return Some((Kind::Sign(*first), start, start + 1)),
            [] => return None,
        };
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// How long what stands in quotes is, with the quote at its end.
fn quoted(body: &[u8], quote: u8, backslashes: bool) -> usize {
    let mut at = 0;
    while at < body.len() {
        match body[at] {
            b'\\' if backslashes => at += 2,
            byte if byte == quote && body.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        String::from_utf8(without_secrets(text.as_bytes(), true).into_owned()).unwrap()
    }

    #[test]
    fn passwords_of_accounts_are_not_shown() {
        for (text, expected) in [
            (
                "CREATE USER a@'%' IDENTIFIED BY 'pw' COMMENT 'c'",
                "CREATE USER a@'%' IDENTIFIED BY <secret> COMMENT 'c'",
            ),
            (
                "create user if not exists a identified with caching_sha2_password by \"it's\", b identified by'x''y'",
                "create user if not exists a identified with caching_sha2_password by <secret>, b identified by<secret>",
            ),
            (
                "ALTER USER a IDENTIFIED BY 'new' REPLACE 'old\\' '",
                "ALTER USER a IDENTIFIED BY <secret> REPLACE <secret>",
            ),
            (
                "/* c */ ALTER /*!50700 USER a IDENTIFIED BY 'x' 'y' */",
                "/* c */ ALTER /*!50700 USER a IDENTIFIED BY <secret>  */",
            ),
            ("CREATE USER a IDENTIFIED WITH 'p' AS 0x2A41", "CREATE USER a IDENTIFIED WITH 'p' AS <secret>"),
            ("SET PASSWORD FOR 'a'@'h' = 'pw'", "SET PASSWORD FOR 'a'@'h' = <secret>"),
            ("SET PASSWORD = PASSWORD('pw') REPLACE 'q'", "SET PASSWORD = PASSWORD(<secret>) REPLACE <secret>"),
            ("SELECT 1; SET PASSWORD='pw'; SELECT 'a'", "SELECT 1; SET PASSWORD=<secret>; SELECT 'a'"),
            ("PREPARE s FROM 'CREATE USER a IDENTIFIED BY \"pw\"'", "PREPARE s FROM <secret>"),
            ("SET @q = 'alter user a identified by \"pw\"'", "SET @q = <secret>"),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = 'pw'",
                "CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = <secret>",
            ),
            (
                "CREATE SERVER s OPTIONS (USER 'u', PASSWORD 'pw')",
                "CREATE SERVER s OPTIONS (USER 'u', PASSWORD <secret>)",
            ),
            ("ALTER USER a IDENTIFIED BY 'never ends", "ALTER USER a IDENTIFIED BY <secret>"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        for text in [
            "SELECT 'pw' AS 'b'",
            "INSERT INTO t VALUES ('by', 'as')",
            "SET @a='x'",
            "CREATE TABLE t (a INT) AS SELECT 'x'",
            "",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_backslash_ends_a_password_where_it_does_not_escape() {
        let text = br"ALTER USER a IDENTIFIED BY 'x\' REPLACE 'old'";
        assert_eq!(&*without_secrets(text, false), b"ALTER USER a IDENTIFIED BY <secret> REPLACE <secret>");
    }

    #[test]
    fn no_bytes_of_clients_are_too_strange() {
        let parts: &[&[u8]] =
            &[b"'", b"\"", b"`", b"\\", b"/*", b"*/", b"--", b"#", b"\n", b"?", b"SET PASSWORD=", b"\xff", b"BY "];
        let mut seed = 1_u64;
        for _ in 0..2_000 {
            let mut text = Vec::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.extend_from_slice(parts[(seed >> 33) as usize % parts.len()]);
            }
            without_secrets(&text, true);
            without_secrets(&text, false);
            with_parameters(&text, true, std::iter::repeat(b"1".to_vec()));
        }
    }

    #[test]
    fn parameters_take_the_places_of_question_marks() {
        let parameters = [b"1".to_vec(), b"'a'".to_vec()];
        let text = b"SELECT '?', `?`, ? /* ? */ FROM t WHERE a=?";
        assert_eq!(
            with_parameters(text, true, parameters.into_iter()),
            b"SELECT '?', `?`, 1 /* ? */ FROM t WHERE a='a'"
        );
    }

    #[test]
    fn administrative_statements_are_known() {
        for text in [
            "ALTER TABLE t ADD a INT",
            "create unique index i on t (a)",
            "/* x */ OPTIMIZE TABLE t",
            "DROP INDEX i ON t",
        ] {
            assert!(is_administrative(text.as_bytes()), "{text}");
        }
        for text in ["ALTER USER a", "SELECT 1", "CREATE TABLE t (a INT)", "", "DROP TABLE t"] {
            assert!(!is_administrative(text.as_bytes()), "{text}");
        }
    }
}
