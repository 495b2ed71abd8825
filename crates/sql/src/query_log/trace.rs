//! Trace context: which request of an application a statement belongs to, as the W3C's `traceparent` says it.
//!
//! Clients send it as a query attribute of that name, or as sqlcommenter does: in a comment at the beginning or the end of the
//! statement, among other keys. What has another form is nobody's trace. It is looked for when a log keeps a statement, and only while
//! `log_trace_context` is on.

/// `00-`, 32 and 16 hexadecimal digits for trace and span, and two of flags.
const VERSION_BYTES: usize = 55;
const KEY: &[u8] = b"traceparent='";
/// The name of the query attribute.
pub const ATTRIBUTE: &str = "traceparent";

/// A traceparent, as it was sent.
pub fn checked(text: &[u8]) -> Option<&str> {
    let is_hexadecimal = |part: &[u8]| part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b'-').collect();
    let [version, trace, span, flags] = parts[..] else { return None };
    let has_form = text.len() == VERSION_BYTES
        && [version, flags].iter().all(|part| part.len() == 2)
        && (trace.len(), span.len()) == (32, 16)
        && parts.iter().all(|part| is_hexadecimal(part))
        && [trace, span].iter().all(|part| part.iter().any(|byte| *byte != b'0'))
        && version != b"ff";
    if has_form { std::str::from_utf8(text).ok() } else { None }
}

/// The traceparent in the comment that a statement begins or ends with.
pub fn of_comment(text: &[u8]) -> Option<&str> {
    let text = text.trim_ascii();
    let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
    let last = text.strip_suffix(b"*/").and_then(|rest| {
        let start = rest.windows(2).rposition(|pair| pair == b"/*")?;
        Some(&rest[start + 2..])
    });
    let first = text.strip_prefix(b"/*").and_then(|rest| {
        let end = rest.windows(2).position(|pair| pair == b"*/")?;
        Some(&rest[..end])
    });
    last.and_then(of_pairs).or_else(|| first.and_then(of_pairs))
}

/// Of `key='value',key='value'`.
fn of_pairs(comment: &[u8]) -> Option<&str> {
    let start = comment.windows(KEY.len()).position(|window| window == KEY)?;
    let begins_a_key = comment[..start].last().is_none_or(|byte| matches!(byte, b',' | b' '));
    let value = &comment[start + KEY.len()..];
    let end = value.iter().position(|byte| *byte == b'\'')?;
    if begins_a_key { checked(&value[..end]) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_comment_at_either_end_tells_of_the_trace() {
        for text in [
            format!("SELECT 1 /*traceparent='{TRACE}'*/"),
            format!("SELECT 1 /*action='a%27b',traceparent='{TRACE}',tracestate='x'*/ ; "),
            format!("/* traceparent='{TRACE}' */ SELECT 1"),
            format!("/*traceparent='{TRACE}'*/ SELECT 1 /* other */"),
        ] {
            assert_eq!(of_comment(text.as_bytes()), Some(TRACE), "{text}");
        }
    }

    #[test]
    fn what_has_another_form_or_is_no_comment_is_no_trace() {
        let zeros = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        for value in [
            "",
            "00-1-2-01",
            &TRACE[1..],
            &TRACE.to_uppercase(),
            &zeros,
            &TRACE.replace("00-", "ff-"),
            &TRACE.replace('7', "\n"),
        ] {
            assert_eq!(of_comment(format!("SELECT 1 /*traceparent='{value}'*/").as_bytes()), None, "{value}");
        }
        for text in [
            format!("SELECT '/*traceparent=''{TRACE}''*/'"),
            format!("SELECT 1 /*notraceparent='{TRACE}'*/"),
            format!("SELECT 1 /*traceparent='{TRACE}"),
            format!("SELECT /*traceparent='{TRACE}'*/ 1"),
            "*/".to_owned(),
            "/*".to_owned(),
            "/*/".to_owned(),
        ] {
            assert_eq!(of_comment(text.as_bytes()), None, "{text}");
        }
    }
}
