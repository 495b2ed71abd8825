//! The three views of a collation agree, and what MySQL's manual and server say of equality and order holds.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;

use super::*;

const AI_CI: Collation = Collation::UTF8MB4_0900_AI_CI;
const AS_CI: Collation = Collation::UTF8MB4_0900_AS_CI;
const AS_CS: Collation = Collation::UTF8MB4_0900_AS_CS;
const GENERAL: Collation = Collation::UTF8MB4_GENERAL_CI;
const UNICODE: Collation = Collation::UTF8MB4_UNICODE_CI;
const UNICODE_520: Collation = Collation::UTF8MB4_UNICODE_520_CI;
const BIN: Collation = Collation::UTF8MB4_BIN;
const BIN_0900: Collation = Collation::UTF8MB4_0900_BIN;

fn key(collation: Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.append_sort_key(text, None, &mut key);
    key
}

fn order(collation: Collation, left: &str, right: &str) -> Ordering {
    let order = collation.compare(left.as_bytes(), right.as_bytes());
    let keys = key(collation, left.as_bytes()).cmp(&key(collation, right.as_bytes()));
    assert_eq!(order, keys, "{collation}: compare and sort keys of {left:?} and {right:?}");
    order
}

fn equal(collation: Collation, left: &str, right: &str) -> bool {
    let equal = order(collation, left, right) == Ordering::Equal;
    if equal {
        assert_eq!(collation.hash64(left.as_bytes()), collation.hash64(right.as_bytes()));
    }
    equal
}

fn less(collation: Collation, left: &str, right: &str) -> bool {
    order(collation, left, right) == Ordering::Less
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn weights(collation: Collation, text: &str) -> String {
    hexadecimal(&collation.weight_string(text.as_bytes()))
}

#[test]
fn accents_and_case_count_only_where_the_name_says_so() {
    for collation in [AI_CI, GENERAL, UNICODE, UNICODE_520] {
        assert!(equal(collation, "a", "A") && equal(collation, "a", "á") && equal(collation, "Ä", "a"));
        assert!(less(collation, "á", "b"));
    }
    assert!(equal(AS_CI, "a", "A") && less(AS_CI, "a", "á") && equal(AS_CI, "á", "Á") && less(AS_CI, "áa", "ab"));
    assert!(less(AS_CS, "a", "A") && less(AS_CS, "A", "á") && less(AS_CS, "A", "b") && less(AS_CS, "aB", "Ab"));
    assert!(equal(AS_CS, "a\u{301}", "á") && equal(AI_CI, "a\u{301}", "á"));
    assert!(less(BIN, "A", "a") && less(BIN, "b", "á"));
}

#[test]
fn sharp_s_is_two_letters_for_the_unicode_algorithm_and_one_for_general_ci() {
    for collation in [AI_CI, UNICODE, UNICODE_520] {
        assert!(equal(collation, "ß", "ss") && equal(collation, "STRASSE", "straße"));
    }
    assert!(less(AS_CI, "ss", "ß") && less(AS_CS, "ss", "ß"));
    assert!(equal(GENERAL, "ß", "s") && less(GENERAL, "ß", "ss"));
    assert!(equal(AI_CI, "æ", "ae") && equal(AI_CI, "ﬃ", "FFI"));
}

#[test]
fn trailing_spaces_count_under_no_pad_alone() {
    for collation in [AI_CI, AS_CI, AS_CS, BIN_0900, Collation::BINARY] {
        assert!(less(collation, "a", "a ") && !collation.pad_space(), "{collation}");
    }
    for collation in [GENERAL, UNICODE, UNICODE_520, BIN, Collation::LATIN1_SWEDISH_CI, Collation::ASCII_BIN] {
        assert!(collation.pad_space());
        assert!(equal(collation, "a", "a  ") && equal(collation, "", " "), "{collation}");
        assert!(less(collation, "a", "a b") && less(collation, "a ", "a  b"), "{collation}");
        assert!(less(collation, "a\t", "a") && less(collation, "a\t", "a "), "{collation}");
        assert!(less(collation, "a \t", "a  \t") && less(collation, "a  b", "a b"), "{collation}");
    }
}

#[test]
fn emoji_differ_in_the_new_collations_and_not_in_the_old() {
    assert!(!equal(AI_CI, "😀", "😁") && !equal(UNICODE_520, "😀", "😁"));
    assert!(equal(GENERAL, "😀", "😁") && equal(UNICODE, "😀", "😁"));
    assert!(!equal(BIN, "😀", "😁"));
}

#[test]
fn punctuation_is_not_ignored_and_control_characters_are() {
    assert!(!equal(AI_CI, "co-op", "coop") && less(AI_CI, "a b", "ab") && less(AI_CI, " a", "-a"));
    assert!(equal(AI_CI, "a\u{1}b", "ab") && equal(AI_CI, "\u{1}", "") && equal(AS_CS, "a\u{1}b\u{7f}", "ab"));
    assert!(equal(UNICODE, "a\u{1}", "a"));
}

#[test]
fn digits_come_before_letters_and_letters_before_ideographs() {
    assert!(less(AI_CI, "9", "a") && less(AI_CI, "z", "α") && less(AI_CI, "я", "가") && less(AI_CI, "가", "一"));
    assert!(less(AI_CI, "一", "丁") && less(AI_CI, "\u{9fd5}", "\u{3400}") && less(AI_CI, "\u{3400}", "\u{378}"));
}

#[test]
fn hangul_syllables_are_their_letters() {
    assert!(equal(AI_CI, "각", "\u{1100}\u{1161}\u{11a8}") && equal(AS_CS, "가", "\u{1100}\u{1161}"));
    assert!(less(AI_CI, "가", "각") && less(AI_CI, "각", "나"));
    assert_eq!(weights(UNICODE, "가"), "FBC1AC00");
}

#[test]
fn weights_are_those_of_the_servers() {
    assert_eq!(weights(AI_CI, "abc æøå 日本語"), "1C471C601C7A02091C471CAA1DDD1C470209FB40E5E5FB40E72CFB418A9E");
    assert_eq!(
        weights(AS_CI, "abc æøå 日本語"),
        "1C471C601C7A02091C471CAA1DDD1C470209FB40E5E5FB40E72CFB418A9E0000\
         0020002000200020002001100020002000 2F0020002900200020 00200020"
            .replace(' ', "")
    );
    assert_eq!(weights(AS_CS, "aB"), "1C471C60000000200020000000020008");
    assert_eq!(weights(AI_CI, "\u{fffd}"), "FFFD");
    assert_eq!(weights(AI_CI, "✌\u{fe0f}🐶👩🏽"), "0A2D13DF141213A6");
    assert_eq!(weights(AI_CI, "データ「用。"), "3D6D1C0E3D6A0373FB40F528028A");
    assert_eq!(weights(UNICODE, "a b"), "0E3302090E4A");
    assert_eq!(weights(UNICODE_520, "a \u{10000}"), "120F020A3148");
    assert_eq!(weights(UNICODE, "\u{10000}"), "FFFD");
    assert_eq!(weights(GENERAL, "aß😀"), "00410053FFFD");
    assert_eq!(weights(BIN, "ab"), "000061000062");
    assert_eq!(weights(Collation::UTF8MB3_BIN, "ab"), "00610062");
}

/// These bytes lie on disks: a change here is a change of the format.
#[test]
fn sort_keys_are_frozen_to_the_byte() {
    let hex = |collation, text: &str| hexadecimal(&key(collation, text.as_bytes()));
    assert_eq!(hex(Collation::BINARY, "a\0b "), "6100FF62200000");
    assert_eq!(hex(BIN, "a b  "), "612003622002");
    assert_eq!(hex(BIN, "a \t"), "612001092002");
    assert_eq!(hex(GENERAL, "aé Ж😀"), "41452003D096EFBFBD2002");
    assert_eq!(hex(Collation::LATIN1_SWEDISH_CI, "ab "), "41422002");
    assert_eq!(hex(AI_CI, "aB-1 é"), "65670E5C0A6D00");
    assert_eq!(hex(AI_CI, "日Ж가\u{378}\u{fffd}"), "F9E5E59B62B6F5B773FCC08378FD00");
    assert_eq!(hexadecimal(&key(AI_CI, b"\0a\xFF")), "65FFFF00");
    assert_eq!(hex(AS_CI, "aBé"), "65676D000101010500");
    assert_eq!(hex(AS_CS, "aBé"), "65676D000101010500020800");
    assert_eq!(hex(UNICODE, "a bé"), "580A035A600A02");
    assert_eq!(hex(UNICODE_520, "a bé日"), "5B0A035D63F9E5E50A02");
}

#[test]
fn a_prefix_limit_counts_characters() {
    let limited = |collation: Collation, text: &str, limit| {
        let mut key = Vec::new();
        collation.append_sort_key(text.as_bytes(), Some(limit), &mut key);
        key
    };
    assert_eq!(limited(AI_CI, "äöü", 2), key(AI_CI, "ao".as_bytes()));
    assert_eq!(limited(GENERAL, "ab", 10), key(GENERAL, b"AB"));
    assert_eq!(limited(Collation::BINARY, "äö", 2), key(Collation::BINARY, "ä".as_bytes()));
}

#[test]
fn like_compares_character_by_character() {
    let like = |collation: Collation, text: &str, pattern: &str| {
        collation.like(text.as_bytes(), pattern.as_bytes(), Some('\\'))
    };
    assert!(like(AI_CI, "Straße", "STRA_e") && like(AI_CI, "Müller", "m%LER") && like(AI_CI, "", "%"));
    assert!(!like(AI_CI, "ß", "ss") && !like(UNICODE, "ß", "ss") && like(GENERAL, "ß", "s"));
    assert!(!like(GENERAL, "a ", "a") && !like(GENERAL, "a", "a ") && like(GENERAL, "a ", "a_"));
    assert!(like(AI_CI, "50%", "50\\%") && !like(AI_CI, "500", "50\\%") && like(AI_CI, "a_b", "a\\_b"));
    assert!(like(AI_CI, "a\\", "a\\") && like(AI_CI, "a\\b", "a\\\\b"));
    assert!(like(BIN, "aXbXc", "a%b%c") && !like(BIN, "aXbXcd", "a%b%c") && like(BIN, "abab", "%ab"));
    assert!(!like(BIN, "A", "a") && like(AS_CI, "A", "a") && !like(AS_CI, "á", "a") && !like(AS_CS, "A", "a"));
    assert!(like(UNICODE, "😀", "_") && !like(UNICODE, "😀", "😁") && like(GENERAL, "😀", "😁"));
    assert!(AI_CI.like(b"a%b", b"a|%b", Some('|')) && AI_CI.like(b"a\\b", b"a\\%", None));
    assert!(Collation::BINARY.like(b"\xff\0", b"__", None) && AI_CI.like(b"\xff", b"_", None));
}

#[test]
fn a_pattern_of_many_runs_does_not_explode() {
    let text = "a".repeat(3000);
    let pattern = "%a".repeat(200) + "%b";
    assert!(!AI_CI.like(text.as_bytes(), pattern.as_bytes(), Some('\\')));
}

#[test]
fn searching_compares_stretches_of_as_many_bytes() {
    let locate = |collation: Collation, needle: &str, text: &str, position| {
        collation.locate(needle.as_bytes(), text.as_bytes(), position)
    };
    assert_eq!(locate(AI_CI, "BAR", "foobarbar", 1), 4);
    assert_eq!(locate(AI_CI, "bar", "foobarbar", 5), 7);
    assert_eq!(locate(AI_CI, "ö", "äÖü", 1), 2);
    assert_eq!(locate(UNICODE, "ss", "ß", 1), 1);
    assert_eq!(locate(UNICODE, "a", "á", 1), 0);
    assert_eq!(locate(UNICODE, "\u{1}", "a ", 1), 0);
    assert_eq!(locate(GENERAL, "S ", "ſ ", 1), 0);
    assert_eq!(locate(BIN, "B", "abc", 1), 0);
    assert_eq!(locate(AI_CI, "", "abc", 4), 4);
    assert_eq!(locate(AI_CI, "", "abc", 5), 0);
    assert_eq!(locate(AI_CI, "a", "abc", 0), 0);
    assert_eq!(Collation::BINARY.find(b"a\xff\xff", b"\xff", 2), Some(2));
}

#[test]
fn case_mapping_is_one_to_one() {
    let upper = |collation: Collation, text: &str| {
        String::from_utf8(collation.to_upper(text.as_bytes()).into_owned()).unwrap()
    };
    let lower = |collation: Collation, text: &str| {
        String::from_utf8(collation.to_lower(text.as_bytes()).into_owned()).unwrap()
    };
    assert_eq!(upper(AI_CI, "straße äж"), "STRAßE ÄЖ");
    assert_eq!(lower(AI_CI, "ÅÉΣЖ1"), "åéσж1");
    assert_eq!(upper(AI_CI, "𐐨"), "𐐀");
    assert_eq!(upper(GENERAL, "𐐨"), "𐐨");
    assert_eq!(upper(AI_CI, "ა"), "ა");
    assert_eq!(Collation::LATIN1_SWEDISH_CI.to_upper(b"\xe4\xff\xdf").as_ref(), b"\xc4\xff\xdf");
    assert_eq!(Collation::BINARY.to_upper(b"abc").as_ref(), b"abc");
    assert_eq!(Collation::ASCII_BIN.to_upper(b"ab\xe4").as_ref(), b"AB\xe4");
}

#[test]
fn names_and_ids_lead_to_each_other() {
    for collation in Collation::all() {
        assert_eq!(Collation::by_name(collation.name()), Some(collation));
        assert_eq!(Collation::by_name(&collation.name().to_uppercase()), Some(collation));
        assert_eq!(Collation::by_id(collation.id()), Some(collation));
        let entry = catalogue::entry_by_id(collation.id()).unwrap();
        assert_eq!(collation.charset().name(), entry.charset);
        assert_eq!(collation.is_bin(), entry.name.ends_with("bin") || entry.name == "binary");
        assert_eq!(collation.is_default(), collation.charset().default_collation() == collation);
    }
    assert_eq!(Collation::by_name("utf8_general_ci"), Some(Collation::UTF8MB3_GENERAL_CI));
    assert_eq!(Collation::resolve("klingon_ci").unwrap_err().errno(), 1273);
    assert_eq!(Collation::resolve("utf8mb4_de_pb_0900_ai_ci").unwrap_err().errno(), 1235);
    assert_eq!(Collation::by_id(256), None);
    assert!(Collation::UTF8MB4_BIN.check_charset(Charset::Utf8mb4).is_ok());
    assert_eq!(Collation::UTF8MB4_BIN.check_charset(Charset::Latin1).unwrap_err().errno(), 1253);
}

#[test]
fn the_catalogue_is_sorted_and_without_doubles() {
    assert!(catalogue::CATALOGUE.is_sorted_by(|left, right| left.id < right.id));
    let mut names: Vec<&str> = catalogue::CATALOGUE.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), catalogue::CATALOGUE.len());
}

/// Every character once: the order of the key codes is the order of the weights.
#[test]
fn every_code_point_has_a_key_in_the_order_of_its_weights() {
    for collation in [AI_CI, UNICODE, UNICODE_520, GENERAL] {
        let mut characters: Vec<(Vec<u8>, Vec<u8>)> = ('\0'..=char::MAX)
            .map(|character| {
                let text = character.to_string().into_bytes();
                (collation.weight_string(&text), text)
            })
            .collect();
        characters.sort();
        for pair in characters.windows(2) {
            let [(left_weights, left), (right_weights, right)] = pair else { unreachable!() };
            let keys = key(collation, left).cmp(&key(collation, right));
            assert_eq!(keys, collation.compare(left, right), "{collation} {left:?} {right:?}");
            // A padded text goes on with spaces, so there the weights alone order only what is not shorter.
            if !collation.pad_space() || left_weights.len() == right_weights.len() {
                assert_eq!(keys, left_weights.cmp(right_weights), "{collation} {left:?} {right:?}");
            }
        }
    }
}

fn any_collation() -> impl Strategy<Value = Collation> {
    proptest::sample::select(Collation::all().collect::<Vec<_>>())
}

/// Texts of few different characters, so that equal and nearly equal ones are common, or any bytes.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let characters =
        ["a", "A", "á", "ß", "s", " ", " ", "\t", "\0", "-", "\u{301}", "日", "가", "😀", "ж", "\u{fdfa}"];
    let bytes = prop_oneof![Just(0xFFu8), Just(0xC3), Just(0xA1), Just(0xF0), Just(0x80), Just(b' '), Just(b'a')];
    prop_oneof![
        4 => proptest::collection::vec(proptest::sample::select(characters.to_vec()), 0..8)
            .prop_map(|parts| parts.concat().into_bytes()),
        1 => proptest::collection::vec(bytes, 0..8),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => "[ -~]{0,40}".prop_map(String::into_bytes),
        1 => ".{0,10}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn compare_keys_and_hashes_agree(collation in any_collation(), left in any_text(), right in any_text()) {
        let order = collation.compare(&left, &right);
        prop_assert_eq!(order, key(collation, &left).cmp(&key(collation, &right)));
        prop_assert_eq!(order.reverse(), collation.compare(&right, &left));
        let hash = |text: &[u8]| {
            let mut hasher = DefaultHasher::new();
            collation.hash(text, &mut hasher);
            hasher.finish()
        };
        if order == Ordering::Equal {
            prop_assert_eq!(hash(&left), hash(&right));
            prop_assert_eq!(collation.hash64(&left), collation.hash64(&right));
        } else {
            prop_assert_ne!(collation.hash64(&left), collation.hash64(&right));
        }
    }

    #[test]
    fn a_key_stands_before_other_key_parts(
        collation in any_collation(), left in any_text(), right in any_text(), after: [u8; 2]
    ) {
        let order = collation.compare(&left, &right);
        let (mut left_key, mut right_key) = (key(collation, &left), key(collation, &right));
        left_key.push(after[0]);
        right_key.push(after[1]);
        if order != Ordering::Equal {
            prop_assert_eq!(order, left_key.cmp(&right_key));
        }
        let invert = |key: &[u8]| key.iter().map(|byte| !byte).collect::<Vec<u8>>();
        if order != Ordering::Equal {
            prop_assert_eq!(order.reverse(), invert(&left_key).cmp(&invert(&right_key)));
        }
    }

    #[test]
    fn trailing_spaces_are_equal_exactly_under_pad_space(
        collation in any_collation(), text in any_text(), spaces in 1usize..4
    ) {
        let mut padded = text.clone();
        padded.extend(std::iter::repeat_n(b' ', spaces));
        prop_assert_eq!(collation.equal(&text, &padded), collation.pad_space());
    }

    #[test]
    fn texts_like_a_prefix_lie_in_its_range(
        collation in any_collation(), prefix in any_text(), rest in any_text(), other in any_text()
    ) {
        let (low, high) = collation.like_prefix_range(&prefix);
        let inside = |text: &[u8]| {
            let key = key(collation, text);
            low <= key && high.as_ref().is_none_or(|high| key < *high)
        };
        // The rest begins with a letter: a byte that completes a broken character would change the prefix.
        prop_assert!(inside(&[&prefix[..], b"b", &rest[..]].concat()));
        if collation.charset().is_well_formed(&prefix) {
            prop_assert!(inside(&prefix));
            let mut pattern = Vec::new();
            for &byte in &prefix {
                if matches!(byte, b'%' | b'_' | b'\\') {
                    pattern.push(b'\\');
                }
                pattern.push(byte);
            }
            pattern.push(b'%');
            prop_assert!(collation.like(&prefix, &pattern, Some('\\')));
            if collation.like(&other, &pattern, Some('\\')) {
                prop_assert!(inside(&other));
            }
        }
    }

    #[test]
    fn no_function_minds_broken_text(collation in any_collation(), text in any_text(), other in any_text()) {
        collation.like(&text, &other, Some('\\'));
        collation.locate(&other, &text, 1);
        collation.weight_string(&text);
        prop_assert!(collation.charset().is_well_formed(&text) || !collation.to_upper(&text).is_empty());
        prop_assert!(collation.charset().is_well_formed(&text) || !collation.to_lower(&text).is_empty());
        prop_assert!(collation.like(&text, b"%", None));
        let one_each = vec![b'_'; collation.charset().char_count(&text)];
        prop_assert!(collation.like(&text, &one_each, None));
    }

    #[test]
    fn a_text_is_found_in_itself(collation in any_collation(), before in "[a-c]{0,5}", needle in "[d-fé]{1,5}") {
        let needle = Charset::convert(needle.as_bytes(), Charset::Utf8mb4, collation.charset()).bytes.into_owned();
        let text = [before.as_bytes(), &needle[..]].concat();
        prop_assert_eq!(collation.locate(&needle, &text, 1), before.len() + 1);
    }
}
