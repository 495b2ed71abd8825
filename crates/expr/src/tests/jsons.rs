//! JSON functions: the manual's examples.

use super::check;

#[test]
fn documents_are_built() {
    check(&[
        ("JSON_ARRAY(1, 'abc', NULL, TRUE)", "[1, \"abc\", null, true]"),
        ("JSON_ARRAY(1=1, 2, 1.5)", "[true, 2, 1.5]"),
        ("JSON_OBJECT('id', 87, 'name', 'carrot')", "{\"id\": 87, \"name\": \"carrot\"}"),
        ("JSON_OBJECT('a', 1, 'a', 2)", "{\"a\": 2}"),
        ("JSON_OBJECT(NULL, 1)", "ERROR 3158"),
        ("JSON_OBJECT('a')", "ERROR 1582"),
        ("JSON_OBJECT()", "{}"),
        ("JSON_QUOTE('null')", "\"null\""),
        ("JSON_QUOTE('\"null\"')", "\"\\\"null\\\"\""),
        ("JSON_QUOTE('[1, 2, 3]')", "\"[1, 2, 3]\""),
        ("JSON_UNQUOTE('\"abc\"')", "abc"),
        ("JSON_UNQUOTE('abc')", "abc"),
        ("JSON_ARRAY(JSON_ARRAY(1), JSON_OBJECT('k', 'v'))", "[[1], {\"k\": \"v\"}]"),
        ("CAST('[1,2]' AS JSON)", "[1, 2]"),
        ("CAST(1 AS JSON)", "1"),
        ("CAST('abc' AS JSON)", "ERROR 3141"),
    ]);
}

#[test]
fn documents_are_searched() {
    check(&[
        ("JSON_EXTRACT('[10, 20, [30, 40]]', '$[1]')", "20"),
        ("JSON_EXTRACT('[10, 20, [30, 40]]', '$[1]', '$[0]')", "[20, 10]"),
        ("JSON_EXTRACT('[10, 20, [30, 40]]', '$[2][*]')", "[30, 40]"),
        ("JSON_EXTRACT('{\"a\": 1}', '$.b')", "NULL"),
        ("JSON_EXTRACT('{\"a\": 1}', 'a')", "ERROR 3143"),
        ("JSON_EXTRACT('{\"a\"', '$.a')", "ERROR 3141"),
        ("CAST('{\"a\": \"x\"}' AS JSON) ->> '$.a'", "x"),
        ("CAST('{\"a\": \"x\"}' AS JSON) -> '$.a'", "\"x\""),
        ("JSON_CONTAINS('{\"a\": 1, \"b\": 2, \"c\": {\"d\": 4}}', '1', '$.a')", "1"),
        ("JSON_CONTAINS('{\"a\": 1, \"b\": 2, \"c\": {\"d\": 4}}', '{\"d\": 4}', '$.c')", "1"),
        ("JSON_CONTAINS('{\"a\": 1, \"b\": 2, \"c\": {\"d\": 4}}', '{\"d\": 4}', '$.a')", "0"),
        ("JSON_CONTAINS_PATH('{\"a\": 1, \"b\": 2}', 'one', '$.a', '$.e')", "1"),
        ("JSON_CONTAINS_PATH('{\"a\": 1, \"b\": 2}', 'all', '$.a', '$.e')", "0"),
        ("JSON_KEYS('{\"a\": 1, \"b\": {\"c\": 30}}')", "[\"a\", \"b\"]"),
        ("JSON_KEYS('{\"a\": 1, \"b\": {\"c\": 30}}', '$.b')", "[\"c\"]"),
        ("JSON_OVERLAPS('[1,3,5,7]', '[2,5,7]')", "1"),
        ("JSON_OVERLAPS('[1,3,5,7]', '[2,6,8]')", "0"),
        ("17 MEMBER OF ('[23, \"abc\", 17, \"ab\", 10]')", "1"),
        ("'17' MEMBER OF ('[23, \"abc\", 17, \"ab\", 10]')", "0"),
        ("JSON_SEARCH('[\"abc\", [{\"k\": \"10\"}, \"def\"], {\"x\":\"abc\"}]', 'one', 'abc')", "\"$[0]\""),
        (
            "JSON_SEARCH('[\"abc\", [{\"k\": \"10\"}, \"def\"], {\"x\":\"abc\"}]', 'all', 'abc')",
            "[\"$[0]\", \"$[2].x\"]",
        ),
        ("JSON_SEARCH('[\"abc\", [{\"k\": \"10\"}, \"def\"], {\"x\":\"abc\"}]', 'all', '10')", "\"$[1][0].k\""),
        ("JSON_SEARCH('[\"abc\", {\"y\":\"bcd\"}]', 'all', '%b%', NULL, '$[1]')", "\"$[1].y\""),
        ("JSON_SEARCH('[\"abc\"]', 'all', 'ghi')", "NULL"),
        ("JSON_VALUE('{\"fname\": \"Joe\", \"lname\": \"Palmer\"}', '$.fname')", "Joe"),
        ("JSON_VALUE('{\"a\": null}', '$.a')", "NULL"),
    ]);
}

#[test]
fn documents_are_changed() {
    check(&[
        (
            "JSON_SET('{ \"a\": 1, \"b\": [2, 3]}', '$.a', 10, '$.c', '[true, false]')",
            "{\"a\": 10, \"b\": [2, 3], \"c\": \"[true, false]\"}",
        ),
        (
            "JSON_INSERT('{ \"a\": 1, \"b\": [2, 3]}', '$.a', 10, '$.c', '[true, false]')",
            "{\"a\": 1, \"b\": [2, 3], \"c\": \"[true, false]\"}",
        ),
        (
            "JSON_REPLACE('{ \"a\": 1, \"b\": [2, 3]}', '$.a', 10, '$.c', '[true, false]')",
            "{\"a\": 10, \"b\": [2, 3]}",
        ),
        ("JSON_ARRAY_APPEND('[\"a\", [\"b\", \"c\"], \"d\"]', '$[1]', 1)", "[\"a\", [\"b\", \"c\", 1], \"d\"]"),
        ("JSON_ARRAY_APPEND('[\"a\", [\"b\", \"c\"], \"d\"]', '$[0]', 2)", "[[\"a\", 2], [\"b\", \"c\"], \"d\"]"),
        (
            "JSON_ARRAY_INSERT('[\"a\", {\"b\": [1, 2]}, [3, 4]]', '$[1]', 'x')",
            "[\"a\", \"x\", {\"b\": [1, 2]}, [3, 4]]",
        ),
        ("JSON_REMOVE('[\"a\", [\"b\", \"c\"], \"d\"]', '$[1]')", "[\"a\", \"d\"]"),
        ("JSON_MERGE_PATCH('[1, 2]', '[true, false]')", "[true, false]"),
        ("JSON_MERGE_PATCH('{ \"a\": 1, \"b\":2 }','{ \"a\": 3, \"c\":4 }')", "{\"a\": 3, \"b\": 2, \"c\": 4}"),
        ("JSON_MERGE_PRESERVE('[1, 2]', '[true, false]')", "[1, 2, true, false]"),
        ("JSON_MERGE_PRESERVE('{\"name\": \"x\"}', '{\"id\": 47}')", "{\"id\": 47, \"name\": \"x\"}"),
        ("JSON_SET('{}', '$.a', NULL)", "{\"a\": null}"),
        ("JSON_SET('{}', '$**.a', 1)", "ERROR 3149"),
    ]);
}

#[test]
fn documents_are_described() {
    check(&[
        ("JSON_DEPTH('{}')", "1"),
        ("JSON_DEPTH('[10, {\"a\": 20}]')", "3"),
        ("JSON_LENGTH('[1, 2, {\"a\": 3}]')", "3"),
        ("JSON_LENGTH('{\"a\": 1, \"b\": {\"c\": 30}}', '$.b')", "1"),
        ("JSON_TYPE('{\"a\": [10, true]}')", "OBJECT"),
        ("JSON_TYPE(JSON_EXTRACT('{\"a\": [10, true]}', '$.a[0]'))", "INTEGER"),
        ("JSON_TYPE(NULL)", "NULL"),
        ("JSON_TYPE(1)", "ERROR 3146"),
        ("JSON_VALID('{\"a\": 1}')", "1"),
        ("JSON_VALID('hello')", "0"),
        ("JSON_VALID('\"hello\"')", "1"),
        ("JSON_PRETTY('[1,3,5]')", "[\n  1,\n  3,\n  5\n]"),
        ("CAST('[1]' AS JSON) = JSON_ARRAY(1)", "1"),
        ("CAST('{\"b\":1,\"a\":2}' AS JSON) = CAST('{\"a\":2,\"b\":1}' AS JSON)", "1"),
    ]);
}

#[test]
fn documents_are_held_against_schemas() {
    let schema =
        r##"{"type": "object", "properties": {"latitude": {"type": "number", "minimum": -90, "maximum": 90},
        "names": {"type": "array", "items": {"$ref": "#/definitions/name"}, "uniqueItems": true, "maxItems": 3}},
        "definitions": {"name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"}},
        "required": ["latitude"], "additionalProperties": false}"##
            .replace('\n', " ");
    let valid = |document: &str| format!("JSON_SCHEMA_VALID('{schema}', '{document}')");
    for (document, expected) in [
        (r#"{"latitude": 63.4}"#, "1"),
        (r#"{"latitude": 90, "names": ["ab", "cd"]}"#, "1"),
        (r#"{"latitude": 90.5}"#, "0"),
        (r#"{"latitude": "x"}"#, "0"),
        (r#"{"names": []}"#, "0"),
        (r#"{"latitude": 0, "other": 1}"#, "0"),
        (r#"{"latitude": 0, "names": ["ab", "ab"]}"#, "0"),
        (r#"{"latitude": 0, "names": ["a"]}"#, "0"),
        (r#"{"latitude": 0, "names": ["AB"]}"#, "0"),
        ("[]", "0"),
    ] {
        check(&[(valid(document).as_str(), expected)]);
    }
    let report = format!("JSON_SCHEMA_VALIDATION_REPORT('{schema}', '{{\"latitude\": 100}}')");
    check(&[
        (
            report.as_str(),
            "{\"valid\": false, \"reason\": \"The JSON document location '#/latitude' failed requirement 'maximum' at JSON \
             Schema location '#/properties/latitude'\", \"schema-location\": \"#/properties/latitude\", \
             \"document-location\": \"#/latitude\", \"schema-failed-keyword\": \"maximum\"}",
        ),
        ("JSON_SCHEMA_VALIDATION_REPORT('{}', '1')", "{\"valid\": true}"),
        ("JSON_SCHEMA_VALID('{\"anyOf\": [{\"type\": \"null\"}, {\"enum\": [1, \"a\"]}]}', '1.0')", "1"),
        ("JSON_SCHEMA_VALID('{\"oneOf\": [{\"multipleOf\": 3}, {\"multipleOf\": 5}]}', '15')", "0"),
        ("JSON_SCHEMA_VALID('{\"not\": {\"type\": \"integer\"}}', '1.5')", "1"),
        ("JSON_SCHEMA_VALID('{\"exclusiveMinimum\": true, \"minimum\": 1}', '1')", "0"),
        ("JSON_SCHEMA_VALID(NULL, '1')", "NULL"),
        ("JSON_SCHEMA_VALID('[]', '1')", "ERROR 3853"),
        ("JSON_SCHEMA_VALID('{', '1')", "ERROR 3141"),
        ("JSON_SCHEMA_VALID('{\"$ref\": \"#\"}', '1')", "ERROR 1235"),
        ("JSON_SCHEMA_VALID('{\"anyOf\": [{\"$ref\": \"#\"}, {\"$ref\": \"#\"}]}', '1')", "ERROR 1235"),
        ("JSON_SCHEMA_VALID('{\"$ref\": \"http://example.com/schema\"}', '1')", "ERROR 1235"),
    ]);
}
