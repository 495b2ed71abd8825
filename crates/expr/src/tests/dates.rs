//! Date and time functions: the manual's examples and the edges.

use shoal_types::{BaseType, SqlType, Value};

use super::{build, check, evaluate_with, warnings_of};
use crate::context::Settings;

#[test]
fn parts_of_dates_and_times() {
    check(&[
        ("YEAR('1987-01-01')", "1987"),
        ("MONTH('2008-02-03')", "2"),
        ("DAYOFMONTH('2007-02-03')", "3"),
        ("DAY('2007-02-03')", "3"),
        ("DAYOFWEEK('2007-02-03')", "7"),
        ("DAYOFYEAR('2007-02-03')", "34"),
        ("WEEKDAY('2008-02-03 22:23:00')", "6"),
        ("WEEKDAY('2007-11-06')", "1"),
        ("DAYNAME('2007-02-03')", "Saturday"),
        ("MONTHNAME('2008-02-03')", "February"),
        ("QUARTER('2008-04-01')", "2"),
        ("WEEK('2008-02-20')", "7"),
        ("WEEK('2008-02-20',0)", "7"),
        ("WEEK('2008-02-20',1)", "8"),
        ("WEEK('2008-12-31',1)", "53"),
        ("WEEK('2000-01-01',2)", "52"),
        ("WEEKOFYEAR('2008-02-20')", "8"),
        ("YEARWEEK('1987-01-01')", "198652"),
        ("HOUR('10:05:03')", "10"),
        ("HOUR('272:59:59')", "272"),
        ("MINUTE('2008-02-03 10:05:03')", "5"),
        ("SECOND('10:05:03')", "3"),
        ("MICROSECOND('12:00:00.123456')", "123456"),
        ("MICROSECOND('2019-12-31 23:59:59.000010')", "10"),
        ("DATE('2003-12-31 01:02:03')", "2003-12-31"),
        ("TIME('2003-12-31 01:02:03')", "01:02:03"),
        ("TIME('2003-12-31 01:02:03.000123')", "01:02:03.000123"),
        ("TIMESTAMP('2003-12-31')", "2003-12-31 00:00:00"),
        ("TIMESTAMP('2003-12-31 12:00:00','12:00:00')", "2004-01-01 00:00:00"),
        ("LAST_DAY('2003-02-05')", "2003-02-28"),
        ("LAST_DAY('2004-02-05')", "2004-02-29"),
        ("LAST_DAY('2003-03-32')", "NULL"),
        ("MONTH('2008-00-00')", "0"),
        ("DAYNAME('2008-00-00')", "NULL"),
        ("EXTRACT(YEAR FROM '2019-07-02')", "2019"),
        ("EXTRACT(YEAR_MONTH FROM '2019-07-02 01:02:03')", "201907"),
        ("EXTRACT(DAY_MINUTE FROM '2019-07-02 01:02:03')", "20102"),
        ("EXTRACT(MICROSECOND FROM '2003-01-02 10:30:00.000123')", "123"),
        ("EXTRACT(HOUR FROM '10:11:12')", "10"),
    ]);
}

#[test]
fn intervals_are_added_and_subtracted() {
    check(&[
        ("DATE_ADD('2008-01-02', INTERVAL 31 DAY)", "2008-02-02"),
        ("ADDDATE('2008-01-02', 31)", "2008-02-02"),
        ("SUBDATE('2008-01-02', INTERVAL 31 DAY)", "2007-12-02"),
        ("SUBDATE('2008-01-02 12:00:00', 31)", "2007-12-02 12:00:00"),
        ("DATE_ADD('2018-05-01',INTERVAL 1 DAY)", "2018-05-02"),
        ("DATE_SUB('2018-05-01',INTERVAL 1 YEAR)", "2017-05-01"),
        ("DATE_ADD('2020-12-31 23:59:59', INTERVAL 1 SECOND)", "2021-01-01 00:00:00"),
        ("DATE_ADD('2018-12-31 23:59:59', INTERVAL 1 DAY)", "2019-01-01 23:59:59"),
        ("DATE_ADD('2100-12-31 23:59:59', INTERVAL '1:1' MINUTE_SECOND)", "2101-01-01 00:01:00"),
        ("DATE_SUB('2025-01-01 00:00:00', INTERVAL '1 1:1:1' DAY_SECOND)", "2024-12-30 22:58:59"),
        ("DATE_ADD('1900-01-01 00:00:00', INTERVAL '-1 10' DAY_HOUR)", "1899-12-30 14:00:00"),
        ("DATE_SUB('1998-01-02', INTERVAL 31 DAY)", "1997-12-02"),
        (
            "DATE_ADD('1992-12-31 23:59:59.000002', INTERVAL '1.999999' SECOND_MICROSECOND)",
            "1993-01-01 00:00:01.000001",
        ),
        ("DATE_ADD('2019-01-30', INTERVAL 1 MONTH)", "2019-02-28"),
        ("DATE_ADD('2023-01-01', INTERVAL 1 HOUR)", "2023-01-01 01:00:00"),
        ("DATE '2023-01-01' + INTERVAL 1 HOUR", "2023-01-01 01:00:00"),
        ("DATE '2018-12-31' + INTERVAL 1 DAY", "2019-01-01"),
        ("TIME '10:00:00' + INTERVAL 90 MINUTE", "11:30:00"),
        ("DATE_ADD('9999-12-31', INTERVAL 1 DAY)", "NULL"),
        ("DATE_ADD(NULL, INTERVAL 1 DAY)", "NULL"),
        ("TIMESTAMPADD(MINUTE, 1, '2003-01-02')", "2003-01-02 00:01:00"),
        ("TIMESTAMPADD(WEEK,1,'2003-01-02')", "2003-01-09"),
        ("TIMESTAMPDIFF(MONTH,'2003-02-01','2003-05-01')", "3"),
        ("TIMESTAMPDIFF(YEAR,'2002-05-01','2001-01-01')", "-1"),
        ("TIMESTAMPDIFF(MINUTE,'2003-02-01','2003-05-01 12:05:55')", "128885"),
        ("DATEDIFF('2007-12-31 23:59:59','2007-12-30')", "1"),
        ("DATEDIFF('2010-11-30 23:59:59','2010-12-31')", "-31"),
        ("PERIOD_ADD(200801,2)", "200803"),
        ("PERIOD_DIFF(200802,200703)", "11"),
        ("TO_DAYS(950501)", "728779"),
        ("TO_DAYS('2007-10-07')", "733321"),
        ("FROM_DAYS(730669)", "2000-07-03"),
        ("TO_SECONDS('2009-11-29')", "63426672000"),
        ("TO_SECONDS('2009-11-29 13:43:32')", "63426721412"),
        ("MAKEDATE(2011,31)", "2011-01-31"),
        ("MAKEDATE(2011,32)", "2011-02-01"),
        ("MAKEDATE(2011,0)", "NULL"),
        ("MAKETIME(12,15,30)", "12:15:30"),
        ("MAKETIME(12,60,30)", "NULL"),
        ("SEC_TO_TIME(2378)", "00:39:38"),
        ("SEC_TO_TIME(2378) + 0", "3938"),
        ("TIME_TO_SEC('22:23:00')", "80580"),
        ("TIME_TO_SEC('00:39:38')", "2378"),
        ("ADDTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002')", "2008-01-02 01:01:01.000001"),
        ("ADDTIME('01:00:00.999999', '02:00:00.999998')", "03:00:01.999997"),
        ("SUBTIME('2007-12-31 23:59:59.999999','1 1:1:1.000002')", "2007-12-30 22:58:58.999997"),
        ("SUBTIME('01:00:00.999999', '02:00:00.999998')", "-00:59:59.999999"),
        ("TIMEDIFF('2000-01-01 00:00:00','2000-01-01 00:00:00.000001')", "-00:00:00.000001"),
        ("TIMEDIFF('2008-12-31 23:59:59.000001','2008-12-30 01:01:01.000002')", "46:58:57.999999"),
    ]);
    assert_eq!(
        warnings_of("DATE_ADD('9999-12-31', INTERVAL 1 DAY)"),
        ["Datetime function: datetime field overflow"]
    );
}

#[test]
fn dates_are_formatted_and_read() {
    check(&[
        ("DATE_FORMAT('2009-10-04 22:23:00', '%W %M %Y')", "Sunday October 2009"),
        ("DATE_FORMAT('2007-10-04 22:23:00', '%H:%i:%s')", "22:23:00"),
        ("DATE_FORMAT('1900-10-04 22:23:00', '%D %y %a %d %m %b %j')", "4th 00 Thu 04 10 Oct 277"),
        ("DATE_FORMAT('1997-10-04 22:23:00', '%H %k %I %r %T %S %w')", "22 22 10 10:23:00 PM 22:23:00 00 6"),
        ("DATE_FORMAT('1999-01-01', '%X %V')", "1998 52"),
        ("DATE_FORMAT('2006-06-00', '%d')", "00"),
        ("DATE_FORMAT('2024-01-11', '%D')", "11th"),
        ("DATE_FORMAT('2024-01-11', '100%%%q')", "100%q"),
        ("DATE_FORMAT('abc', '%Y')", "NULL"),
        ("TIME_FORMAT('100:00:00', '%H %k %h %I %l')", "100 100 04 04 4"),
        ("STR_TO_DATE('01,5,2013','%d,%m,%Y')", "2013-05-01"),
        ("STR_TO_DATE('May 1, 2013','%M %d,%Y')", "2013-05-01"),
        ("STR_TO_DATE('a09:30:17','a%h:%i:%s')", "09:30:17"),
        ("STR_TO_DATE('a09:30:17','%h:%i:%s')", "NULL"),
        ("STR_TO_DATE('09:30:17a','%h:%i:%s')", "09:30:17"),
        ("STR_TO_DATE('200442 Monday', '%X%V %W')", "2004-10-18"),
        ("STR_TO_DATE('04/31/2004', '%m/%d/%Y')", "NULL"),
        ("STR_TO_DATE('2024-02-29 10:20:30.5', '%Y-%m-%d %H:%i:%s.%f')", "2024-02-29 10:20:30.500000"),
        ("STR_TO_DATE('10:20 PM', '%h:%i %p')", "22:20:00"),
        ("GET_FORMAT(DATE,'EUR')", "%d.%m.%Y"),
        ("DATE_FORMAT('2003-10-03',GET_FORMAT(DATE,'EUR'))", "03.10.2003"),
        ("STR_TO_DATE('10.31.2003',GET_FORMAT(DATE,'USA'))", "2003-10-31"),
    ]);
}

#[test]
fn the_clock_stands_still_within_a_statement() {
    check(&[
        ("NOW()", "2024-02-29 13:14:15"),
        ("NOW(6)", "2024-02-29 13:14:15.678901"),
        ("NOW() + 0", "20240229131415"),
        ("NOW(3) + 0", "20240229131415.678"),
        ("CURDATE()", "2024-02-29"),
        ("CURTIME()", "13:14:15"),
        ("UTC_DATE()", "2024-02-29"),
        ("UTC_TIMESTAMP(2)", "2024-02-29 13:14:15.67"),
        ("SYSDATE()", "2024-02-29 13:14:15"),
        ("NOW(7)", "ERROR 1426"),
        ("UNIX_TIMESTAMP()", "1709212455"),
        ("UNIX_TIMESTAMP('2015-11-13 10:20:19')", "1447410019"),
        ("UNIX_TIMESTAMP('2015-11-13 10:20:19.012')", "1447410019.012"),
        ("UNIX_TIMESTAMP('1969-01-01')", "0"),
        ("FROM_UNIXTIME(1447430881)", "2015-11-13 16:08:01"),
        ("FROM_UNIXTIME(1447430881) + 0", "20151113160801"),
        ("FROM_UNIXTIME(1447430881.5)", "2015-11-13 16:08:01.5"),
        ("FROM_UNIXTIME(1447430881,'%Y %D %M %h:%i:%s %x')", "2015 13th November 04:08:01 2015"),
        ("FROM_UNIXTIME(-1)", "NULL"),
        ("CONVERT_TZ('2004-01-01 12:00:00','+00:00','+10:00')", "2004-01-01 22:00:00"),
        ("CONVERT_TZ('2004-01-01 12:00:00','UTC','Europe/Moscow')", "2004-01-01 15:00:00"),
        ("CONVERT_TZ('2004-01-01 12:00:00','UTC','nowhere')", "NULL"),
    ]);
}

#[test]
fn casts_between_temporal_types() {
    check(&[
        ("CAST('2024-01-02 03:04:05.678' AS DATETIME)", "2024-01-02 03:04:06"),
        ("CAST('2024-01-02 03:04:05.678' AS DATETIME(2))", "2024-01-02 03:04:05.68"),
        ("CAST('2024-01-02' AS DATE)", "2024-01-02"),
        ("CAST(20240102 AS DATE)", "2024-01-02"),
        ("CAST('10:11:12.5' AS TIME)", "10:11:13"),
        ("CAST(NOW() AS DATE)", "2024-02-29"),
        ("CAST('abc' AS DATE)", "NULL"),
        ("CAST(TIMESTAMP'2024-01-02 03:04:05' AS UNSIGNED)", "20240102030405"),
        ("CAST('1999' AS YEAR)", "1999"),
        ("CAST(99 AS YEAR)", "1999"),
        ("CAST(3000 AS YEAR)", "NULL"),
        ("DATE'2024-02-30'", "ERROR 1525"),
        ("DATE'abc'", "ERROR 1525"),
        ("TIME'10:11:12'", "10:11:12"),
    ]);
}

#[test]
fn a_text_compared_with_a_date_column_is_read_once() {
    let columns = [("d", SqlType { length: 10, ..SqlType::new(BaseType::Date) })];
    let row = [Value::Date(shoal_types::Date(2024 << 9 | 1 << 5 | 2))];
    let eval = |sql: &str| evaluate_with(sql, &columns, &row, Settings::default()).0.unwrap();
    assert_eq!(eval("d = '2024-01-02'"), "1");
    assert_eq!(eval("d BETWEEN '2024-01-01' AND '2024-1-3'"), "1");
    assert_eq!(eval("d = 20240102"), "1");
    assert_eq!(eval("d IN ('2024-01-02', '2025-01-01')"), "1");
    assert_eq!(eval("d > TIMESTAMP'2024-01-02 00:00:01'"), "0");
    let expr = build("d = '2024-01-02'", &columns);
    let crate::Expr::Call(call) = &expr else { panic!("{expr}") };
    assert!(matches!(call.arguments[1].as_literal(), Some(Value::DateTime(_))));
    let (result, _) = evaluate_with("d = 'abc'", &columns, &row, Settings::default());
    assert_eq!(result.unwrap_err().message(), "Incorrect DATE value: 'abc'");
}
