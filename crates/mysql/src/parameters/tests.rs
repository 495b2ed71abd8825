use proptest::prelude::*;

use super::*;

fn decode(bound: &mut BoundParameters, body: &[u8], count: usize) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    bound.decode(&mut Payload::new(body), count, false, &mut values)?;
    Ok(values)
}

/// The body of an execution with one parameter of `code`.
fn single(code: u8, flags: u8, data: &[u8]) -> Result<Value> {
    let mut body = vec![0, 1, code, flags];
    body.extend_from_slice(data);
    Ok(decode(&mut BoundParameters::default(), &body, 1)?.remove(0))
}

#[test]
fn integers_keep_their_sign_and_width() {
    assert_eq!(single(1, 0, &[0xff]), Ok(Value::Int(-1)));
    assert_eq!(single(1, 0x80, &[0xff]), Ok(Value::UInt(255)));
    assert_eq!(single(2, 0, &[0, 0x80]), Ok(Value::Int(-32_768)));
    assert_eq!(single(3, 0, &[1, 0, 0, 0x80]), Ok(Value::Int(-2_147_483_647)));
    assert_eq!(single(9, 0x80, &[1, 0, 0, 0x80]), Ok(Value::UInt(2_147_483_649)));
    assert_eq!(single(8, 0x80, &[0xff; 8]), Ok(Value::UInt(u64::MAX)));
    assert_eq!(single(5, 0, &1.5f64.to_le_bytes()), Ok(Value::Double(1.5)));
    assert_eq!(single(4, 0, &1.5f32.to_le_bytes()), Ok(Value::Float(1.5)));
}

#[test]
fn strings_of_every_length_form_are_read() {
    for size in [0usize, 250, 251, 70_000] {
        let mut data = Vec::new();
        crate::packet::append_length_bytes(&mut data, &vec![b'x'; size]);
        assert_eq!(single(253, 0, &data), Ok(Value::Str(vec![b'x'; size])));
    }
    assert_eq!(single(246, 0, b"\x0512.50"), Ok(Value::Decimal(Decimal::new(1250, 2))));
}

#[test]
fn temporal_values_come_in_their_short_forms() {
    let day = |hour, minute, second, micros| {
        let fsp = if micros == 0 { 0 } else { 6 };
        DateTime::new([2024, 2, 29, hour, minute, second], micros, fsp, DateRules::default()).unwrap()
    };
    assert_eq!(single(12, 0, &[0]), Ok(Value::DateTime(DateTime::ZERO)));
    assert_eq!(single(12, 0, &[4, 0xe8, 7, 2, 29]), Ok(Value::DateTime(day(0, 0, 0, 0))));
    assert_eq!(single(7, 0, &[7, 0xe8, 7, 2, 29, 1, 2, 3]), Ok(Value::DateTime(day(1, 2, 3, 0))));
    let with_micros = [11, 0xe8, 7, 2, 29, 1, 2, 3, 0x40, 0x42, 0x0f, 0];
    assert_eq!(single(12, 0, &with_micros), Ok(Value::DateTime(DateTime::ZERO)), "a million microseconds");
    assert_eq!(single(10, 0, &[4, 0xe8, 7, 2, 29]), Ok(Value::Date(Date(2024 << 9 | 2 << 5 | 29))));
    assert_eq!(single(10, 0, &[4, 0xe8, 7, 13, 1]), Ok(Value::Date(Date::ZERO)), "there is no month 13");
    let time = [12, 1, 1, 0, 0, 0, 2, 3, 4, 5, 0, 0, 0];
    let micros = -((26 * 3600 + 3 * 60 + 4) * 1_000_000 + 5);
    assert_eq!(single(11, 0, &time), Ok(Value::Time(Time { micros, fsp: 6 })));
    assert_eq!(single(11, 0, &[0]), Ok(Value::Time(Time { micros: 0, fsp: 0 })));
}

#[test]
fn types_are_remembered_from_the_last_execution() {
    let mut bound = BoundParameters::default();
    assert_eq!(decode(&mut bound, &[0, 0, 7], 1), Err(Malformed), "no types yet");
    assert_eq!(decode(&mut bound, &[0, 1, 1, 0, 7], 1), Ok(vec![Value::Int(7)]));
    assert_eq!(decode(&mut bound, &[0, 0, 8], 1), Ok(vec![Value::Int(8)]));
    assert_eq!(decode(&mut bound, &[1, 0], 1), Ok(vec![Value::Null]));
}

#[test]
fn long_data_takes_the_place_of_the_value() {
    let mut bound = BoundParameters::default();
    bound.append_long_data(1, 2, b"long ", 100);
    bound.append_long_data(1, 2, b"data", 100);
    bound.append_long_data(9, 2, b"nowhere", 100);
    let body = [0, 1, 1, 0, 252, 0, 5];
    assert_eq!(decode(&mut bound, &body, 2), Ok(vec![Value::Int(5), Value::str("long data")]));
    bound.clear_long_data();
    assert_eq!(decode(&mut bound, &body, 2), Err(Malformed), "the value is missing now");
    bound.append_long_data(0, 2, &[0; 101], 100);
    assert_eq!(bound.take_refusal().map(|refusal| refusal.errno), Some(1105));
}

#[test]
fn whatever_is_shorter_than_it_claims_is_malformed() {
    let mut bound = BoundParameters::default();
    for body in
        [&[][..], &[0], &[0, 1], &[0, 1, 8], &[0, 1, 8, 0], &[0, 1, 8, 0, 1, 2, 3], &[0, 1, 253, 0, 9, b'x']]
    {
        assert_eq!(decode(&mut bound, body, 1), Err(Malformed), "{body:?}");
    }
    assert_eq!(decode(&mut bound, &[0, 1, 8, 0], usize::MAX / 4), Err(Malformed));
    assert_eq!(single(12, 0, &[5, 1, 2, 3, 4, 5]), Err(Malformed), "no datetime has 5 bytes");
    assert_eq!(single(99, 0, &[0]), Err(Malformed), "no such type");
}

#[test]
fn query_attributes_are_skipped_but_for_the_wanted_one() {
    let mut body = vec![2, 1, 0b10, 1, 253, 0, 1, b'a', 8, 0, 1, b'b', 2, b'h', b'i'];
    body.extend_from_slice(b"SELECT 1");
    let mut fields = Payload::new(&body);
    assert_eq!(query_attribute(&mut fields, None), Ok(None));
    assert_eq!(fields.rest(), b"SELECT 1");
    // The first one is a number and the second NULL, or the other way round.
    for (nulls, wanted, found) in
        [(0b10, "a", None), (0b10, "b", None), (0b01, "b", Some(b"hi".to_vec())), (0b01, "c", None)]
    {
        let mut body = vec![2, 1, nulls, 1, 8, 0, 1, b'a', 253, 0, 1, b'b'];
        body.extend_from_slice(if nulls == 0b01 { b"\x02hi" } else { &[7; 8] });
        assert_eq!(query_attribute(&mut Payload::new(&body), Some(wanted)), Ok(found), "{nulls} {wanted}");
    }
    let mut none = Payload::new(b"\0\x01SELECT 2");
    assert_eq!(query_attribute(&mut none, Some("a")), Ok(None));
    assert_eq!(none.rest(), b"SELECT 2");
}

#[test]
fn values_beyond_the_parameters_are_attributes() {
    let body = [2, 0, 1, 1, 0, 0, 1, 0, 4, b'n', b'a', b'm', b'e', 7, 9];
    let mut values = Vec::new();
    BoundParameters::default().decode(&mut Payload::new(&body), 1, true, &mut values).unwrap();
    assert_eq!(values, [Value::Int(7)]);
}

#[test]
fn the_wanted_attribute_is_kept_for_the_execution_that_it_came_with() {
    let body = [2, 0, 1, 1, 0, 0, 254, 0, 4, b'n', b'a', b'm', b'e', 7, 2, b'h', b'i'];
    let mut values = Vec::new();
    let mut bound = BoundParameters::default();
    for (wanted, found) in [(Some("name"), Some(b"hi".to_vec())), (Some("other"), None), (None, None)] {
        bound.want_attribute(wanted);
        bound.decode(&mut Payload::new(&body), 1, true, &mut values).unwrap();
        assert_eq!((values[0].clone(), bound.take_attribute()), (Value::Int(7), found), "{wanted:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(body: Vec<u8>, count in 0usize..40, named: bool) {
        let mut bound = BoundParameters::default();
        let mut values = Vec::new();
        let _ = bound.decode(&mut Payload::new(&body), count, named, &mut values);
        let _ = query_attribute(&mut Payload::new(&body), Some(""));
        for code in 0..=255 {
            let parameter = ParameterType { code, unsigned: count % 2 == 0 };
            let _ = parameter.read(&mut Payload::new(&body), &mut Value::Null);
        }
    }
}
