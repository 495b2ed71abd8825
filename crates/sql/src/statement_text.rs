//! Statements as operators are shown them.

use crate::query_log::secrets::without_secrets;

/// A statement is shown so far; the processlist has more of it.
const TEXT_BYTES_MAX: usize = 4096;

/// The beginning of a statement without passwords. These go before the text is cut, as half a literal is not known for one; and
/// whatever backslashes mean to the session.
pub(crate) fn beginning(text: &[u8]) -> String {
    let safe = without_secrets(text, true);
    let safe = without_secrets(&safe, false);
    let cut = &safe[..safe.len().min(TEXT_BYTES_MAX)];
    let mut shown = String::from_utf8_lossy(cut).into_owned();
    if cut.len() < safe.len() {
        shown.push_str(" ...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_passwords_left_out() {
        let long = format!("SELECT '{}'", "x".repeat(2 * TEXT_BYTES_MAX));
        let shown = beginning(long.as_bytes());
        assert!(shown.ends_with(" ...") && shown.len() == TEXT_BYTES_MAX + 4);
        let shown = beginning(b"CREATE USER u IDENTIFIED BY 'geheim'");
        assert!(!shown.contains("geheim"), "{shown}");
        assert_eq!(beginning(b"SELECT '\xff\xfe'"), "SELECT '\u{fffd}\u{fffd}'");
    }
}
