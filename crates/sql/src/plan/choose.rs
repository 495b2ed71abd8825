//! Choosing how a table is reached: conjuncts become equalities and ranges over the leading parts of an index.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::{Comparator, CompareOperator, Expr, Operation};
use shoal_parser::ast::{IndexHint, IndexHintAction};
use shoal_types::key::KeyPart;
use shoal_types::{BaseType, IndexMethod};

use super::{AccessPath, ColumnRange, PartAccess, RangeBound};

/// A conjunct that bounds one column of the table.
pub struct Bound {
    /// Column of the table.
    pub column: usize,
    pub kind: BoundKind,
    /// The expression reads columns of other inputs.
    pub reads_row: bool,
}

pub enum BoundKind {
    Equal {
        alternatives: Vec<Expr>,
        null_safe: bool,
    },
    Low(Expr, bool),
    High(Expr, bool),
    /// A disjunction of ranges.
    Ranges(Vec<ColumnRange>),
    Prefix(Expr),
    Null,
    NotNull,
}

/// What there is to choose with.
pub struct ChooseRequest<'a> {
    pub table: &'a Arc<Table>,
    pub bounds: &'a [Bound],
    pub hints: &'a [IndexHint],
    pub rows: u64,
    /// Columns (of the table) and directions that the result is to be sorted by, if an index may do it.
    pub wanted_order: &'a [(usize, bool)],
    pub has_limit: bool,
    pub uses_invisible: bool,
}

/// Finds the bounds in a conjunct. `first` is the virtual position of the table's first column, `known` tells whether a
/// position is available when the table is read.
pub fn find_bounds(
    conjunct: &Expr,
    table: &Table,
    first: usize,
    known: &dyn Fn(usize) -> bool,
    bounds: &mut Vec<Bound>,
) {
    let Expr::Call(call) = conjunct else { return };
    let own = |expression: &Expr| {
        let position = expression.as_column()?.checked_sub(first)?;
        let column = table.schema.columns.get(position)?;
        // What the column of a multi-valued key part keeps is no value to compare with.
        column.array_of.is_none().then_some(position)
    };
    let usable = |expression: &Expr| {
        expression.is_deterministic() && expression.columns_used().iter().all(|&position| known(position))
    };
    let reads_row = |expression: &Expr| !expression.columns_used().is_empty();
    match &call.operation {
        Operation::Compare(operator, comparator) => {
            let sides = [
                (&call.arguments[0], &call.arguments[1], *operator),
                (&call.arguments[1], &call.arguments[0], operator.mirrored()),
            ];
            for (column, value, operator) in sides {
                let Some(position) = own(column) else { continue };
                if !usable(value) || !fits(table, position, *comparator, operator) {
                    continue;
                }
                let kind = match operator {
                    CompareOperator::Equal => {
                        BoundKind::Equal { alternatives: vec![value.clone()], null_safe: false }
                    }
                    CompareOperator::NullSafeEqual => {
                        BoundKind::Equal { alternatives: vec![value.clone()], null_safe: true }
                    }
                    CompareOperator::Less => BoundKind::High(value.clone(), false),
                    CompareOperator::LessOrEqual => BoundKind::High(value.clone(), true),
                    CompareOperator::Greater => BoundKind::Low(value.clone(), false),
                    CompareOperator::GreaterOrEqual => BoundKind::Low(value.clone(), true),
                    CompareOperator::NotEqual => continue,
                };
                bounds.push(Bound { column: position, kind, reads_row: reads_row(value) });
            }
        }
        Operation::Between { negated: false, low, high } => {
            let Some(position) = own(&call.arguments[0]) else { return };
            let [_, low_value, high_value] = &call.arguments[..] else { return };
            let mut add = |value: &Expr, comparator: Comparator, kind: BoundKind| {
                if usable(value) && fits(table, position, comparator, CompareOperator::Less) {
                    bounds.push(Bound { column: position, kind, reads_row: reads_row(value) });
                }
            };
            add(low_value, *low, BoundKind::Low(low_value.clone(), true));
            add(high_value, *high, BoundKind::High(high_value.clone(), true));
        }
        Operation::In { negated: false, comparators } => {
            let Some(position) = own(&call.arguments[0]) else { return };
            let list = &call.arguments[1..];
            let fit =
                comparators.iter().all(|comparator| fits(table, position, *comparator, CompareOperator::Equal));
            if fit && list.iter().all(usable) {
                let reads_row = list.iter().any(reads_row);
                let kind = BoundKind::Equal { alternatives: list.to_vec(), null_safe: false };
                bounds.push(Bound { column: position, kind, reads_row });
            }
        }
        Operation::OfElements => {
            let [_, column, elements @ ..] = &call.arguments[..] else { return };
            let position = column.as_column().and_then(|position| position.checked_sub(first));
            let Some(position) = position.filter(|&position| position < table.schema.columns.len()) else {
                return;
            };
            if elements.iter().all(usable) {
                let reads_row = elements.iter().any(reads_row);
                let kind = BoundKind::Equal { alternatives: elements.to_vec(), null_safe: false };
                bounds.push(Bound { column: position, kind, reads_row });
            }
        }
        Operation::Or => {
            if let Some((position, ranges, reads_row)) = disjunction(&call.arguments, table, first, known) {
                bounds.push(Bound { column: position, kind: BoundKind::Ranges(ranges), reads_row });
            }
        }
        Operation::IsNull { negated } => {
            if let Some(position) = own(&call.arguments[0]) {
                let kind = if *negated { BoundKind::NotNull } else { BoundKind::Null };
                bounds.push(Bound { column: position, kind, reads_row: false });
            }
        }
        Operation::Like { negated: false, collation } => {
            let Some(position) = own(&call.arguments[0]) else { return };
            let column = &table.schema.columns[position].sql_type;
            let plain = matches!(column.base, BaseType::Char | BaseType::VarChar | BaseType::Text);
            if call.arguments.len() == 2
                && plain
                && column.collation == *collation
                && usable(&call.arguments[1])
                && call.arguments[1].sql_type().is_string()
            {
                let kind = BoundKind::Prefix(call.arguments[1].clone());
                bounds.push(Bound { column: position, kind, reads_row: reads_row(&call.arguments[1]) });
            }
        }
        _ => {}
    }
}

/// Alternatives that all bound one and the same column: (column, ranges, whether some bound reads the row).
fn disjunction(
    alternatives: &[Expr],
    table: &Table,
    first: usize,
    known: &dyn Fn(usize) -> bool,
) -> Option<(usize, Vec<ColumnRange>, bool)> {
    let mut column = None;
    let mut ranges = Vec::with_capacity(alternatives.len());
    let mut reads_row = false;
    for alternative in alternatives {
        let mut bounds = Vec::new();
        find_bounds(alternative, table, first, known, &mut bounds);
        let bounded = bounds.first()?.column;
        if *column.get_or_insert(bounded) != bounded || bounds.iter().any(|bound| bound.column != bounded) {
            return None;
        }
        let mut range = ColumnRange { low: None, high: None };
        for bound in bounds {
            reads_row |= bound.reads_row;
            match bound.kind {
                BoundKind::Low(value, inclusive) => range.low = Some(RangeBound { value, inclusive }),
                BoundKind::High(value, inclusive) => range.high = Some(RangeBound { value, inclusive }),
                BoundKind::Equal { alternatives, null_safe: false } => {
                    for value in alternatives {
                        let bound = RangeBound { value, inclusive: true };
                        ranges.push(ColumnRange { low: Some(bound.clone()), high: Some(bound) });
                    }
                }
                BoundKind::Ranges(more) => ranges.extend(more),
                _ => return None,
            }
        }
        if range.low.is_some() || range.high.is_some() {
            ranges.push(range);
        }
    }
    Some((column?, ranges, reads_row))
}

/// The order of the column's keys is the order in which the comparison sees its values.
fn fits(table: &Table, position: usize, comparator: Comparator, operator: CompareOperator) -> bool {
    let sql_type = &table.schema.columns[position].sql_type;
    let equality = matches!(operator, CompareOperator::Equal | CompareOperator::NullSafeEqual);
    match sql_type.base {
        BaseType::TinyInt
        | BaseType::SmallInt
        | BaseType::MediumInt
        | BaseType::Int
        | BaseType::BigInt
        | BaseType::Year
        | BaseType::Bit => matches!(comparator, Comparator::Integer | Comparator::Decimal | Comparator::Double),
        BaseType::Decimal => matches!(comparator, Comparator::Integer | Comparator::Decimal),
        BaseType::Float | BaseType::Double => comparator == Comparator::Double,
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => comparator == Comparator::DateTime,
        BaseType::Time => comparator == Comparator::Time,
        BaseType::Char | BaseType::VarChar | BaseType::Text => comparator == Comparator::Text(sql_type.collation),
        // Where the empty string is a member, it is equal to two keys: the member's, and that of values which are none.
        BaseType::Enum
            if sql_type.labels.iter().flat_map(|labels| labels.iter()).any(|label| label.is_empty()) =>
        {
            false
        }
        BaseType::Enum | BaseType::Set => {
            equality && matches!(comparator, Comparator::Text(collation) if collation == sql_type.collation)
        }
        BaseType::Null | BaseType::Json | BaseType::Geometry => false,
    }
}

/// The rows of a constant path all satisfy the conjunct, so it need not be tested again: it is about an integer column, whose
/// keys tell everything, and constants of integer type. `first` is the position of the table's first column.
pub fn is_decided(conjunct: &Expr, path: &AccessPath, table: &Table, first: usize) -> bool {
    let parts = table.keys[path.index].parts.iter().zip(&path.parts);
    parts.filter(|(part, _)| part.sql_type.is_int()).any(|(part, access)| {
        let Some(ranges) = integer_ranges(conjunct, first + part.column) else { return false };
        match (access, &ranges[..]) {
            (PartAccess::Equal { alternatives, null_safe: false }, _) => {
                let point = |value: &Expr| {
                    let bound = Some(RangeBound { value: value.clone(), inclusive: true });
                    ColumnRange { low: bound.clone(), high: bound }
                };
                alternatives.len() == ranges.len() && alternatives.iter().map(point).eq(ranges)
            }
            (PartAccess::Range { low, high }, [range]) => {
                (range.low.is_none() || range.low == *low) && (range.high.is_none() || range.high == *high)
            }
            (PartAccess::Ranges(known), _) => *known == ranges,
            _ => false,
        }
    })
}

/// A conjunct that says nothing but that a column lies in some of these ranges, in the order in which `find_bounds` finds them.
fn integer_ranges(conjunct: &Expr, column: usize) -> Option<Vec<ColumnRange>> {
    let Expr::Call(call) = conjunct else { return None };
    let is_column = |side: &Expr| side.as_column() == Some(column);
    let bound = |value: &Expr, inclusive: bool| {
        value.sql_type().is_int().then(|| RangeBound { value: value.clone(), inclusive })
    };
    let point = |value: &Expr| {
        let bound = bound(value, true)?;
        Some(ColumnRange { low: Some(bound.clone()), high: Some(bound) })
    };
    match (&call.operation, &call.arguments[..]) {
        (Operation::Compare(operator, _), [left, right]) => {
            let (value, operator) = match (is_column(left), is_column(right)) {
                (true, false) => (right, *operator),
                (false, true) => (left, operator.mirrored()),
                _ => return None,
            };
            let range = match operator {
                CompareOperator::Equal => point(value)?,
                CompareOperator::Less => ColumnRange { low: None, high: Some(bound(value, false)?) },
                CompareOperator::LessOrEqual => ColumnRange { low: None, high: Some(bound(value, true)?) },
                CompareOperator::Greater => ColumnRange { low: Some(bound(value, false)?), high: None },
                CompareOperator::GreaterOrEqual => ColumnRange { low: Some(bound(value, true)?), high: None },
                CompareOperator::NullSafeEqual | CompareOperator::NotEqual => return None,
            };
            Some(vec![range])
        }
        (Operation::Between { negated: false, .. }, [value, low, high]) if is_column(value) => {
            Some(vec![ColumnRange { low: Some(bound(low, true)?), high: Some(bound(high, true)?) }])
        }
        (Operation::In { negated: false, .. }, [value, list @ ..]) if is_column(value) => {
            list.iter().map(point).collect()
        }
        (Operation::Or, alternatives) => {
            let ranges: Option<Vec<_>> =
                alternatives.iter().map(|alternative| integer_ranges(alternative, column)).collect();
            Some(ranges?.concat())
        }
        _ => None,
    }
}

/// The indexes of a table that bounds could use, for EXPLAIN.
pub fn possible_keys(table: &Table, bounds: &[Bound], uses_invisible: bool) -> Vec<usize> {
    let leads = |index: &&shoal_types::Index| {
        (uses_invisible || !index.invisible)
            && !index.building
            && index.columns.first().is_some_and(|part| bounds.iter().any(|bound| bound.column == part.column))
    };
    (0..table.schema.indexes.len()).filter(|&position| leads(&&table.schema.indexes[position])).collect()
}

/// The best way into the table.
pub fn choose(request: &ChooseRequest<'_>) -> AccessPath {
    let mut best: Option<(u64, AccessPath)> = None;
    for index in 0..request.table.schema.indexes.len() {
        if !allowed(request, index) {
            continue;
        }
        let Some((cost, path)) = consider(request, index) else { continue };
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, path));
        }
    }
    let mut path = match best {
        Some((_, path)) => path,
        None => AccessPath { estimated_rows: request.rows.max(1), ..AccessPath::full() },
    };
    path.pruning = pruning(request);
    path
}

fn allowed(request: &ChooseRequest<'_>, index: usize) -> bool {
    let definition = &request.table.schema.indexes[index];
    if definition.building || definition.invisible && !request.uses_invisible {
        return false;
    }
    let mut restricted = false;
    let mut named = false;
    for hint in request.hints {
        let lists = hint.indexes.iter().any(|name| name.is(&definition.name));
        match hint.action {
            IndexHintAction::Ignore if lists => return false,
            IndexHintAction::Ignore => {}
            IndexHintAction::Use | IndexHintAction::Force => {
                restricted = true;
                named |= lists;
            }
        }
    }
    !restricted || named
}

/// Rows that an equality on one column of a non-unique index leaves, as a share of the table.
const EQUALITY_SHARE: u64 = 200;
/// The same for a range bounded on both sides, and on one.
const CLOSED_RANGE_SHARE: u64 = 50;
const OPEN_RANGE_SHARE: u64 = 3;

fn consider(request: &ChooseRequest<'_>, index: usize) -> Option<(u64, AccessPath)> {
    let table = request.table;
    let definition = &table.schema.indexes[index];
    let spec = &table.keys[index];
    let mut path = AccessPath { index, ..AccessPath::default() };
    let mut rows = request.rows.max(1);
    let mut equal_parts = 0;
    for part in &spec.parts {
        let Some(access) = equality(request.bounds, part) else { break };
        path.depends_on_row |= access.1;
        let alternatives = match &access.0 {
            PartAccess::Equal { alternatives, .. } => alternatives.len() as u64,
            _ => 1,
        };
        rows = (rows / EQUALITY_SHARE).max(1).saturating_mul(alternatives.max(1));
        path.parts.push(access.0);
        equal_parts += 1;
        if part.prefix_length > 0 {
            break;
        }
    }
    let complete = equal_parts == spec.parts.len()
        && spec.parts.iter().all(|part| part.prefix_length == 0)
        && path.parts.iter().all(|part| matches!(part, PartAccess::Equal { null_safe: false, .. }));
    path.unique = complete && definition.unique && !path.may_repeat_rows(table);
    if path.unique {
        path.estimated_rows = alternatives(&path);
        let second_trip = u64::from(index != 0);
        return Some((path.estimated_rows * 2 + second_trip, path));
    }
    if definition.method == IndexMethod::Hash {
        return None;
    }
    if equal_parts < spec.parts.len()
        && !path.depends_on_row
        && !ends_in_prefix(spec.parts.get(equal_parts.wrapping_sub(1)))
    {
        let part = &spec.parts[equal_parts];
        if let Some((access, share)) = range(request.bounds, part) {
            rows = (rows / share).max(1);
            path.parts.push(access);
        }
    }
    // Rows whose arrays are empty are not in the index.
    let elements = spec.parts.iter().position(|part| part.multi_valued);
    let misses_rows = elements.is_some_and(|place| path.parts.len() <= place);
    if misses_rows || path.depends_on_row && path.may_repeat_rows(table) {
        return None;
    }
    let in_order = order_matches(request, index, equal_parts, &path);
    if path.parts.is_empty() && !(in_order.is_some() && request.has_limit) {
        return None;
    }
    if path.parts.is_empty() && forced(request, index).is_none() && !request.has_limit {
        return None;
    }
    path.estimated_rows = rows;
    let mut cost = rows.saturating_mul(if index == 0 { 3 } else { 4 }) + 2;
    if let Some(descending) = in_order {
        path.ordered = true;
        path.descending = descending;
        cost = if request.has_limit { cost / 2 } else { cost.saturating_sub(1) };
    }
    if forced(request, index).is_some() {
        cost /= 1000;
    }
    Some((cost, path))
}

fn forced(request: &ChooseRequest<'_>, index: usize) -> Option<()> {
    let name = &request.table.schema.indexes[index].name;
    request
        .hints
        .iter()
        .any(|hint| hint.action == IndexHintAction::Force && hint.indexes.iter().any(|hinted| hinted.is(name)))
        .then_some(())
}

fn ends_in_prefix(part: Option<&KeyPart>) -> bool {
    part.is_some_and(|part| part.prefix_length > 0)
}

/// Lookups that one evaluation of the path makes.
fn alternatives(path: &AccessPath) -> u64 {
    path.parts.iter().fold(1, |product, part| match part {
        PartAccess::Equal { alternatives, .. } => product.saturating_mul(alternatives.len() as u64),
        _ => product,
    })
}

fn equality(bounds: &[Bound], part: &KeyPart) -> Option<(PartAccess, bool)> {
    let mut found: Option<&Bound> = None;
    for bound in bounds.iter().filter(|bound| bound.column == part.column) {
        let better = match (&bound.kind, found.map(|found| &found.kind)) {
            (BoundKind::Equal { .. } | BoundKind::Null, None) => true,
            (BoundKind::Equal { alternatives, .. }, Some(BoundKind::Equal { alternatives: known, .. })) => {
                alternatives.len() < known.len()
            }
            _ => false,
        };
        if better {
            found = Some(bound);
        }
    }
    let bound = found?;
    let access = match &bound.kind {
        BoundKind::Equal { alternatives, null_safe } => {
            PartAccess::Equal { alternatives: alternatives.clone(), null_safe: *null_safe }
        }
        BoundKind::Null if part.nullable => PartAccess::Null,
        _ => return None,
    };
    Some((access, bound.reads_row))
}

fn range(bounds: &[Bound], part: &KeyPart) -> Option<(PartAccess, u64)> {
    let mut low = None;
    let mut high = None;
    let mut prefix = None;
    let mut any = None;
    let mut not_null = false;
    for bound in bounds.iter().filter(|bound| bound.column == part.column && !bound.reads_row) {
        match &bound.kind {
            BoundKind::Low(value, inclusive) => {
                low = Some(RangeBound { value: value.clone(), inclusive: *inclusive })
            }
            BoundKind::High(value, inclusive) => {
                high = Some(RangeBound { value: value.clone(), inclusive: *inclusive })
            }
            BoundKind::Prefix(pattern) => prefix = Some(pattern.clone()),
            BoundKind::NotNull => not_null = true,
            BoundKind::Ranges(ranges) => any = Some(ranges.clone()),
            _ => {}
        }
    }
    if let (None, None, None, Some(ranges)) = (&low, &high, &prefix, any) {
        let share = (CLOSED_RANGE_SHARE / ranges.len() as u64).max(OPEN_RANGE_SHARE);
        return Some((PartAccess::Ranges(ranges), share));
    }
    match (low, high, prefix) {
        (None, None, Some(pattern)) => Some((PartAccess::Prefix(pattern), CLOSED_RANGE_SHARE)),
        (None, None, None) => (not_null && part.nullable).then_some((PartAccess::NotNull, 1)),
        (low, high, _) => {
            let share = if low.is_some() && high.is_some() { CLOSED_RANGE_SHARE } else { OPEN_RANGE_SHARE };
            Some((PartAccess::Range { low, high }, share))
        }
    }
}

/// The index yields rows in the wanted order; `Some(true)`: read backwards.
fn order_matches(
    request: &ChooseRequest<'_>,
    index: usize,
    equal_parts: usize,
    path: &AccessPath,
) -> Option<bool> {
    if request.wanted_order.is_empty() || alternatives(path) != 1 {
        return None;
    }
    let definition = &request.table.schema.indexes[index];
    let fixed = |column: usize| definition.columns[..equal_parts].iter().any(|part| part.column == column);
    let mut rest = definition.columns[equal_parts..].iter();
    let mut backwards = None;
    for &(column, descending) in request.wanted_order.iter().filter(|(column, _)| !fixed(*column)) {
        let part = rest.next()?;
        if part.column != column || part.prefix_length > 0 {
            return None;
        }
        let opposite = part.descending != descending;
        if *backwards.get_or_insert(opposite) != opposite {
            return None;
        }
    }
    Some(backwards.unwrap_or(false))
}

fn pruning(request: &ChooseRequest<'_>) -> Option<Vec<Expr>> {
    let schema = &request.table.schema;
    let single = |column: &usize| {
        request.bounds.iter().find_map(|bound| match &bound.kind {
            BoundKind::Equal { alternatives, null_safe: false }
                if bound.column == *column && alternatives.len() == 1 =>
            {
                Some(alternatives[0].clone())
            }
            _ => None,
        })
    };
    if schema.partition_columns.is_empty() {
        return None;
    }
    schema.partition_columns.iter().map(single).collect()
}
