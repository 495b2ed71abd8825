//! Bytes as numbers, and bytes in order.

/// Up to 8 little-endian bytes as a word.
#[inline]
pub fn little_endian_word(bytes: &[u8]) -> u64 {
    match *bytes {
        // The widths of most columns: a load each.
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => {
            let mut word = [0u8; 8];
            let width = bytes.len().min(8);
            word[..width].copy_from_slice(&bytes[..width]);
            u64::from_le_bytes(word)
        }
    }
}

/// The least key that is greater than every key with this prefix; `None` if there is none (all bytes 0xff).
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
