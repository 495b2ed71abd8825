//! Arithmetic, bit operators and the numeric functions: the manual's examples and the edges.

use shoal_types::{BaseType, Collation, SqlType, Value};

use super::{build, check, evaluate, evaluate_with, warnings_of};
use crate::context::Settings;

#[test]
fn arithmetic_keeps_exact_numbers_exact() {
    check(&[
        ("3+5", "8"),
        ("3-5", "-2"),
        ("- 2", "-2"),
        ("3*5", "15"),
        ("18014398509481984*18014398509481984.0", "324518553658426726783156020576256.0"),
        ("18014398509481984*18014398509481984", "ERROR 1690"),
        ("3/5", "0.6000"),
        ("102/(1-1)", "NULL"),
        ("5 DIV 2", "2"),
        ("-5 DIV 2", "-2"),
        ("5 DIV -2", "-2"),
        ("-5 DIV -2", "2"),
        ("253 % 7", "1"),
        ("29 MOD 9", "2"),
        ("MOD(234, 10)", "4"),
        ("MOD(34.5,3)", "1.5"),
        ("-7 % 3", "-1"),
        ("7 % 0", "NULL"),
        ("1 + 1.5", "2.5"),
        ("0.1 + 0.2", "0.3"),
        ("0.1e0 + 0.2e0", "0.30000000000000004"),
        ("1.5 * 1.5", "2.25"),
        ("14620 / 9432456", "0.0015"),
        ("1 / 3", "0.3333"),
        ("1.0000 / 3", "0.33333333"),
        ("10 / 4 * 3", "7.5000"),
        ("'3' + 4", "7"),
        ("'3.5abc' + 1", "4.5"),
        ("1 + NULL", "NULL"),
        ("2 - 3", "-1"),
        ("CAST(1 AS UNSIGNED) - 2", "ERROR 1690"),
        ("CAST(1 AS UNSIGNED) - 2.0", "-1.0"),
        ("9223372036854775807 + 1", "ERROR 1690"),
        ("9223372036854775807 + 0.0 + 1", "9223372036854775808.0"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615 + 0", "18446744073709551615"),
        ("18446744073709551615 + 1", "ERROR 1690"),
        ("-(-9223372036854775808)", "ERROR 1690"),
        ("1e308 * 10", "ERROR 1690"),
        ("5.5 DIV 2", "2"),
        ("1 DIV 0", "NULL"),
        ("DATE'2024-01-02' + 0", "20240102"),
        ("TIME'10:11:12' + 0", "101112"),
        ("TIMESTAMP'2024-01-02 03:04:05.5' + 0", "20240102030405.5"),
    ]);
}

#[test]
fn bit_operators_work_on_unsigned_64_bits() {
    check(&[
        ("29 | 15", "31"),
        ("29 & 15", "13"),
        ("1 ^ 1", "0"),
        ("11 ^ 3", "8"),
        ("1 << 2", "4"),
        ("4 >> 2", "1"),
        ("5 & ~1", "4"),
        ("~0", "18446744073709551615"),
        ("1 << 64", "0"),
        ("-1 >> 1", "9223372036854775807"),
        ("-1 | 0", "18446744073709551615"),
        ("'7' & 3", "3"),
        ("1.5 | 0", "2"),
        ("BIT_COUNT(64)", "1"),
        ("BIT_COUNT(29)", "4"),
        ("BIT_COUNT(-1)", "64"),
        ("NULL | 1", "NULL"),
    ]);
}

#[test]
fn logical_operators_have_three_values() {
    check(&[
        ("NOT 10", "0"),
        ("NOT 0", "1"),
        ("NOT NULL", "NULL"),
        ("!(1+1)", "0"),
        ("1 AND 1", "1"),
        ("1 AND 0", "0"),
        ("1 AND NULL", "NULL"),
        ("0 AND NULL", "0"),
        ("1 OR NULL", "1"),
        ("0 OR NULL", "NULL"),
        ("NULL OR NULL", "NULL"),
        ("1 XOR 1", "0"),
        ("1 XOR 0", "1"),
        ("1 XOR NULL", "NULL"),
        ("1 XOR 1 XOR 1", "1"),
        ("1 IS TRUE", "1"),
        ("NULL IS UNKNOWN", "1"),
        ("0 IS FALSE", "1"),
        ("NULL IS NOT TRUE", "1"),
        ("1 IS NULL", "0"),
        ("NULL IS NULL", "1"),
        ("'a' AND 1", "0"),
        ("'1a' AND 1", "1"),
        ("0.4 AND 1", "1"),
    ]);
}

#[test]
fn comparisons_follow_the_classes_of_their_operands() {
    check(&[
        ("1 = 0", "0"),
        ("'0' = 0", "1"),
        ("'0.0' = 0", "1"),
        ("'0.01' = 0", "0"),
        ("'.01' = 0.01", "1"),
        ("1 <=> 1", "1"),
        ("NULL <=> NULL", "1"),
        ("1 <=> NULL", "0"),
        ("1 = NULL", "NULL"),
        ("'.01' <> '0.01'", "1"),
        (".01 <> '0.01'", "0"),
        ("'zapp' <> 'zappp'", "1"),
        ("0.1 <= 2", "1"),
        ("2 BETWEEN 1 AND 3", "1"),
        ("1 BETWEEN 2 AND 3", "0"),
        ("'b' BETWEEN 'a' AND 'c'", "1"),
        ("2 BETWEEN 2 AND '3'", "1"),
        ("2 BETWEEN NULL AND 1", "0"),
        ("2 BETWEEN NULL AND 3", "NULL"),
        ("2 NOT BETWEEN 3 AND 4", "1"),
        ("2 IN (0,3,5,7)", "0"),
        ("'wefwf' IN ('wee','wefwf','weg')", "1"),
        ("NULL IN (1,2)", "NULL"),
        ("1 IN (2,NULL)", "NULL"),
        ("1 IN (1,NULL)", "1"),
        ("3 IN (1,2,3,4,5,6,7)", "1"),
        ("8 NOT IN (1,2,3,4,5,6,7)", "1"),
        ("8 NOT IN (1,2,3,4,5,6,7,NULL)", "NULL"),
        ("'C' IN ('a','b','c','d','e','f')", "1"),
        ("18446744073709551615 > 9223372036854775807", "1"),
        ("18446744073709551615 > -1", "1"),
        ("-1 < CAST(0 AS UNSIGNED)", "1"),
        ("1.10 = 1.1", "1"),
        ("DATE'2024-01-01' = '2024-01-01'", "1"),
        ("DATE'2024-01-01' < '2024-1-2'", "1"),
        ("TIMESTAMP'2024-01-01 00:00:00' = DATE'2024-01-01'", "1"),
        ("TIME'10:00:00' < '11:00:00'", "1"),
        ("'a' = 'A'", "1"),
        ("BINARY 'a' = 'A'", "0"),
        ("'a' = 'a '", "0"),
        ("'a' COLLATE utf8mb4_general_ci = 'a '", "1"),
        ("'a' COLLATE utf8mb4_bin = 'A'", "0"),
        ("'é' = 'e'", "1"),
        ("'a' < 'B'", "1"),
        ("STRCMP('text', 'text2')", "-1"),
        ("STRCMP('text2', 'text')", "1"),
        ("STRCMP('text', 'text')", "0"),
    ]);
}

#[test]
fn rounding_and_cutting_numbers() {
    check(&[
        ("ABS(2)", "2"),
        ("ABS(-32)", "32"),
        ("ABS(-1.5)", "1.5"),
        ("ABS(-9223372036854775808)", "ERROR 1690"),
        ("CEILING(1.23)", "2"),
        ("CEILING(-1.23)", "-1"),
        ("CEIL(5)", "5"),
        ("FLOOR(1.23)", "1"),
        ("FLOOR(-1.23)", "-2"),
        ("FLOOR(1.5e0)", "1"),
        ("ROUND(-1.23)", "-1"),
        ("ROUND(-1.58)", "-2"),
        ("ROUND(1.58)", "2"),
        ("ROUND(1.298, 1)", "1.3"),
        ("ROUND(1.298, 0)", "1"),
        ("ROUND(23.298, -1)", "20"),
        ("ROUND(.12345678901234567890123456789012345, 35)", "0.123456789012345678901234567890"),
        ("ROUND(2.5)", "3"),
        ("ROUND(25E-1)", "2"),
        ("ROUND(150, -2)", "200"),
        ("ROUND(-149, -2)", "-100"),
        ("ROUND(5, 2)", "5"),
        ("ROUND(NULL)", "NULL"),
        ("TRUNCATE(1.223,1)", "1.2"),
        ("TRUNCATE(1.999,1)", "1.9"),
        ("TRUNCATE(1.999,0)", "1"),
        ("TRUNCATE(-1.999,1)", "-1.9"),
        ("TRUNCATE(122,-2)", "100"),
        ("TRUNCATE(10.28*100,0)", "1028"),
        ("SIGN(-32)", "-1"),
        ("SIGN(0)", "0"),
        ("SIGN(234)", "1"),
        ("SIGN(-0.5)", "-1"),
        ("FORMAT(12332.123456, 4)", "12,332.1235"),
        ("FORMAT(12332.1,4)", "12,332.1000"),
        ("FORMAT(12332.2,0)", "12,332"),
        ("FORMAT(12332.2,2,'de_DE')", "12.332,20"),
        ("FORMAT(-1234567.891, 2)", "-1,234,567.89"),
        ("FORMAT(NULL, 2)", "NULL"),
    ]);
}

#[test]
fn powers_logarithms_and_trigonometry() {
    check(&[
        ("PI()", "3.141593"),
        ("PI()+0.000000000000000000", "3.141592653589793000"),
        ("POW(2,2)", "4"),
        ("POW(2,-2)", "0.25"),
        ("POW(0,-1)", "ERROR 1690"),
        ("EXP(2)", "7.38905609893065"),
        ("EXP(0)", "1"),
        ("EXP(1000)", "ERROR 1690"),
        ("SQRT(4)", "2"),
        ("SQRT(20)", "4.47213595499958"),
        ("SQRT(-16)", "NULL"),
        ("LN(2)", "0.6931471805599453"),
        ("LN(-2)", "NULL"),
        ("LOG(2,65536)", "16"),
        ("LOG(10,100)", "2"),
        ("LOG(1,100)", "NULL"),
        ("LOG2(65536)", "16"),
        ("LOG2(-100)", "NULL"),
        ("LOG10(2)", "0.3010299956639812"),
        ("LOG10(100)", "2"),
        ("ACOS(1)", "0"),
        ("ACOS(1.0001)", "NULL"),
        ("ASIN(0.2)", "0.2013579207903308"),
        ("ASIN('foo')", "0"),
        ("ATAN(2)", "1.1071487177940904"),
        ("ATAN(-2,2)", "-0.7853981633974483"),
        ("ATAN2(PI(),0)", "1.5707963267948966"),
        ("COS(PI())", "-1"),
        ("COT(0)", "ERROR 1690"),
        ("DEGREES(PI())", "180"),
        ("DEGREES(PI() / 2)", "90"),
        ("RADIANS(90)", "1.5707963267948966"),
        ("SIN(0)", "0"),
        ("TAN(0)", "0"),
    ]);
    assert_eq!(warnings_of("LN(-2)"), ["Invalid argument for logarithm"]);
}

#[test]
fn numbers_in_other_bases() {
    check(&[
        ("CONV('a',16,2)", "1010"),
        ("CONV('6E',18,8)", "172"),
        ("CONV(-17,10,-18)", "-H"),
        ("CONV(10+'10'+'10'+X'0a',10,10)", "40"),
        ("CONV('ff', 16, 10)", "255"),
        ("CONV(-1, 10, 16)", "FFFFFFFFFFFFFFFF"),
        ("CONV(1, 37, 2)", "NULL"),
        ("BIN(12)", "1100"),
        ("OCT(12)", "14"),
        ("BIN(NULL)", "NULL"),
        ("CRC32('MySQL')", "3259397556"),
        ("CRC32('mysql')", "2501908538"),
        ("CRC32('')", "0"),
    ]);
}

#[test]
fn rand_with_a_seed_gives_the_sequence_of_mysql() {
    let first = |sql: &str| evaluate(sql).0.unwrap();
    assert_eq!(first("RAND(3)"), "0.9057697559760601");
    assert_eq!(first("RAND(1)"), "0.40540353712197724");
    assert_eq!(first("RAND(0)"), "0.15522042769493574");
}

#[test]
fn lost_parts_of_operands_are_reported() {
    assert_eq!(warnings_of("1/0"), ["Division by 0"]);
    assert_eq!(warnings_of("1 DIV 0"), ["Division by 0"]);
    assert_eq!(warnings_of("1 % 0.0"), ["Division by 0"]);
    assert_eq!(warnings_of("'12ab' + 1"), ["Truncated incorrect DOUBLE value: '12ab'"]);
    assert_eq!(warnings_of("'ab' = 0"), ["Truncated incorrect DOUBLE value: 'ab'"]);
    assert_eq!(warnings_of("CAST('12ab' AS SIGNED)"), ["Truncated incorrect INTEGER value: '12ab'"]);
    assert_eq!(warnings_of("1 + 1"), Vec::<String>::new());
}

#[test]
fn range_errors_name_the_expression() {
    let columns = [("a", SqlType::new(BaseType::BigInt))];
    let row = [Value::Int(i64::MAX)];
    let (result, _) = evaluate_with("a + 1", &columns, &row, Settings::default());
    assert_eq!(result.unwrap_err().message(), "BIGINT value is out of range in '(a + 1)'");
    let (result, _) = evaluate_with("a * 2 - 1", &columns, &row, Settings::default());
    assert_eq!(result.unwrap_err().message(), "BIGINT value is out of range in '(a * 2)'");
}

#[test]
fn results_have_the_types_that_mysql_gives_them() {
    let columns = [
        ("i", SqlType { length: 11, ..SqlType::new(BaseType::Int) }),
        ("u", SqlType { length: 10, unsigned: true, ..SqlType::new(BaseType::Int) }),
        ("d", SqlType::decimal(10, 2)),
        ("f", SqlType::double()),
        ("s", SqlType::varchar(20, Collation::UTF8MB4_0900_AI_CI)),
    ];
    let type_of = |sql: &str| {
        let expr = build(sql, &columns);
        let sql_type = expr.sql_type();
        let sign = if sql_type.unsigned { " unsigned" } else { "" };
        match sql_type.base {
            BaseType::Decimal => format!("decimal({},{})", sql_type.length, sql_type.decimals),
            base => format!("{base:?}{sign}").to_lowercase(),
        }
    };
    for (sql, expected) in [
        ("i + 1", "bigint"),
        ("i + u", "bigint unsigned"),
        ("i * d", "decimal(20,2)"),
        ("d + 1", "decimal(11,2)"),
        ("d / 3", "decimal(14,6)"),
        ("i / 3", "decimal(14,4)"),
        ("i DIV d", "bigint"),
        ("d % 7", "decimal(10,2)"),
        ("i + f", "double"),
        ("i + s", "double"),
        ("-u", "bigint"),
        ("-d", "decimal(10,2)"),
        ("i & 1", "bigint unsigned"),
        ("i = 1", "bigint"),
        ("ROUND(d, 1)", "decimal(10,1)"),
        ("FLOOR(d)", "bigint"),
        ("ABS(u)", "bigint unsigned"),
        ("COALESCE(i, d)", "decimal(12,2)"),
        ("COALESCE(i, f)", "double"),
        ("COALESCE(i, s)", "varchar"),
        ("IF(1, i, u)", "bigint"),
    ] {
        assert_eq!(type_of(sql), expected, "{sql}");
    }
}
