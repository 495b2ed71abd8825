//! Collations that compare bytes: the binary set and `utf8mb4_0900_bin` (NO PAD), and the `_bin` collations of the
//! other sets (PAD SPACE). UTF-8 bytes order as their code points do.
//!
//! Sort keys, NO PAD: every byte as it is, but 0x00 as `00 FF`; then the terminator `00 00`.
//!
//! Sort keys, PAD SPACE: a text compares as if spaces followed it for ever. Every byte but the space is written as it
//! is. Every space is written as `20` and a verdict about the first byte behind its run of spaces: `01` when that byte
//! is below the space, `03` when it is above. The terminator is `20 02`: a run that never ends. So 'a' and 'a  ' are
//! both `61 20 02`, 'a\t' is `61 09 ...` (less), 'a b' is `61 20 03 62 ...` (greater), and of two runs of spaces of
//! different length the verdicts or the bytes behind decide as the padded texts would.

use std::cmp::Ordering;

pub(super) const SPACE: u8 = b' ';
pub(super) const ESCAPED_TERMINATOR: [u8; 2] = [0, 0];
pub(super) const PADDED_TERMINATOR: [u8; 2] = [SPACE, VERDICT_END];

/// What follows a run of spaces, compared with the space.
pub(super) const VERDICT_BELOW: u8 = 1;
pub(super) const VERDICT_END: u8 = 2;
pub(super) const VERDICT_ABOVE: u8 = 3;

/// Compares as if both texts went on with spaces.
pub(super) fn compare_padded(left: &[u8], right: &[u8]) -> Ordering {
    let common = left.len().min(right.len());
    let order = left[..common].cmp(&right[..common]);
    if order != Ordering::Equal || left.len() == right.len() {
        return order;
    }
    if left.len() > common {
        compare_with_spaces(&left[common..])
    } else {
        compare_with_spaces(&right[common..]).reverse()
    }
}

fn compare_with_spaces(rest: &[u8]) -> Ordering {
    match rest.iter().find(|&&byte| byte != SPACE) {
        Some(byte) => byte.cmp(&SPACE),
        None => Ordering::Equal,
    }
}

/// Appends the bytes of the NO PAD key, without the terminator.
pub(super) fn append_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(position) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..position]);
        out.extend_from_slice(&[0, 0xFF]);
        rest = &rest[position + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends the bytes of the PAD SPACE key, without the terminator.
pub(super) fn append_padded(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = trim_spaces(text);
    while let Some(position) = memchr::memchr(SPACE, rest) {
        out.extend_from_slice(&rest[..position]);
        rest = &rest[position..];
        let spaces = rest.iter().take_while(|&&byte| byte == SPACE).count();
        rest = &rest[spaces..];
        let below = rest.first().is_some_and(|&byte| byte < SPACE);
        let verdict = if below { VERDICT_BELOW } else { VERDICT_ABOVE };
        for _ in 0..spaces {
            out.extend_from_slice(&[SPACE, verdict]);
        }
    }
    out.extend_from_slice(rest);
}

/// Appends what the PAD SPACE keys of all texts that begin with `prefix` have in common: the verdict on a run of
/// spaces at the end of the prefix is open.
pub(super) fn append_padded_prefix(prefix: &[u8], out: &mut Vec<u8>) {
    append_padded(prefix, out);
    if prefix.last() == Some(&SPACE) {
        out.push(SPACE);
    }
}

pub(super) fn trim_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != SPACE).map_or(0, |position| position + 1);
    &text[..end]
}
