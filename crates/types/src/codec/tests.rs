use std::sync::Arc;

use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::json::JsonValue;
use crate::schema::*;
use crate::*;

fn labels() -> Arc<[Box<[u8]>]> {
    [&b"small"[..], b"large"].map(Box::from).into()
}

fn schema() -> TableSchema {
    let column = |name: &str, sql_type: SqlType, default: ColumnDefault| Column {
        name: name.to_string(),
        sql_type,
        nullable: true,
        default,
        auto_increment: false,
        on_update_now: false,
        comment: "of note".to_string(),
        invisible: false,
        hidden: false,
        generated: None,
        array_of: None,
    };
    let size = SqlType { labels: Some(labels()), ..SqlType::new(BaseType::Enum) };
    let default_size = Value::Enum(EnumValue { index: 2, labels: labels() });
    let mut generated = column("twice", SqlType::bigint(true), ColumnDefault::Expression("id * 2".into()));
    generated.generated = Some(("id * 2".to_string(), true));
    let mut tags = column("!hidden!tags!0!0", SqlType::new(BaseType::Text), ColumnDefault::None);
    tags.array_of = Some(SqlType::varchar(10, Collation::UTF8MB4_0900_BIN));
    TableSchema {
        id: TableId(7),
        version: 3,
        database: "shop".to_string(),
        name: "größe".to_string(),
        columns: vec![
            Column {
                auto_increment: true,
                nullable: false,
                ..column("id", SqlType::bigint(false), ColumnDefault::None)
            },
            column("size", size, ColumnDefault::Value(default_size)),
            column("price", SqlType::decimal(10, 2), ColumnDefault::Value(Value::Null)),
            Column { on_update_now: true, ..column("at", SqlType::datetime(6), ColumnDefault::Now) },
            generated,
            tags,
            column(
                "name",
                SqlType::varchar(30, Collation::UTF8MB4_0900_AI_CI),
                ColumnDefault::Value(Value::str("")),
            ),
        ],
        indexes: vec![Index {
            id: IndexId(0),
            name: "PRIMARY".to_string(),
            columns: vec![IndexColumn { column: 0, prefix_length: 0, descending: true }],
            unique: true,
            method: IndexMethod::Hash,
            building: true,
            invisible: false,
            comment: String::new(),
            unique_table: Some(TableId(9)),
        }],
        partition_columns: vec![0],
        checks: vec![CheckConstraint { name: "t_chk_1".into(), expression: "(`id` > 0)".into(), enforced: false }],
        past_rows: Vec::new(),
        foreign_keys: vec![ForeignKey {
            name: "t_ibfk_1".into(),
            columns: vec!["id".into()],
            parent: ("d".into(), "p".into()),
            parent_columns: vec!["pid".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::SetNull,
        }],
        options: TableOptions {
            engine: "ndb".to_string(),
            collation: Collation::UTF8MB4_0900_AI_CI,
            comment: "things".to_string(),
            auto_increment: 100,
            partitioned_by_key: true,
            partitions: 4,
            other: vec![("MAX_ROWS".to_string(), "10".to_string())],
            created_at_s: 1_700_000_000,
        },
    }
}

#[test]
fn a_schema_reads_back_as_it_was() {
    assert_eq!(TableSchema::decode(&schema().encode()).unwrap(), schema());
}

#[test]
fn fields_of_later_versions_are_skipped() {
    #[derive(Clone, PartialEq, Message)]
    struct Addition {
        #[prost(string, tag = "900")]
        addition: String,
    }
    let mut bytes = schema().encode();
    bytes.extend(Addition { addition: "of the future".to_string() }.encode_to_vec());
    assert_eq!(TableSchema::decode(&bytes).unwrap(), schema());
}

#[test]
fn schemas_that_do_not_hold_together_are_refused() {
    let refused = |change: fn(&mut TableSchema)| {
        let mut damaged = schema();
        change(&mut damaged);
        TableSchema::decode(&damaged.encode()).is_err()
    };
    assert!(refused(|schema| schema.partition_columns = vec![7]));
    assert!(refused(|schema| schema.indexes[0].columns[0].column = 100));
    assert!(refused(|schema| schema.indexes.clear()));
    assert!(refused(|schema| schema.columns[2].sql_type.length = 66));
    assert!(refused(|schema| schema.columns[3].sql_type.decimals = 7));
    assert!(TableSchema::decode(b"").is_err());
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<i32>().prop_map(|number| Value::Float(number as f32)),
        any::<f64>().prop_filter("comparable", |number| !number.is_nan()).prop_map(Value::Double),
        "-?[0-9]{1,35}[.][0-9]{0,30}".prop_map(|text| Value::Decimal(Decimal::parse(text.as_bytes()).value)),
        proptest::collection::vec(any::<u8>(), 0..300).prop_map(Value::Str),
        (0..4_000_000i64).prop_map(|day| Value::Date(Date::from_day_number(day))),
        (-Time::MAX_MICROS..=Time::MAX_MICROS, 0..=6u8)
            .prop_map(|(micros, fsp)| Value::Time(Time { micros, fsp })),
        (0..=DateTime::MAX.packed, 0..=6u8).prop_map(|(packed, fsp)| Value::DateTime(DateTime { packed, fsp })),
        prop_oneof![Just(0), 1901..=2155u16].prop_map(Value::Year),
        (any::<u64>(), 1..=64u8).prop_map(|(bits, width)| Value::Bit(bits, width)),
        any::<u16>().prop_map(|index| Value::Enum(EnumValue { index, labels: labels() })),
        any::<u64>().prop_map(|bits| Value::Set(SetValue { bits, labels: labels() })),
        any::<i64>()
            .prop_map(|number| Value::Json(Json::from_tree(&JsonValue::Array(vec![JsonValue::Int(number)])))),
    ]
}

proptest! {
    #[test]
    fn values_read_back_one_after_the_other(values in proptest::collection::vec(any_value(), 0..10)) {
        let mut bytes = Vec::new();
        for value in &values {
            append_value(value, &mut bytes);
        }
        let mut rest = bytes.as_slice();
        for value in &values {
            prop_assert_eq!(&read_value(&mut rest).unwrap(), value);
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn values_cut_off_are_errors(value in any_value(), cut in 1..20usize) {
        let mut bytes = Vec::new();
        append_value(&value, &mut bytes);
        let mut rest = &bytes[..bytes.len().saturating_sub(cut)];
        prop_assert!(read_value(&mut rest).is_err());
    }

    #[test]
    fn damaged_values_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut rest = bytes.as_slice();
        while let Ok(value) = read_value(&mut rest) {
            let _ = (value.to_text(), value.to_i64(), value.to_f64(), value.to_datetime(&TemporalContext::default()));
        }
    }

    #[test]
    fn damaged_schemas_never_panic(damage in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..5)) {
        let mut bytes = schema().encode();
        for (at, byte) in damage {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let _ = TableSchema::decode(&bytes);
    }
}
