//! String functions, LIKE, REGEXP, casts to text, hashing, network: the manual's examples and the edges.

use shoal_types::{BaseType, Charset, Collation, SqlType, Value};

use super::{build, check, constant, evaluate, evaluate_with, warnings_of};
use crate::context::Settings;

#[test]
fn texts_are_put_together_and_taken_apart() {
    check(&[
        ("ASCII('2')", "50"),
        ("ASCII(2)", "50"),
        ("ASCII('dx')", "100"),
        ("ASCII('')", "0"),
        ("BIT_LENGTH('text')", "32"),
        ("CHAR(77,121,83,81,'76')", "MySQL"),
        ("CHAR(77,77.3,'77.3')", "MMM"),
        ("HEX(CHAR(1,0))", "0100"),
        ("HEX(CHAR(256))", "0100"),
        ("CHAR_LENGTH('text')", "4"),
        ("CHAR_LENGTH('日本')", "2"),
        ("LENGTH('日本')", "6"),
        ("CONCAT('My', 'S', 'QL')", "MySQL"),
        ("CONCAT('My', NULL, 'QL')", "NULL"),
        ("CONCAT(14.3)", "14.3"),
        ("CONCAT_WS(',','First name','Second name','Last Name')", "First name,Second name,Last Name"),
        ("CONCAT_WS(',','First name',NULL,'Last Name')", "First name,Last Name"),
        ("CONCAT_WS(NULL,'a','b')", "NULL"),
        ("CONCAT_WS(',','','b')", ",b"),
        ("INSERT('Quadratic', 3, 4, 'What')", "QuWhattic"),
        ("INSERT('Quadratic', -1, 4, 'What')", "Quadratic"),
        ("INSERT('Quadratic', 3, 100, 'What')", "QuWhat"),
        ("LEFT('foobarbar', 5)", "fooba"),
        ("RIGHT('foobarbar', 4)", "rbar"),
        ("LEFT('日本語', 2)", "日本"),
        ("RIGHT('日本語', 2)", "本語"),
        ("SUBSTRING('Quadratically',5)", "ratically"),
        ("SUBSTRING('Quadratically',5,6)", "ratica"),
        ("SUBSTRING('Sakila', -3)", "ila"),
        ("SUBSTRING('Sakila', -5, 3)", "aki"),
        ("SUBSTRING('abc', 0)", ""),
        ("SUBSTRING('abc', 10)", ""),
        ("SUBSTRING('abc', -10)", ""),
        ("SUBSTRING('日本語', 2, 1)", "本"),
        ("SUBSTRING_INDEX('www.mysql.com', '.', 2)", "www.mysql"),
        ("SUBSTRING_INDEX('www.mysql.com', '.', -2)", "mysql.com"),
        ("SUBSTRING_INDEX('www.mysql.com', 'x', 1)", "www.mysql.com"),
        ("SUBSTRING_INDEX('a.b', '.', -5)", "a.b"),
        ("LOWER('QUADRATICALLY')", "quadratically"),
        ("UPPER('Hej')", "HEJ"),
        ("UPPER('grün')", "GRÜN"),
        ("LPAD('hi',4,'??')", "??hi"),
        ("LPAD('hi',1,'??')", "h"),
        ("RPAD('hi',5,'?')", "hi???"),
        ("RPAD('hi',1,'?')", "h"),
        ("LPAD('hi',-1,'?')", "NULL"),
        ("LPAD('a', 5, 'xyz')", "xyzxa"),
        ("LTRIM('  barbar')", "barbar"),
        ("RTRIM('barbar   ')", "barbar"),
        ("TRIM('  bar   ')", "bar"),
        ("TRIM(LEADING 'x' FROM 'xxxbarxxx')", "barxxx"),
        ("TRIM(BOTH 'x' FROM 'xxxbarxxx')", "bar"),
        ("TRIM(TRAILING 'xyz' FROM 'barxxyz')", "barx"),
        ("REPEAT('MySQL', 3)", "MySQLMySQLMySQL"),
        ("REPEAT('a', -1)", ""),
        ("REPLACE('www.mysql.com', 'w', 'Ww')", "WwWwWw.mysql.com"),
        ("REPLACE('abc', '', 'x')", "abc"),
        ("REVERSE('abc')", "cba"),
        ("REVERSE('日本')", "本日"),
        ("SPACE(6)", "      "),
    ]);
}

#[test]
fn texts_are_searched_under_their_collation() {
    check(&[
        ("INSTR('foobarbar', 'bar')", "4"),
        ("INSTR('xbar', 'foobar')", "0"),
        ("INSTR('FOOBAR', 'bar')", "4"),
        ("INSTR(BINARY 'FOOBAR', 'bar')", "0"),
        ("LOCATE('bar', 'foobarbar')", "4"),
        ("LOCATE('xbar', 'foobar')", "0"),
        ("LOCATE('bar', 'foobarbar', 5)", "7"),
        ("LOCATE('', 'abc')", "1"),
        ("FIELD('Bb', 'Aa', 'Bb', 'Cc', 'Dd', 'Ff')", "2"),
        ("FIELD('Gg', 'Aa', 'Bb', 'Cc', 'Dd', 'Ff')", "0"),
        ("FIELD(NULL, 'a')", "0"),
        ("FIELD(3, 1, 2, 3)", "3"),
        ("FIND_IN_SET('b','a,b,c,d')", "2"),
        ("FIND_IN_SET('B','a,b,c,d')", "2"),
        ("FIND_IN_SET('b,','a,b')", "0"),
        ("FIND_IN_SET('x','')", "0"),
        ("ELT(1, 'Aa', 'Bb', 'Cc', 'Dd')", "Aa"),
        ("ELT(4, 'Aa', 'Bb', 'Cc', 'Dd')", "Dd"),
        ("ELT(5, 'Aa')", "NULL"),
        ("EXPORT_SET(5,'Y','N',',',4)", "Y,N,Y,N"),
        ("EXPORT_SET(6,'1','0',',',10)", "0,1,1,0,0,0,0,0,0,0"),
        ("MAKE_SET(1,'a','b','c')", "a"),
        ("MAKE_SET(1 | 4,'hello','nice','world')", "hello,world"),
        ("MAKE_SET(1 | 4,'hello','nice',NULL,'world')", "hello"),
        ("MAKE_SET(0,'a','b','c')", ""),
        ("ORD('2')", "50"),
        ("ORD('日')", "15112101"),
    ]);
}

#[test]
fn texts_in_other_notations() {
    check(&[
        ("HEX('abc')", "616263"),
        ("HEX(255)", "FF"),
        ("HEX(-1)", "FFFFFFFFFFFFFFFF"),
        ("HEX(12.5)", "D"),
        ("UNHEX('4D7953514C')", "MySQL"),
        ("UNHEX('GG')", "NULL"),
        ("HEX(UNHEX('F'))", "0F"),
        ("X'4D7953514C'", "MySQL"),
        ("0x0A+0", "10"),
        ("TO_BASE64('abc')", "YWJj"),
        ("FROM_BASE64(TO_BASE64('abc'))", "abc"),
        ("TO_BASE64('ab')", "YWI="),
        ("FROM_BASE64('YWI')", "NULL"),
        ("LENGTH(TO_BASE64(REPEAT('x',100)))", "137"),
        ("QUOTE('Don\\'t!')", "'Don\\'t!'"),
        ("QUOTE(NULL)", "NULL"),
        ("SOUNDEX('Hello')", "H400"),
        ("SOUNDEX('Quadratically')", "Q36324"),
        ("'Robert' SOUNDS LIKE 'Rupert'", "1"),
        ("FORMAT_BYTES(512)", " 512 bytes"),
        ("FORMAT_BYTES(18446644073709551615)", "16.00 EiB"),
        ("FORMAT_PICO_TIME(3501)", "3.50 ns"),
        ("FORMAT_PICO_TIME(7)", "  7 ps"),
        ("FORMAT_PICO_TIME(188732396662000)", "3.15 min"),
    ]);
}

#[test]
fn like_matches_characters_under_a_collation() {
    check(&[
        ("'David!' LIKE 'David_'", "1"),
        ("'David!' LIKE '%D%v%'", "1"),
        ("'David!' LIKE 'David\\_'", "0"),
        ("'David_' LIKE 'David\\_'", "1"),
        ("'David_' LIKE 'David|_' ESCAPE '|'", "1"),
        ("'abc' LIKE 'ABC'", "1"),
        ("'abc' LIKE BINARY 'ABC'", "0"),
        ("10 LIKE '1%'", "1"),
        ("'' LIKE ''", "1"),
        ("'a' LIKE ''", "0"),
        ("'a' LIKE '%'", "1"),
        ("'aaab' LIKE '%ab'", "1"),
        ("'aXbXc' LIKE 'a%b%c'", "1"),
        ("'日本語' LIKE '日_語'", "1"),
        ("'a ' LIKE 'a'", "0"),
        ("NULL LIKE 'a'", "NULL"),
        ("'a' NOT LIKE 'b'", "1"),
        ("'50%' LIKE '50\\%'", "1"),
        ("'a' LIKE 'a' ESCAPE 'ab'", "ERROR 1210"),
    ]);
}

#[test]
fn regular_expressions_match_replace_and_cut() {
    check(&[
        ("'Michael!' REGEXP '.*'", "1"),
        ("'fo\\nfo' REGEXP '^fo$'", "0"),
        ("'a' REGEXP '^[a-d]'", "1"),
        ("'a' REGEXP 'A'", "1"),
        ("'a' REGEXP BINARY 'A'", "0"),
        ("REGEXP_LIKE('abc', 'ABC', 'c')", "0"),
        ("REGEXP_LIKE('CamelCase', 'CAMELCASE')", "1"),
        ("REGEXP_LIKE('fo\\nfo', '^fo$', 'm')", "1"),
        ("REGEXP_INSTR('dog cat dog', 'dog')", "1"),
        ("REGEXP_INSTR('dog cat dog', 'dog', 2)", "9"),
        ("REGEXP_INSTR('aa aaa aaaa', 'a{4}')", "8"),
        ("REGEXP_INSTR('aa aaa aaaa', 'a{2}', 1, 1, 1)", "3"),
        ("REGEXP_REPLACE('a b c', 'b', 'X')", "a X c"),
        ("REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, 3)", "abc def X"),
        ("REGEXP_REPLACE('abc', '(a)(b)', '$2$1')", "bac"),
        ("REGEXP_SUBSTR('abc def ghi', '[a-z]+')", "abc"),
        ("REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, 3)", "ghi"),
        ("REGEXP_SUBSTR('abc', 'x')", "NULL"),
        ("'a' REGEXP '('", "ERROR 1139"),
        ("'a' NOT REGEXP 'b'", "1"),
        ("NULL REGEXP 'b'", "NULL"),
    ]);
}

#[test]
fn casts_to_text_cut_fill_and_convert() {
    check(&[
        ("CAST(123 AS CHAR)", "123"),
        ("CAST('abcdef' AS CHAR(3))", "abc"),
        ("CAST(1.50 AS CHAR)", "1.50"),
        ("HEX(CAST('ab' AS BINARY(4)))", "61620000"),
        ("CAST(DATE'2024-01-02' AS CHAR)", "2024-01-02"),
        ("CONVERT('abc' USING latin1)", "abc"),
        ("HEX(CONVERT('é' USING latin1))", "E9"),
        ("CHARSET(CONVERT('abc' USING latin1))", "latin1"),
        ("COLLATION('abc' COLLATE utf8mb4_bin)", "utf8mb4_bin"),
        ("CHARSET(BINARY 'a')", "binary"),
        ("CHARSET(CHAR(65))", "binary"),
        ("CHAR(0xE9 USING latin1)", "[E9]"),
        ("COERCIBILITY('abc' COLLATE utf8mb4_bin)", "0"),
        ("COERCIBILITY(USER())", "3"),
        ("COERCIBILITY('abc')", "4"),
        ("COERCIBILITY(1000)", "5"),
        ("COERCIBILITY(NULL)", "6"),
        ("'a' COLLATE latin1_bin", "ERROR 1253"),
        ("'a' COLLATE utf8mb4_bin = 'a' COLLATE utf8mb4_general_ci", "ERROR 1267"),
    ]);
    assert_eq!(warnings_of("CAST('abcdef' AS CHAR(3))"), ["Truncated incorrect CHAR(3) value: 'abcdef'"]);
}

#[test]
fn a_latin1_column_compares_with_an_unicode_literal() {
    let columns = [("c", SqlType::varchar(10, Collation::LATIN1_SWEDISH_CI))];
    let row = [Value::Str(vec![0xE9])];
    let eval = |sql: &str| evaluate_with(sql, &columns, &row, Settings::default()).0.unwrap();
    assert_eq!(eval("c = 'é'"), "1");
    assert_eq!(eval("HEX(CONCAT(c, 'é'))"), "E9E9");
    let (mixed, _) = evaluate_with("CONCAT(c, '日')", &columns, &row, Settings::default());
    assert_eq!(mixed.unwrap_err().errno(), 1267);
    assert_eq!(Charset::Latin1, build("c", &columns).sql_type().collation.charset());
}

#[test]
fn digests_are_those_of_the_standards() {
    check(&[
        ("MD5('testing')", "ae2b1fca515949e5d54fb22b8ed95575"),
        ("MD5('')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("SHA2('abc', 224)", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        ("SHA2('abc', 256)", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("SHA2('abc', 1)", "NULL"),
        ("LENGTH(COMPRESS(REPEAT('a',1000))) < 50", "1"),
        ("LENGTH(COMPRESS(''))", "0"),
        ("UNCOMPRESS(COMPRESS('any string'))", "any string"),
        ("UNCOMPRESS('any string')", "NULL"),
        ("UNCOMPRESSED_LENGTH(COMPRESS(REPEAT('a',30)))", "30"),
        ("LENGTH(RANDOM_BYTES(16))", "16"),
        ("RANDOM_BYTES(0)", "ERROR 1690"),
    ]);
}

#[test]
fn addresses_and_uuids() {
    check(&[
        ("INET_ATON('10.0.5.9')", "167773449"),
        ("INET_ATON('127.1')", "2130706433"),
        ("INET_ATON('255.255.255.256')", "NULL"),
        ("INET_NTOA(167773449)", "10.0.5.9"),
        ("HEX(INET6_ATON('fdfe::5a55:caff:fefa:9089'))", "FDFE0000000000005A55CAFFFEFA9089"),
        ("HEX(INET6_ATON('10.0.5.9'))", "0A000509"),
        ("INET6_NTOA(INET6_ATON('fdfe::5a55:caff:fefa:9089'))", "fdfe::5a55:caff:fefa:9089"),
        ("IS_IPV4('10.0.5.9')", "1"),
        ("IS_IPV4('10.0.5.256')", "0"),
        ("IS_IPV6('::1')", "1"),
        ("IS_IPV4_COMPAT(INET6_ATON('::10.0.5.9'))", "1"),
        ("IS_IPV4_MAPPED(INET6_ATON('::ffff:10.0.5.9'))", "1"),
        ("IS_UUID('6ccd780c-baba-1026-9564-5b8c656024db')", "1"),
        ("IS_UUID('6ccd780c-baba-1026-9564-5b8c6560')", "0"),
        ("HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db'))", "6CCD780CBABA102695645B8C656024DB"),
        ("HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1))", "1026BABA6CCD780C95645B8C656024DB"),
        (
            "BIN_TO_UUID(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1), 1)",
            "6ccd780c-baba-1026-9564-5b8c656024db",
        ),
        ("IS_UUID(UUID())", "1"),
        ("SUBSTRING(UUID(), 15, 1)", "1"),
        ("UUID_SHORT() > 0", "1"),
    ]);
}

#[test]
fn what_the_session_knows() {
    check(&[
        ("DATABASE()", "test"),
        ("SCHEMA()", "test"),
        ("USER()", "root@localhost"),
        ("CURRENT_USER()", "root@%"),
        ("CURRENT_ROLE()", "`r`@`%`"),
        ("VERSION()", "8.4.0-shoal"),
        ("CONNECTION_ID()", "42"),
        ("PS_CURRENT_THREAD_ID()", "42"),
        ("LAST_INSERT_ID()", "7"),
        ("LAST_INSERT_ID(9) + LAST_INSERT_ID()", "18"),
        ("ROW_COUNT()", "-1"),
        ("FOUND_ROWS()", "3"),
        ("BENCHMARK(10, 1+1)", "0"),
        ("SLEEP(0.5)", "0"),
        ("SLEEP(NULL)", "ERROR 1210"),
        ("GET_LOCK('l1', 10)", "1"),
        ("IS_FREE_LOCK('l1')", "1"),
        ("GET_LOCK('', 10)", "ERROR 3057"),
        ("RELEASE_LOCK('none')", "NULL"),
        ("NOSUCH(1)", "ERROR 1305"),
        ("ABS()", "ERROR 1582"),
        ("NAME_CONST('n', 14)", "14"),
    ]);
    assert_eq!(evaluate("NOSUCH(1)").0.unwrap_err().message(), "FUNCTION test.NOSUCH does not exist");
}

#[test]
fn results_longer_than_a_packet_become_null() {
    let settings = Settings { max_allowed_packet: 100, ..Settings::default() };
    for sql in ["REPEAT('a', 101)", "SPACE(101)", "LPAD('a', 101, 'b')", "CONCAT(REPEAT('a',60),REPEAT('b',60))"] {
        let (result, warnings) = evaluate_with(sql, &[], &[], settings);
        assert_eq!(result.unwrap(), "NULL", "{sql}");
        assert!(warnings[0].ends_with("was larger than max_allowed_packet (100) - truncated"), "{warnings:?}");
    }
}

#[test]
fn the_like_pattern_of_an_enum_column_sees_its_label() {
    let labels = std::sync::Arc::from(vec![Box::<[u8]>::from(&b"small"[..]), Box::from(&b"big"[..])]);
    let sql_type = SqlType {
        labels: Some(std::sync::Arc::clone(&labels)),
        collation: Collation::UTF8MB4_0900_AI_CI,
        ..SqlType::new(BaseType::Enum)
    };
    let columns = [("e", sql_type)];
    let row = [Value::Enum(shoal_types::EnumValue { index: 2, labels })];
    let eval = |sql: &str| evaluate_with(sql, &columns, &row, Settings::default()).0.unwrap();
    assert_eq!(eval("e LIKE 'b%'"), "1");
    assert_eq!(eval("e = 'BIG'"), "1");
    assert_eq!(eval("e = 2"), "1");
    assert_eq!(eval("e + 0"), "2");
    assert_eq!(eval("CONCAT(e, '!')"), "big!");
    assert_eq!(eval("e IN ('small', 'big')"), "1");
}

#[test]
fn constants_are_folded_once() {
    let expr = build("CONCAT('a', UPPER('b'), 1 + 2)", &[]);
    assert!(expr.as_literal().is_some());
    assert_eq!(constant(&expr), Value::str("aB3"));
    assert!(build("1/0", &[]).as_literal().is_none(), "a warning belongs to the run");
    assert!(build("NOW()", &[]).as_literal().is_none());
    assert!(build("UUID()", &[]).as_literal().is_none());
}
