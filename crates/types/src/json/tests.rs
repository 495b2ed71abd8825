use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::{Date, DateTime, Decimal, Time};

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn printed(json: &Json) -> String {
    let mut text = Vec::new();
    json.append_text(&mut text);
    String::from_utf8(text).unwrap()
}

fn path(text: &str) -> JsonPath {
    JsonPath::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn found(document: &str, at: &str) -> Vec<String> {
    json(document).root().find(&path(at)).iter().map(|part| printed(&part.to_json())).collect()
}

/// Applies a change to a document and prints the outcome.
fn changed(document: &str, change: impl FnOnce(&mut JsonValue)) -> String {
    let mut tree = json(document).to_tree();
    change(&mut tree);
    printed(&Json::from_tree(&tree))
}

#[test]
fn documents_are_printed_as_mysql_prints_them() {
    let cases = [
        (r#"{"b":1,"aa":2,"a":[1,2]}"#, r#"{"a": [1, 2], "b": 1, "aa": 2}"#),
        (r#"{"a":1,"a":2}"#, r#"{"a": 2}"#),
        ("[]", "[]"),
        ("{}", "{}"),
        (" [ true , false , null ] ", "[true, false, null]"),
        ("[1.0, 1e3, -0.5, 1e20, 1e-7]", "[1.0, 1000.0, -0.5, 1e20, 0.0000001]"),
        (
            "[32767, -32768, 65536, 4294967296, -9223372036854775808]",
            "[32767, -32768, 65536, 4294967296, -9223372036854775808]",
        ),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
        (r#""\u0041\u00e9\ud83d\ude00\n\"\\\/\u0001""#, "\"Aé😀\\n\\\"\\\\/\\u0001\""),
    ];
    for (text, expected) in cases {
        assert_eq!(printed(&json(text)), expected, "{text}");
    }
}

#[test]
fn texts_that_are_no_json_are_refused_with_mysqls_words_and_positions() {
    let cases = [
        ("", "The document is empty.", 0),
        ("abc", "Invalid value.", 0),
        ("nul", "Invalid value.", 3),
        ("[1, 2", "Missing a comma or ] after an array element.", 5),
        ("[1, 2}", "Missing a comma or ] after an array element.", 5),
        ("{a: 1}", "Missing a name for object member.", 1),
        (r#"{"a" 1}"#, "Missing a colon after a name of object member.", 5),
        (r#"{"a": 1"#, "Missing a comma or } after an object member.", 7),
        ("[1, 2,]", "Invalid value.", 6),
        ("1 2", "The document root must not be followed by other values.", 2),
        ("1.", "Miss fraction part in number.", 2),
        ("1e", "Miss exponent in number.", 2),
        ("1e999", "Number too big to be stored in double.", 0),
        (r#""abc"#, "Missing a closing quotation mark in string.", 4),
        (r#""a\x""#, "Invalid escape character in string.", 2),
        (r#""\ud800""#, "The surrogate pair in string is invalid.", 1),
        (r#""\u12g4""#, "Incorrect hex digit after \\u escape in string.", 1),
        ("\"a\u{1}\"", "Invalid encoding in string.", 2),
        ("01", "The document root must not be followed by other values.", 1),
    ];
    for (text, message, position) in cases {
        let error = Json::parse(text.as_bytes()).unwrap_err();
        assert_eq!((error.message, error.position), (message, position), "{text}");
    }
    assert!(Json::parse(b"\"\xff\"").is_err());
}

#[test]
fn nesting_stops_at_a_hundred_levels() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(json(&nested(100)).root().depth(), 100);
    assert!(Json::parse(nested(101).as_bytes()).unwrap_err().too_deep);
    assert!(Json::parse("[".repeat(1_000_000).as_bytes()).is_err());
    let tree = json(&nested(100)).to_tree();
    assert!(Json::checked_from_tree(&JsonValue::Array(vec![tree.clone()])).is_ok());
    assert!(Json::checked_from_tree(&JsonValue::Array(vec![JsonValue::Array(vec![tree])])).is_err());
}

#[test]
fn the_binary_layout_is_mysqls() {
    assert_eq!(json("true").as_bytes(), [4, 1]);
    assert_eq!(json("-2").as_bytes(), [5, 0xfe, 0xff]);
    assert_eq!(json(r#""abc""#).as_bytes(), [12, 3, b'a', b'b', b'c']);
    // An object of one inlined member: count, size, key offset and length, value entry, key.
    assert_eq!(json(r#"{"a": 1}"#).as_bytes(), [0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 1, 0, b'a']);
    // An array: a 32-bit integer is not inlined in a small container.
    assert_eq!(json("[1, 65536]").as_bytes(), [2, 2, 0, 14, 0, 5, 1, 0, 7, 10, 0, 0, 0, 1, 0]);
}

#[test]
fn large_containers_read_back() {
    let long = "x".repeat(70_000);
    let text = format!(r#"{{"a": [1, -70000, "{long}"], "b": {{"c": 4294967295}}}}"#);
    let document = json(&text);
    assert_eq!(document.as_bytes()[0], 1);
    assert_eq!(printed(&document), text);
    assert_eq!(document.root().get(b"a").unwrap().element(1).unwrap().item(), JsonItem::Int(-70_000));
    let part = document.root().get(b"b").unwrap().to_json();
    assert_eq!(part.as_bytes()[0], 0);
    assert_eq!(printed(&part), r#"{"c": 4294967295}"#);
}

#[test]
fn values_of_other_types_keep_their_kind() {
    let moment = DateTime::parse(b"2015-01-15 23:24:25", &Default::default()).value.unwrap();
    let tree = JsonValue::Array(vec![
        JsonValue::DateTime(DateTime { fsp: 6, ..moment }),
        JsonValue::Date(moment.date()),
        JsonValue::Time(Time::parse(b"-10:11:12.5").value.unwrap()),
        JsonValue::Decimal(Decimal::parse(b"-3.140").value),
        JsonValue::Opaque(252, b"abcd".to_vec()),
        JsonValue::Opaque(16, vec![5]),
    ]);
    let document = Json::from_tree(&tree);
    assert_eq!(
        printed(&document),
        "[\"2015-01-15 23:24:25.000000\", \"2015-01-15\", \"-10:11:12.500000\", -3.140, \
         \"base64:type252:YWJjZA==\", \"base64:type16:BQ==\"]"
    );
    let names: Vec<_> = document.root().elements().map(|element| element.type_name()).collect();
    assert_eq!(names, ["DATETIME", "DATE", "TIME", "DECIMAL", "BLOB", "BIT"]);
    assert_eq!(document.to_tree(), tree);
    assert_eq!(document.root().element(1).unwrap().item(), JsonItem::Date(Date(2015 << 9 | 1 << 5 | 15)));
}

#[test]
fn paths_name_the_parts_that_the_manual_says() {
    let array = r#"[3, {"a": [5, 6], "b": 10}, [99, 100]]"#;
    assert_eq!(found(array, "$[0]"), ["3"]);
    assert_eq!(found(array, "$[1]"), [r#"{"a": [5, 6], "b": 10}"#]);
    assert_eq!(found(array, "$[3]"), Vec::<String>::new());
    assert_eq!(found(array, "$[1].a[1]"), ["6"]);
    assert_eq!(found(array, "$[2][0]"), ["99"]);
    assert_eq!(found(array, "$[last]"), ["[99, 100]"]);
    assert_eq!(found(array, "$[last-1].b"), ["10"]);
    assert_eq!(found(r#"{"a fish": "shark", "a bird": "sparrow"}"#, r#"$."a fish""#), [r#""shark""#]);
    assert_eq!(found(r#"{"a": 1, "b": 2, "c": [3, 4, 5]}"#, "$.*"), ["1", "2", "[3, 4, 5]"]);
    assert_eq!(found(r#"{"a": 1, "b": 2, "c": [3, 4, 5]}"#, "$.c[*]"), ["3", "4", "5"]);
    assert_eq!(found(r#"{"a": {"b": 1}, "c": {"b": 2}}"#, "$**.b"), ["1", "2"]);
    assert_eq!(found("[1, 2, 3, 4, 5]", "$[1 to 3]"), ["2", "3", "4"]);
    assert_eq!(found("[1, 2, 3, 4, 5]", "$[last-3 to last-1]"), ["2", "3", "4"]);
    assert_eq!(found(r#""Sakila""#, "$[0]"), [r#""Sakila""#]);
    assert_eq!(found("1", "$[last]"), ["1"]);
    assert_eq!(found("1", "$[0 to 5]"), ["1"]);
    assert_eq!(found("1", "$[1]"), Vec::<String>::new());
    assert_eq!(found("1", "$[*]"), Vec::<String>::new());
    assert_eq!(found("[[1, 2], 3]", "$**[0]"), ["[1, 2]", "1", "2", "3"]);
    assert_eq!(found(r#"{"a": 1}"#, "$"), [r#"{"a": 1}"#]);
}

#[test]
fn broken_paths_are_refused() {
    for text in [
        "",
        "a",
        "$.",
        "$[",
        "$[]",
        "$[-1]",
        "$.a-b",
        "$**",
        "$.1a",
        "$[1 to",
        "$[3 to 1]",
        "$a",
        "$[1to 2]",
        "$.\"a",
        "$.a**",
    ] {
        assert!(JsonPath::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(JsonPath::parse(b"abc").unwrap_err().position, 1);
    for text in ["$ . a [ 0 ]", "$.a.*[last - 1]", "$[ 0 to last ]", "$.\"a b\".c", "$.größe", "$**.a"] {
        assert!(JsonPath::parse(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn changes_follow_the_manual() {
    let document = r#"{"a": 1, "b": [2, 3]}"#;
    let ten = || JsonValue::Int(10);
    assert_eq!(
        changed(document, |tree| {
            tree.set(&path("$.a"), ten());
            tree.set(&path("$.c"), JsonValue::String(b"[true, false]".to_vec()));
        }),
        r#"{"a": 10, "b": [2, 3], "c": "[true, false]"}"#
    );
    assert_eq!(changed(document, |tree| tree.insert(&path("$.a"), ten())), r#"{"a": 1, "b": [2, 3]}"#);
    assert_eq!(changed(document, |tree| tree.replace(&path("$.c"), ten())), r#"{"a": 1, "b": [2, 3]}"#);
    assert_eq!(changed(document, |tree| tree.set(&path("$.b[9]"), ten())), r#"{"a": 1, "b": [2, 3, 10]}"#);
    assert_eq!(changed(document, |tree| tree.set(&path("$.a[0]"), ten())), r#"{"a": 10, "b": [2, 3]}"#);
    assert_eq!(changed(document, |tree| tree.set(&path("$.a[1]"), ten())), r#"{"a": [1, 10], "b": [2, 3]}"#);
    assert_eq!(changed(document, |tree| tree.set(&path("$.b[last-5]"), ten())), r#"{"a": 1, "b": [10, 2, 3]}"#);
    assert_eq!(changed(document, |tree| tree.set(&path("$.x.y"), ten())), document);
    assert_eq!(changed(document, |tree| tree.remove(&path("$.b[0]"))), r#"{"a": 1, "b": [3]}"#);
    assert_eq!(changed(document, |tree| tree.remove(&path("$.a[0]"))), document);
    let array = r#"["a", {"b": [1, 2]}, [3, 4]]"#;
    assert_eq!(
        changed(array, |tree| tree.array_insert(&path("$[1]"), JsonValue::String(b"x".to_vec()))),
        r#"["a", "x", {"b": [1, 2]}, [3, 4]]"#
    );
    assert_eq!(
        changed(array, |tree| tree.array_insert(&path("$[100]"), ten())),
        r#"["a", {"b": [1, 2]}, [3, 4], 10]"#
    );
    assert_eq!(
        changed(r#"["a", ["b", "c"], "d"]"#, |tree| tree.array_append(&path("$[0]"), JsonValue::Int(2))),
        r#"[["a", 2], ["b", "c"], "d"]"#
    );
}

#[test]
fn merging_follows_the_manual() {
    let preserve = |first: &str, second: &str| {
        printed(&Json::from_tree(&json(first).to_tree().merge_preserve(json(second).to_tree())))
    };
    let patch = |first: &str, second: &str| {
        printed(&Json::from_tree(&json(first).to_tree().merge_patch(json(second).to_tree())))
    };
    assert_eq!(preserve("[1, 2]", "[true, false]"), "[1, 2, true, false]");
    assert_eq!(preserve(r#"{"name": "x"}"#, r#"{"id": 47}"#), r#"{"id": 47, "name": "x"}"#);
    assert_eq!(preserve("1", "true"), "[1, true]");
    assert_eq!(preserve(r#"{"a": 1, "b": 2}"#, r#"{"a": 3, "c": 4}"#), r#"{"a": [1, 3], "b": 2, "c": 4}"#);
    assert_eq!(preserve("[1, 2]", r#"{"id": 47}"#), r#"[1, 2, {"id": 47}]"#);
    assert_eq!(patch("[1, 2]", "[true, false]"), "[true, false]");
    assert_eq!(patch(r#"{"a": 1, "b": 2}"#, r#"{"b": null}"#), r#"{"a": 1}"#);
    assert_eq!(patch(r#"{"a": {"x": 1}}"#, r#"{"a": {"y": 2}}"#), r#"{"a": {"x": 1, "y": 2}}"#);
    assert_eq!(patch("1", r#"{"a": {"b": null, "c": 1}}"#), r#"{"a": {"c": 1}}"#);
}

#[test]
fn kinds_are_ordered_and_numbers_compare_by_value() {
    let ascending = [
        "null",
        "-1.5",
        "1",
        "\"a\"",
        "\"b\"",
        "{}",
        r#"{"a": 1}"#,
        "[]",
        "[1]",
        "[1, 0]",
        "[2]",
        "false",
        "true",
    ];
    for (first_position, first) in ascending.iter().enumerate() {
        for (second_position, second) in ascending.iter().enumerate() {
            let order = json(first).root().compare(&json(second).root());
            assert_eq!(order, first_position.cmp(&second_position), "{first} {second}");
        }
    }
    let numbers =
        [("1", "1.0"), ("18446744073709551615", "18446744073709551615"), ("9007199254740993", "9007199254740993")];
    for (first, second) in numbers {
        assert_eq!(json(first).root().compare(&json(second).root()), Ordering::Equal);
    }
    let order = json("9007199254740993").root().compare(&json("9007199254740992.0").root());
    assert_eq!(order, Ordering::Greater);
    assert_eq!(json("18446744073709551615").root().compare(&json("-1").root()), Ordering::Greater);
    assert_eq!(json("1e300").root().compare(&json("1").root()), Ordering::Greater);
}

#[test]
fn containment_and_overlap_follow_the_manual() {
    let contains = |target: &str, candidate: &str| json(target).root().contains(&json(candidate).root());
    let document = r#"{"a": 1, "b": 2, "c": {"d": 4}}"#;
    assert!(contains(document, r#"{"a": 1}"#));
    assert!(!contains(document, r#"{"d": 4}"#));
    assert!(contains(document, r#"{"c": {"d": 4}}"#));
    assert!(contains("[1, 2, [3, 4]]", "[1, [3]]"));
    assert!(contains("[1, 2, [3, 4]]", "2"));
    assert!(contains(r#"[{"a": 1, "b": 2}]"#, r#"{"a": 1}"#));
    assert!(!contains("1", "[1]"));
    assert!(contains("1", "1.0"));
    let overlaps = |first: &str, second: &str| json(first).root().overlaps(&json(second).root());
    assert!(overlaps("[1,3,5,7]", "[2,5,7]"));
    assert!(!overlaps("[1,3,5,7]", "[2,6,8]"));
    assert!(overlaps(r#"{"a":1,"b":10,"d":10}"#, r#"{"c":1,"e":10,"f":1,"d":10}"#));
    assert!(!overlaps(r#"{"a":1,"b":10,"d":10}"#, r#"{"a":5,"e":10,"f":1,"d":20}"#));
    assert!(overlaps("5", "[4,5,6,7]"));
    assert!(!overlaps("[4,5,\"6\",7]", "6"));
}

#[test]
fn searching_gives_the_paths_of_strings() {
    let document = json(r#"["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y y":"bcd"}]"#);
    let search = |wanted: &str, only_first: bool, at: &str| {
        let paths = document.root().search(&path(at), only_first, &mut |text| text == wanted.as_bytes());
        paths.into_iter().map(|path| String::from_utf8(path).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(search("abc", true, "$"), ["$[0]"]);
    assert_eq!(search("abc", false, "$"), ["$[0]", "$[2].x"]);
    assert_eq!(search("10", false, "$**.k"), ["$[1][0].k"]);
    assert_eq!(search("bcd", false, "$"), ["$[3].\"y y\""]);
    assert_eq!(search("abc", false, "$[2]"), ["$[2].x"]);
    assert_eq!(search("nothing", false, "$"), Vec::<String>::new());
}

#[test]
fn pretty_text_has_a_line_an_element() {
    let mut text = Vec::new();
    json(r#"["a",1,{"key1":"v","key2":[]},"5"]"#).root().append_pretty(&mut text);
    let expected = "[\n  \"a\",\n  1,\n  {\n    \"key1\": \"v\",\n    \"key2\": []\n  },\n  \"5\"\n]";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn unquoting_reads_quoted_texts_only() {
    assert_eq!(unquote(br#""\t\u0032""#).unwrap(), b"\t2");
    assert_eq!(unquote(b"abc").unwrap(), b"abc");
    assert_eq!(unquote(b"\"").unwrap(), b"\"");
    assert!(unquote(br#""a"b""#).is_err());
}

fn any_tree() -> impl Strategy<Value = JsonValue> {
    let scalar = prop_oneof![
        Just(JsonValue::Null),
        any::<bool>().prop_map(JsonValue::Bool),
        any::<i64>().prop_map(JsonValue::Int),
        any::<i16>().prop_map(|number| JsonValue::Int(number.into())),
        any::<u64>().prop_filter("not an i64", |number| *number > i64::MAX as u64).prop_map(JsonValue::UInt),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(JsonValue::Double),
        any::<String>().prop_map(|text| JsonValue::String(text.into_bytes())),
        "[a-z]{0,300}".prop_map(|text| JsonValue::String(text.into_bytes())),
    ];
    scalar.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(JsonValue::Array),
            proptest::collection::vec((any::<String>().prop_map(String::into_bytes), inner), 0..8)
                .prop_map(JsonValue::object),
        ]
    })
}

proptest! {
    #[test]
    fn trees_survive_the_binary_form_and_the_text(tree in any_tree()) {
        let document = Json::from_tree(&tree);
        prop_assert_eq!(&document.to_tree(), &tree);
        let text = printed(&document);
        prop_assert_eq!(printed(&json(&text)), text);
        prop_assert_eq!(document.root().compare(&document.root()), Ordering::Equal);
        prop_assert!(document.root().contains(&document.root()));
        prop_assert_eq!(document.root().to_json(), document);
    }

    #[test]
    fn order_is_antisymmetric(first in any_tree(), second in any_tree()) {
        let (first, second) = (Json::from_tree(&first), Json::from_tree(&second));
        prop_assert_eq!(first.root().compare(&second.root()), second.root().compare(&first.root()).reverse());
    }

    #[test]
    fn damaged_documents_never_panic(tree in any_tree(), damage in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let mut bytes = Json::from_tree(&tree).as_bytes().to_vec();
        for (at, byte) in damage {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let document = Json::from_bytes(bytes);
        let root = document.root();
        let _ = (printed_lossy(&document), root.depth(), root.to_tree(), root.to_json(), root.length());
        let _ = (root.find(&path("$**[0].a")).len(), root.get(b"a").is_some(), root.compare(&root));
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = (Json::parse(&bytes), JsonPath::parse(&bytes), unquote(&bytes));
        let document = Json::from_bytes(bytes);
        let _ = (printed_lossy(&document), document.root().to_json(), document.root().contains(&document.root()));
    }

    #[test]
    fn path_like_text_never_panics_and_prints_back(text in r#"\$([.]([a-z]{1,3}|[*]|"[a-z ]{0,3}")|\[([0-9]{1,3}|[*]|last|last-[0-9]|[0-9] to last)\]|[*]{2}){0,6}"#) {
        if let Ok(parsed) = JsonPath::parse(text.as_bytes()) {
            let mut again = Vec::new();
            parsed.append_text(&mut again);
            prop_assert_eq!(JsonPath::parse(&again), Ok(parsed));
        }
    }
}

fn printed_lossy(json: &Json) -> String {
    let mut text = Vec::new();
    json.append_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
