use std::hash::BuildHasher;

use proptest::prelude::*;

use super::*;

fn decimal(text: &str) -> Decimal {
    let parsed = Decimal::parse(text.as_bytes());
    assert!(!parsed.truncated, "{text}");
    parsed.value
}

fn binary(value: &Decimal, precision: usize, scale: usize) -> Vec<u8> {
    let mut bytes = vec![0; binary_size(precision, scale)];
    value.write_binary(precision, scale, &mut bytes);
    bytes
}

#[test]
fn the_table_of_exact_results_is_met() {
    for line in include_str!("cases.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let first = decimal(fields[1]);
        let second = if fields[2] == "-" { Decimal::ZERO } else { decimal(fields[2]) };
        let digits = second.to_i64().value as i32;
        let result = match fields[0] {
            "add" => first.checked_add(&second),
            "sub" => first.checked_sub(&second),
            "mul" => first.checked_mul(&second),
            "div" => first.checked_div(&second, 4),
            "rem" => first.checked_rem(&second),
            "idiv" => first.checked_integer_div(&second),
            "round" => Some(first.round(digits)),
            "trunc" => Some(first.truncate(digits)),
            "ceil" => Some(first.ceiling()),
            "floor" => Some(first.floor()),
            "cmp" => Some(Decimal::from(first.cmp(&second) as i64)),
            other => panic!("unknown operation {other}"),
        };
        let text = result.map_or("overflow".to_string(), |result| result.to_string());
        assert_eq!(text, fields[3], "{line}");
    }
}

#[test]
fn text_is_read_up_to_where_it_stops_being_a_number() {
    let cases = [
        ("12abc", "12", true),
        (" -1.555e1", "-15.55", false),
        ("1e-3", "0.001", false),
        (".", "0", true),
        ("1e", "1", true),
        ("+.5", "0.5", false),
        ("- 5", "0", true),
        ("5.", "5", false),
        ("1.50 ", "1.50", false),
        ("", "0", true),
        ("-0.00", "0.00", false),
        ("1e5", "100000", false),
        ("1.25e1", "12.5", false),
    ];
    for (text, value, truncated) in cases {
        let parsed = Decimal::parse(text.as_bytes());
        assert_eq!((parsed.value.to_string().as_str(), parsed.truncated), (value, truncated), "{text}");
    }
}

#[test]
fn numbers_beyond_the_capacity_are_clamped_and_long_fractions_cut() {
    let clamped = Decimal::parse(b"-1e100");
    assert!(clamped.out_of_range);
    assert_eq!(clamped.value, -Decimal::max_value(65, 0));
    let cut = Decimal::parse(format!("0.{}", "9".repeat(50)).as_bytes());
    assert!(cut.rounded && !cut.out_of_range);
    assert_eq!(cut.value.to_string(), format!("0.{}", "9".repeat(36)));
    assert_eq!(Decimal::parse(b"1e-1000000").value.to_string(), format!("0.{}", "0".repeat(36)));
    assert!(Decimal::parse(b"1e99999999999").out_of_range);
}

#[test]
fn the_binary_format_is_that_of_the_manual() {
    let value = decimal("1234567890.1234");
    assert_eq!(binary(&value, 14, 4), [0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2]);
    assert_eq!(binary(&-value, 14, 4), [0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d]);
    assert_eq!(binary(&Decimal::ZERO, 5, 2), [0x80, 0, 0]);
}

#[test]
fn a_value_too_great_for_its_column_is_stored_as_the_greatest() {
    assert_eq!(Decimal::read_binary(&binary(&decimal("-123456.789"), 5, 2), 5, 2), decimal("-999.99"));
    assert_eq!(Decimal::read_binary(&binary(&decimal("999.995"), 5, 2), 5, 2), decimal("999.99"));
}

#[test]
fn a_third_keeps_nine_digits_between_operations() {
    let third = Decimal::ONE.checked_div(&decimal("3"), 4).unwrap();
    assert_eq!(third.to_string(), "0.333333333");
    assert_eq!(third.checked_mul(&decimal("3")).unwrap().round(4).to_string(), "1.0000");
}

#[test]
fn conversions_round_half_away_from_zero() {
    assert_eq!(decimal("2.5").to_i64(), Converted { rounded: true, ..Converted::exact(3) });
    assert_eq!(decimal("-2.5").to_i64().value, -3);
    assert_eq!(decimal("2.0").to_i64(), Converted::exact(2));
    assert_eq!(decimal("18446744073709551615").to_u64(), Converted::exact(u64::MAX));
    assert!(decimal("18446744073709551615.5").to_u64().out_of_range);
    assert_eq!(decimal("-1").to_u64(), Converted::clamped(0));
    assert_eq!(decimal("-99999999999999999999").to_i64(), Converted::clamped(i64::MIN));
}

#[test]
fn doubles_pass_through_their_shortest_text() {
    for number in [0.1, 1e20, 1.5e-7, 123456789.125, -2.5, 0.0] {
        assert_eq!(Decimal::from_f64(number).value.to_f64(), number);
    }
    assert_eq!(Decimal::from_f64(0.1).value.to_string(), "0.1");
    assert!(Decimal::from_f64(1e300).out_of_range);
    assert_eq!(decimal("0.000000000000000000000000000001").to_f64(), 1e-30);
}

#[test]
fn zero_is_never_negative() {
    assert!(!(-Decimal::ZERO).is_negative());
    assert!(!decimal("-0.4").round(0).is_negative());
    assert!(!decimal("5").checked_sub(&decimal("5")).unwrap().is_negative());
    assert_eq!(decimal("-0.4").ceiling().to_string(), "0");
}

#[test]
fn precision_counts_digits() {
    assert_eq!(decimal("0").precision(), 1);
    assert_eq!(decimal("0.001").precision(), 3);
    assert_eq!(decimal("123.45").precision(), 5);
    assert!(decimal("123.45").fits(5, 2) && !decimal("123.45").fits(5, 3));
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    (any::<bool>(), "[0-9]{0,35}", "[0-9]{1,30}", 0..4u8).prop_map(|(negative, integer, fraction, cut)| {
        let keep = |text: &str| text[..text.len() / (cut as usize + 1)].to_string();
        let text = format!("{}{}.{}", if negative { "-" } else { "" }, keep(&integer), fraction);
        Decimal::parse(text.as_bytes()).value
    })
}

proptest! {
    #[test]
    fn small_numbers_agree_with_integers(a in any::<i32>(), b in any::<i32>(), s in 0..10u8, t in 0..10u8) {
        let (first, second) = (Decimal::new(a.into(), s), Decimal::new(b.into(), t));
        let (wide_a, wide_b) = (i128::from(a) * 10i128.pow(t.into()), i128::from(b) * 10i128.pow(s.into()));
        let scale = s + t;
        prop_assert_eq!(first.cmp(&second), wide_a.cmp(&wide_b));
        prop_assert_eq!(first.checked_add(&second).unwrap(), Decimal::new(wide_a + wide_b, scale));
        prop_assert_eq!(first.checked_sub(&second).unwrap(), Decimal::new(wide_a - wide_b, scale));
        prop_assert_eq!(first.checked_mul(&second).unwrap(), Decimal::new(i128::from(a) * i128::from(b), scale));
        if b != 0 {
            prop_assert_eq!(first.checked_rem(&second).unwrap(), Decimal::new(wide_a % wide_b, scale));
            prop_assert_eq!(first.checked_integer_div(&second).unwrap(), Decimal::new(wide_a / wide_b, 0));
        }
    }

    #[test]
    fn what_is_printed_reads_back(value in any_decimal()) {
        let again = Decimal::parse(value.to_string().as_bytes());
        prop_assert!(again.is_exact());
        prop_assert_eq!(again.value, value);
        prop_assert_eq!(again.value.scale(), value.scale());
    }

    #[test]
    fn binary_forms_read_back_and_order_as_the_values_do(a in any_decimal(), b in any_decimal()) {
        let (first, second) = (binary(&a, 65, 30), binary(&b, 65, 30));
        prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        prop_assert_eq!(Decimal::read_binary(&first, 65, 30), a);
    }

    #[test]
    fn equal_values_have_equal_hashes(value in any_decimal(), zeros in 0..6i32) {
        let longer = value.round(i32::from(value.scale()) + zeros);
        let hasher = std::hash::BuildHasherDefault::<std::collections::hash_map::DefaultHasher>::default();
        prop_assert_eq!(longer, value);
        prop_assert_eq!(hasher.hash_one(longer), hasher.hash_one(value));
    }

    #[test]
    fn quotient_and_remainder_make_the_dividend(a in any_decimal(), b in any_decimal()) {
        prop_assume!(!b.is_zero());
        if let Some(quotient) = a.checked_integer_div(&b).filter(|quotient| quotient.precision() < 40) {
            let product = quotient.checked_mul(&b).unwrap();
            prop_assume!(product.fits(46, 0));
            prop_assert_eq!(product.checked_add(&a.checked_rem(&b).unwrap()).unwrap(), a);
        }
    }

    #[test]
    fn no_bytes_make_parsing_or_reading_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), p in 1..=65usize) {
        let parsed = Decimal::parse(&bytes).value;
        let _ = (parsed.to_string(), parsed.to_f64(), parsed.to_i64());
        let scale = p.min(30) / 2;
        let read = Decimal::read_binary(&bytes, p, scale);
        let _ = (read.to_string(), read.round(0), read.checked_mul(&parsed), binary(&read, p, scale));
    }

    #[test]
    fn number_like_text_never_panics(text in "[ +-]{0,2}[0-9]{0,90}[.]?[0-9]{0,90}([eE][+-]?[0-9]{1,8})?") {
        let parsed = Decimal::parse(text.as_bytes()).value;
        let _ = (parsed.to_string(), parsed.checked_div(&Decimal::parse(b"3").value, 30), parsed.round(-3));
    }
}
