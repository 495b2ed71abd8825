//! Where lines end.

/// The first line without its end, and its length with it. A CR before the LF does not belong to the line.
#[inline]
pub fn next_line(input: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr::memchr(b'\n', input)?;
    let line = &input[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_ends_at_its_line_feed_and_a_carriage_return_before_that_goes_with_it() {
        assert_eq!(next_line(b"ab\ncd\n"), Some((&b"ab"[..], 3)));
        assert_eq!(next_line(b"ab\r\n"), Some((&b"ab"[..], 4)));
        assert_eq!(next_line(b"\n"), Some((&b""[..], 1)));
    }

    proptest! {
        #[test]
        fn every_beginning_of_a_line_asks_for_more(line in proptest::collection::vec(any::<u8>(), 0..100)) {
            let line: Vec<u8> = line.into_iter().filter(|&byte| byte != b'\n').chain([b'\n']).collect();
            for end in 0..line.len() {
                prop_assert_eq!(next_line(&line[..end]), None);
            }
            prop_assert_eq!(next_line(&line).map(|(_, length)| length), Some(line.len()));
        }
    }
}
