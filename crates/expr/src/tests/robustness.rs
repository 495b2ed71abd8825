//! Every function and operator on arbitrary arguments: a value of its type or an error, never a panic.

use proptest::prelude::*;
use shoal_types::{BaseType, Collation, Date, DateRules, DateTime, Decimal, Json, SqlType, Time, TimeZone, Value};

use super::session::TestSession;
use crate::aggregate::{Accumulator, Aggregate};
use crate::build::{self, BinaryOperator, BuildContext, parameter_type};
use crate::context::{EvalContext, Settings};
use crate::expr::Expr;
use crate::functions;

/// Small, so that results that would be huge are refused early.
fn settings() -> Settings {
    Settings { max_allowed_packet: 1 << 16, group_concat_max_len: 64, ..Settings::default() }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"".to_vec()),
        Just(b"2024-02-29 12:34:56.789".to_vec()),
        Just(b"-838:59:59".to_vec()),
        Just(b"12:00".to_vec()),
        Just(b"%Y-%m-%d %H:%i:%s.%f %W %j %U %v %X".to_vec()),
        Just(b"{\"a\": [1, {\"b\": null}], \"c\": \"x\"}".to_vec()),
        Just(b"$.a[1].b".to_vec()),
        Just(b"$**.b[last-1]".to_vec()),
        Just(b"one".to_vec()),
        Just(b"(a+)+$".to_vec()),
        Just(b"1e400".to_vec()),
        Just(b"10.0.0.1".to_vec()),
        Just("日本語ßé".as_bytes().to_vec()),
        "[ -~]{0,12}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..24),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        2 => any::<i64>().prop_map(Value::Int),
        3 => (-100i64..100).prop_map(Value::Int),
        2 => any::<u64>().prop_map(Value::UInt),
        1 => prop_oneof![Just(0.0), Just(-1.5), Just(1e308), Just(-1e-300), any::<f64>()]
            .prop_filter("stored doubles are finite", |number| number.is_finite())
            .prop_map(Value::Double),
        2 => (any::<i128>(), 0u8..=30).prop_map(|(number, scale)| Value::Decimal(Decimal::new(number, scale))),
        6 => text().prop_map(Value::Str),
        1 => (0u32..10_000, 0u32..=12, 0u32..=28).prop_map(|(year, month, day)| {
            Value::Date(Date::new(year, month, day, DateRules::default()).unwrap_or(Date::ZERO))
        }),
        1 => (-Time::MAX_MICROS..=Time::MAX_MICROS, 0u8..=6).prop_map(|(micros, fsp)| {
            Value::Time(Time { micros, fsp }.truncate(fsp))
        }),
        1 => (0u32..10_000, 0u32..=12, 0u32..=28, 0u32..24, 0u32..60, 0u32..1_000_000).prop_map(
            |(year, month, day, hour, minute, micros)| {
                let parts = [year, month, day, hour, minute, 30];
                let datetime = DateTime::new(parts, micros, 6, DateRules::default());
                Value::DateTime(datetime.unwrap_or(DateTime::ZERO))
            }
        ),
        1 => (1901u16..2156).prop_map(Value::Year),
        1 => any::<u64>().prop_map(|bits| Value::Bit(bits, 64)),
        1 => Just(Value::Json(Json::parse(b"{\"a\": [1, \"x\", 2.5], \"b\": true}").unwrap())),
    ]
}

/// An argument: a constant, a column with that value, or a column of bytes.
#[derive(Clone, Debug)]
struct Argument {
    value: Value,
    constant: bool,
    collation: Collation,
}

fn argument() -> impl Strategy<Value = Argument> {
    let collation = prop_oneof![
        4 => Just(Collation::UTF8MB4_0900_AI_CI),
        1 => Just(Collation::BINARY),
        1 => Just(Collation::LATIN1_SWEDISH_CI),
        1 => Just(Collation::UTF8MB4_BIN),
    ];
    (value(), any::<bool>(), collation).prop_map(|(value, constant, collation)| Argument {
        value,
        constant,
        collation,
    })
}

fn exprs(arguments: &[Argument]) -> (Vec<Expr>, Vec<Value>) {
    let row = arguments.iter().map(|argument| argument.value.clone()).collect();
    let exprs = arguments.iter().enumerate().map(|(position, argument)| {
        let sql_type = parameter_type(&argument.value, argument.collation);
        if argument.constant {
            Expr::literal(argument.value.clone(), sql_type)
        } else {
            Expr::column(position, sql_type, true, "c")
        }
    });
    (exprs.collect(), row)
}

/// The value is of the class that the type promises.
fn is_of_type(value: &Value, sql_type: &SqlType) -> bool {
    use BaseType::*;
    match value {
        Value::Null => true,
        Value::Int(_) => {
            matches!(sql_type.base, TinyInt | SmallInt | MediumInt | Int | BigInt) && !sql_type.unsigned
        }
        Value::UInt(_) => {
            matches!(sql_type.base, TinyInt | SmallInt | MediumInt | Int | BigInt) && sql_type.unsigned
        }
        Value::Float(_) => sql_type.base == Float,
        Value::Double(number) => sql_type.base == Double && number.is_finite(),
        // A result of more digits than a column can have keeps as many after the point as fit.
        Value::Decimal(number) => {
            sql_type.base == Decimal && (number.scale() == sql_type.decimals || number.precision() > 65)
        }
        Value::Str(_) => matches!(sql_type.base, Char | VarChar | Text | Geometry),
        Value::Date(_) => sql_type.base == Date,
        Value::Time(_) => sql_type.base == Time,
        Value::DateTime(_) => matches!(sql_type.base, DateTime | Timestamp),
        Value::Year(_) => sql_type.base == Year,
        Value::Bit(..) => sql_type.base == Bit,
        Value::Enum(_) => sql_type.base == Enum,
        Value::Set(_) => sql_type.base == Set,
        Value::Json(_) => sql_type.base == Json,
    }
}

/// Evaluates twice, with and without folding having been possible; both must agree in class.
fn exercise(name: &str, expr: &Expr, row: &[Value]) {
    let mut session = TestSession::default();
    let mut ctx =
        EvalContext::new(&[], &TimeZone::UTC, super::now_micros(), settings()).with_session(&mut session);
    if let Ok(value) = expr.eval(row, &mut ctx) {
        let sql_type = expr.sql_type();
        assert!(is_of_type(&value, sql_type), "{name}: {value:?} is not of {sql_type:?} in {expr}");
        assert!(!value.is_null() || expr.nullable() || row.iter().any(Value::is_null), "{name}: NULL in {expr}");
        if let Value::Str(text) = &value {
            assert!(text.len() <= 4 * settings().max_allowed_packet, "{name}: {} bytes", text.len());
        }
    }
    let _ = expr.eval_bool(row, &mut ctx);
    let _ = expr.to_string();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_function_takes_anything(arguments in proptest::collection::vec(argument(), 6)) {
        let context = BuildContext { settings: settings(), database: None };
        for function in functions::all() {
            let most = function.arguments_max.min(6);
            for count in function.arguments_min..=most {
                let (exprs, row) = exprs(&arguments[..count]);
                if let Ok(expr) = build::function_by_entry(function, exprs, &context) {
                    exercise(function.name, &expr, &row);
                }
            }
        }
    }

    #[test]
    fn every_operator_takes_anything(left in argument(), right in argument(), third in argument()) {
        use BinaryOperator::*;
        let context = BuildContext { settings: settings(), database: None };
        let (all, row) = exprs(&[left, right, third]);
        let [left, right, third] = [all[0].clone(), all[1].clone(), all[2].clone()];
        for operator in [
            Add, Subtract, Multiply, Divide, IntegerDivide, Modulo, BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight, Equal,
            NullSafeEqual, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, And, Or, Xor, Concat, SoundsLike,
        ] {
            if let Ok(expr) = build::binary(operator, left.clone(), right.clone(), &context) {
                exercise(&format!("{operator:?}"), &expr, &row);
            }
        }
        for name in ["IF", "IFNULL", "NULLIF", "COALESCE", "ISNULL", "MOD"] {
            for count in 1..=3 {
                if let Ok(expr) = build::function(name, all[..count].to_vec(), &context) {
                    exercise(name, &expr, &row);
                }
            }
        }
        let others = [
            build::between(left.clone(), right.clone(), third.clone(), true, &context),
            build::in_list(left.clone(), vec![right.clone(), third.clone(), Expr::integer(1)], false, &context),
            build::like(left.clone(), right.clone(), Some(third.clone()), false, &context),
            build::like(left.clone(), right.clone(), None, true, &context),
            build::case(Some(left.clone()), vec![(right.clone(), third.clone())], None, &context),
            build::case(None, vec![(left.clone(), right.clone())], Some(third.clone()), &context),
            build::unary(build::UnaryOperator::Minus, left.clone(), &context),
            build::unary(build::UnaryOperator::BitNot, left.clone(), &context),
            build::not(left.clone(), &context),
            build::binary_cast(left.clone(), &context),
            build::member_of(left, right, &context),
        ];
        for expr in others.into_iter().flatten() {
            exercise("operator", &expr, &row);
        }
    }

    #[test]
    fn every_cast_and_interval_takes_anything(value in argument(), amount in argument()) {
        use shoal_types::IntervalUnit::*;
        let context = BuildContext { settings: settings(), database: None };
        let (all, row) = exprs(&[value, amount]);
        let [value, amount] = [all[0].clone(), all[1].clone()];
        let text = |base, length, collation| SqlType { length, collation, ..SqlType::new(base) };
        for target in [
            SqlType::bigint(false),
            SqlType::bigint(true),
            SqlType::double(),
            SqlType::new(BaseType::Float),
            SqlType::decimal(5, 2),
            SqlType::decimal(65, 30),
            text(BaseType::Char, 3, Collation::UTF8MB4_0900_AI_CI),
            text(BaseType::Char, u32::MAX, Collation::LATIN1_SWEDISH_CI),
            text(BaseType::Char, 5, Collation::BINARY),
            SqlType::new(BaseType::Date),
            SqlType { decimals: 3, ..SqlType::new(BaseType::Time) },
            SqlType::datetime(6),
            SqlType::new(BaseType::Year),
            SqlType { collation: Collation::UTF8MB4_BIN, ..SqlType::new(BaseType::Json) },
        ] {
            if let Ok(expr) = build::cast(value.clone(), target, &context) {
                exercise("cast", &expr, &row);
            }
        }
        for unit in [
            Microsecond, Second, Minute, Hour, Day, Week, Month, Quarter, Year, SecondMicrosecond, MinuteMicrosecond,
            MinuteSecond, HourMicrosecond, HourSecond, HourMinute, DayMicrosecond, DaySecond, DayMinute, DayHour, YearMonth,
        ] {
            for expr in [
                build::add_interval(value.clone(), amount.clone(), unit, false, &context),
                build::add_interval(value.clone(), amount.clone(), unit, true, &context),
                build::extract(unit, value.clone(), &context),
                build::timestamp_difference(unit, value.clone(), amount.clone(), &context),
            ]
            .into_iter()
            .flatten()
            {
                exercise("interval", &expr, &row);
            }
        }
    }

    #[test]
    fn every_aggregate_takes_anything(arguments in proptest::collection::vec(argument(), 2), distinct in any::<bool>()) {
        let context = BuildContext { settings: settings(), database: None };
        let (all, row) = exprs(&arguments);
        for name in [
            "COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT", "BIT_AND", "BIT_OR", "BIT_XOR", "STD", "STDDEV_SAMP",
            "VAR_POP", "VAR_SAMP", "ANY_VALUE", "JSON_ARRAYAGG", "JSON_OBJECTAGG",
        ] {
            for count in 1..=2 {
                let Ok(aggregate) = Aggregate::new(name, all[..count].to_vec(), distinct, &context) else {
                    continue;
                };
                let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, settings());
                let mut accumulator = Accumulator::new(&aggregate);
                let added = (0..3).try_for_each(|_| accumulator.add(&aggregate, &row, &mut ctx));
                if added.is_ok() && let Ok(value) = accumulator.finish(&mut ctx) {
                    assert!(is_of_type(&value, &aggregate.sql_type), "{name}: {value:?} of {:?}", aggregate.sql_type);
                }
            }
        }
    }
}
