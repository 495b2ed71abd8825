//! One order of values: that of keys, by which indexes are sorted and pushed filters compare, is that of `compare`, by which
//! expressions and ORDER BY do.

use std::sync::Arc;

use proptest::prelude::*;
use shoal_types::key::append_raw;
use shoal_types::row::encode_column;
use shoal_types::{BaseType, Collation, SqlType, StoreOptions, StoreTarget, TimeZone, Value, store_value};

fn types() -> Vec<SqlType> {
    let plain = |base| SqlType::new(base);
    let unsigned = |base| SqlType { unsigned: true, ..SqlType::new(base) };
    let labelled = |base| {
        let labels: Vec<Box<[u8]>> =
            ["z", "b", "a", "y"].iter().map(|label| Box::from(label.as_bytes())).collect();
        let text = SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI);
        SqlType { base, labels: Some(Arc::from(labels)), ..text }
    };
    vec![
        plain(BaseType::TinyInt),
        unsigned(BaseType::SmallInt),
        plain(BaseType::MediumInt),
        plain(BaseType::Int),
        plain(BaseType::BigInt),
        unsigned(BaseType::BigInt),
        plain(BaseType::Float),
        plain(BaseType::Double),
        SqlType::decimal(12, 3),
        SqlType { length: 20, ..plain(BaseType::Bit) },
        plain(BaseType::Year),
        plain(BaseType::Date),
        SqlType { decimals: 3, ..plain(BaseType::Time) },
        SqlType::datetime(6),
        SqlType { decimals: 2, ..plain(BaseType::Timestamp) },
        SqlType::varchar(20, Collation::UTF8MB4_0900_AI_CI),
        SqlType::varchar(20, Collation::UTF8MB4_BIN),
        SqlType::varchar(20, Collation::BINARY),
        labelled(BaseType::Enum),
        labelled(BaseType::Set),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        (-300..300i64).prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<f64>().prop_filter("a number", |number| number.is_finite()).prop_map(Value::Double),
        "[aAäÄbz ,0-9]{0,6}".prop_map(Value::str),
        "(19[7-9]|20[0-3])[0-9]-(0[0-9]|1[0-2])-[0-2][0-9] [01][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9]{1,6}"
            .prop_map(Value::str),
        "-?[0-9]{1,3}:[0-5][0-9]:[0-5][0-9]\\.[0-9]{1,3}".prop_map(Value::str),
    ]
}

fn stored(value: Value, sql_type: &SqlType) -> Option<Value> {
    let target = StoreTarget { sql_type, column: "c", row: 1 };
    store_value(value, Collation::UTF8MB4_0900_AI_CI, target, &StoreOptions::default())
        .ok()
        .map(|(value, _)| value)
}

fn key(value: &Value, sql_type: &SqlType) -> Vec<u8> {
    let mut key = Vec::new();
    let raw = encode_column(value, sql_type, &TimeZone::UTC).unwrap().unwrap_or_default();
    append_raw(&raw, sql_type, 0, &mut key);
    key
}

proptest! {
    #[test]
    fn keys_are_ordered_as_values_are(number in 0..20usize, one in any_value(), other in any_value()) {
        let sql_type = &types()[number];
        if let (Some(one), Some(other)) = (stored(one, sql_type), stored(other, sql_type)) {
            let order = crate::compare(&one, &other, sql_type);
            prop_assert_eq!(key(&one, sql_type).cmp(&key(&other, sql_type)), order, "{:?} and {:?}", one, other);
        }
    }
}
