//! Construction of aggregates: names, argument counts, result types.

use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, Collation, Error, ErrorCode, Result, SqlType};

use super::{Aggregate, AggregateKind};
use crate::build::types::string_type;
use crate::build::{BuildContext, convert_charset, types};
use crate::collate::{self, Coercibility};
use crate::expr::Expr;
use crate::operator::NumberClass;

/// Names of aggregate functions, with the least and greatest number of arguments.
const NAMES: &[(&str, AggregateKind, usize, usize)] = &[
    ("COUNT", AggregateKind::Count, 1, usize::MAX),
    ("SUM", AggregateKind::Sum, 1, 1),
    ("AVG", AggregateKind::Average, 1, 1),
    ("MIN", AggregateKind::Minimum, 1, 1),
    ("MAX", AggregateKind::Maximum, 1, 1),
    ("GROUP_CONCAT", AggregateKind::GroupConcat, 1, usize::MAX),
    ("BIT_AND", AggregateKind::BitAnd, 1, 1),
    ("BIT_OR", AggregateKind::BitOr, 1, 1),
    ("BIT_XOR", AggregateKind::BitXor, 1, 1),
    ("STD", AggregateKind::DeviationPopulation, 1, 1),
    ("STDDEV", AggregateKind::DeviationPopulation, 1, 1),
    ("STDDEV_POP", AggregateKind::DeviationPopulation, 1, 1),
    ("STDDEV_SAMP", AggregateKind::DeviationSample, 1, 1),
    ("VARIANCE", AggregateKind::VariancePopulation, 1, 1),
    ("VAR_POP", AggregateKind::VariancePopulation, 1, 1),
    ("VAR_SAMP", AggregateKind::VarianceSample, 1, 1),
    ("ANY_VALUE", AggregateKind::AnyValue, 1, 1),
    ("JSON_ARRAYAGG", AggregateKind::JsonArray, 1, 1),
    ("JSON_OBJECTAGG", AggregateKind::JsonObject, 2, 2),
];

impl Aggregate {
    /// There is an aggregate function of this name (any case).
    pub fn is_aggregate(name: &str) -> bool {
        find(name).is_some()
    }

    /// COUNT(*).
    pub fn count_rows() -> Aggregate {
        Aggregate {
            kind: AggregateKind::CountRows,
            arguments: Vec::new(),
            distinct: false,
            order_by: Vec::new(),
            separator: Vec::new(),
            sql_type: types::bigint(false, 21),
            nullable: false,
            coercibility: Coercibility::Numeric,
        }
    }

    /// `name([DISTINCT] arguments)`. Errors: no such aggregate (1305), wrong number of arguments (1582).
    pub fn new(name: &str, arguments: Vec<Expr>, distinct: bool, ctx: &BuildContext<'_>) -> Result<Aggregate> {
        let Some((_, kind, least, most)) = find(name) else {
            return Err(Error::new(ErrorCode::SpDoesNotExist, format!("FUNCTION {name} does not exist")));
        };
        let may_be_many = *kind != AggregateKind::Count || distinct;
        if !(*least..=*most).contains(&arguments.len()) || (arguments.len() > 1 && !may_be_many) {
            return Err(Error::new(
                ErrorCode::WrongParamcountToNativeFct,
                format!("Incorrect parameter count in the call to native function '{name}'"),
            ));
        }
        let mut aggregate = Aggregate {
            kind: *kind,
            arguments,
            distinct: distinct && !ignores_distinct(*kind),
            separator: b",".to_vec(),
            ..Aggregate::count_rows()
        };
        aggregate.derive(ctx)?;
        Ok(aggregate)
    }

    /// GROUP_CONCAT([DISTINCT] arguments [ORDER BY ..] [SEPARATOR ..]).
    pub fn group_concat(
        arguments: Vec<Expr>,
        distinct: bool,
        order_by: Vec<(Expr, bool)>,
        separator: Option<Vec<u8>>,
        ctx: &BuildContext<'_>,
    ) -> Result<Aggregate> {
        let mut aggregate = Aggregate::new("GROUP_CONCAT", arguments, distinct, ctx)?;
        aggregate.order_by = order_by;
        if let Some(separator) = separator {
            aggregate.separator = separator;
        }
        Ok(aggregate)
    }

    fn derive(&mut self, ctx: &BuildContext<'_>) -> Result<()> {
        let argument_type = self.arguments.first().map(|argument| argument.sql_type().clone()).unwrap_or_default();
        let class = types::number_class(&argument_type);
        let (precision, scale) = types::decimal_digits(&argument_type);
        let scale = u32::from(scale);
        self.nullable = true;
        match self.kind {
            AggregateKind::CountRows | AggregateKind::Count => {
                self.sql_type = types::bigint(false, 21);
                self.nullable = false;
            }
            AggregateKind::Sum => {
                self.sql_type = match class {
                    NumberClass::Double => double_like(&argument_type),
                    _ => types::decimal(precision + 22, scale),
                };
            }
            AggregateKind::Average => {
                let increment = u32::from(ctx.settings.div_precision_increment);
                self.sql_type = match class {
                    NumberClass::Double => {
                        let double = double_like(&argument_type);
                        let decimals = (u32::from(double.decimals) + increment).min(u32::from(DECIMALS_NOT_FIXED));
                        SqlType { decimals: decimals as u8, ..double }
                    }
                    _ => types::decimal(precision + increment, scale + increment),
                };
            }
            AggregateKind::Minimum | AggregateKind::Maximum | AggregateKind::AnyValue => {
                self.sql_type = SqlType { zerofill: false, ..argument_type };
                self.coercibility =
                    self.arguments.first().map_or(Coercibility::Numeric, |argument| argument.coercibility());
            }
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => {
                let is_bytes =
                    argument_type.is_binary_string() && !matches!(self.arguments.first(), Some(Expr::Literal(_)));
                self.sql_type = if is_bytes {
                    types::as_text(&argument_type, Collation::BINARY)
                } else {
                    types::bigint(true, 21)
                };
                self.nullable = false;
            }
            AggregateKind::DeviationPopulation
            | AggregateKind::DeviationSample
            | AggregateKind::VariancePopulation
            | AggregateKind::VarianceSample => self.sql_type = SqlType::double(),
            AggregateKind::JsonArray | AggregateKind::JsonObject => {
                self.sql_type = types::json();
                self.coercibility = Coercibility::Implicit;
            }
            AggregateKind::GroupConcat => self.derive_concat(ctx)?,
        }
        Ok(())
    }

    fn derive_concat(&mut self, ctx: &BuildContext<'_>) -> Result<()> {
        let connection = ctx.settings.collation_connection;
        let attributes = collate::for_result(self.arguments.iter(), "group_concat", connection)?;
        for argument in &mut self.arguments {
            convert_charset(argument, attributes.collation, "group_concat", ctx)?;
        }
        let bytes = attributes.collation.charset().char_bytes_max() as u64;
        let length = (ctx.settings.group_concat_max_len as u64 / bytes).max(1);
        self.sql_type = if length > 512 {
            let length = length.saturating_mul(bytes).min(u64::from(u32::MAX)) as u32;
            SqlType { length, collation: attributes.collation, ..SqlType::new(BaseType::Text) }
        } else {
            string_type(length, attributes.collation)
        };
        self.coercibility = attributes.coercibility;
        Ok(())
    }
}

fn double_like(argument: &SqlType) -> SqlType {
    let decimals = match argument.base {
        BaseType::Float | BaseType::Double => argument.decimals,
        _ => DECIMALS_NOT_FIXED,
    };
    SqlType { decimals, ..SqlType::double() }
}

/// DISTINCT changes nothing for these.
fn ignores_distinct(kind: AggregateKind) -> bool {
    matches!(
        kind,
        AggregateKind::Minimum
            | AggregateKind::Maximum
            | AggregateKind::AnyValue
            | AggregateKind::BitAnd
            | AggregateKind::BitOr
    )
}

fn find(name: &str) -> Option<&'static (&'static str, AggregateKind, usize, usize)> {
    NAMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}
