//! HANDLER: a table's rows one after the other, in the order of an index.
//!
//! What an open handler keeps is a name, a table, and the place of the row that was read last: its key in the index, with what keeps
//! rows apart whose columns are equal. Every READ is a scan that begins behind that place, with the conditions and columns of a plan
//! for `SELECT * FROM table WHERE ...`. A handler whose table is defined anew is closed.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::{Expr, NoRow};
use shoal_parser::ast::{self, HandlerMove, HandlerOperator, HandlerRead, Statement};
use shoal_txn::{KeyRange, ReadMode, ScanRequest, Visit};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, IndexMethod, Result, Value};

use crate::execute::ExecContext;
use crate::execute::fetch::{MappedRow, position_map};
use crate::execute::lookup::{key_of_values, prefix_range};
use crate::execute::memory::{Held, row_bytes};
use crate::execute::set_operation::evaluate_limit;
use crate::frontend::ResultSink;
use crate::plan::{Block, Input, QueryBody, QueryPlan, TableInput};
use crate::resolve::written::{plain_query, plain_select};
use crate::session::Session;
use crate::session::handlers::{At, OpenHandler, Place};
use crate::session::plans::{Plan, PlanKind};

/// What a READ scans.
struct Wanted {
    index: usize,
    range: KeyRange,
    descending: bool,
}

/// Runs a HANDLER statement and sends its result.
pub async fn run<S: ResultSink>(
    session: &mut Session,
    handler: &ast::Handler,
    more: bool,
    sink: &mut S,
) -> Result<()> {
    session.clear_conditions();
    match handler {
        ast::Handler::Open { table, alias } => open(session, table, alias.as_ref())?,
        ast::Handler::Close { table } => {
            let closed = session.handlers.remove(&table.name.value);
            closed.ok_or_else(|| unknown(&table.name.value))?;
        }
        ast::Handler::Read { table, read, selection, limit } => {
            let name = &table.name.value;
            return self::read(session, name, read, (selection.as_ref(), limit.as_ref()), more, sink).await;
        }
    }
    let summary = session.summary(0, 0, String::new(), more);
    sink.finish(&summary)
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorCode::UnknownTable, format!("Unknown table '{name}' in HANDLER"))
}

/// Errors: 1046, 1066, 1142, 1146; 1347, it is no base table.
fn open(session: &mut Session, name: &ast::ObjectName, alias: Option<&ast::Ident>) -> Result<()> {
    let shown = alias.unwrap_or(&name.name).value.clone();
    if session.handlers.contains_key(&shown) {
        let message = format!("Not unique table/alias: '{shown}'");
        return Err(Error::new(ErrorCode::NonUniqTable, message));
    }
    let database = match &name.schema {
        Some(schema) => schema.value.clone(),
        None => {
            session.state.database.clone().ok_or_else(|| Error::new(ErrorCode::NoDb, "No database selected"))?
        }
    };
    let catalog = session.catalog();
    if catalog.view(&database, &name.name.value).is_some() {
        let message = format!("'{database}.{}' is not BASE TABLE", name.name.value);
        return Err(Error::new(ErrorCode::WrongObject, message));
    }
    let known = catalog.table(&database, &name.name.value).cloned();
    let table = known.ok_or_else(|| crate::databases::no_such_table(&database, &name.name.value))?;
    let opened = OpenHandler { database, table, place: None };
    plan_of(session, &opened, &shown, &[], (None, None))?;
    session.handlers.insert(shown, opened);
    Ok(())
}

/// `SELECT *, values FROM table AS name USE INDEX () WHERE selection LIMIT limit`, checked for the session's account.
fn plan_of(
    session: &mut Session,
    opened: &OpenHandler,
    name: &str,
    values: &[ast::Expr],
    (selection, limit): (Option<&ast::Expr>, Option<&ast::Limit>),
) -> Result<Plan> {
    let table = ast::ObjectName {
        schema: Some(ast::Ident::new(&opened.database)),
        name: ast::Ident::new(opened.table.name()),
    };
    // No condition may be left to an access path: the handler has its own.
    let hint = ast::IndexHint { action: ast::IndexHintAction::Use, scope: None, indexes: Vec::new() };
    let alias = Some(ast::Ident::new(name));
    let base = ast::TableFactor::Table { name: table, partitions: Vec::new(), alias, hints: vec![hint] };
    let value =
        |value: &ast::Expr| ast::SelectItem::Expression { expr: value.clone(), alias: None, text: Vec::new() };
    let items = std::iter::once(ast::SelectItem::Wildcard).chain(values.iter().map(value)).collect();
    let from = vec![ast::TableReference { base, joins: Vec::new() }];
    let select = ast::Select { selection: selection.cloned(), ..plain_select(items, from) };
    let query = ast::Query { limit: limit.cloned(), ..plain_query(select) };
    let plan = session.make_plan(&Statement::Query(Box::new(query)), 0, Some(&[]))?;
    crate::account::check_plan(&session.asking(), &plan)?;
    Ok(plan)
}

/// Errors: 1109, no such handler; 1176, no such index; 1070, more values than it has columns; and those of WHERE.
async fn read<S: ResultSink>(
    session: &mut Session,
    name: &str,
    read: &HandlerRead,
    (selection, limit): (Option<&ast::Expr>, Option<&ast::Limit>),
    more: bool,
    sink: &mut S,
) -> Result<()> {
    let opened = session.handlers.remove(name).ok_or_else(|| unknown(name))?;
    let current = session.catalog().table(&opened.database, opened.table.name()).cloned();
    if !current.is_some_and(|current| Arc::ptr_eq(&current, &opened.table)) {
        return Err(unknown(name));
    }
    let mut opened = opened;
    let outcome = rows_of(session, &mut opened, name, read, (selection, limit)).await;
    session.handlers.insert(name.to_owned(), opened);
    let (plan, values, rows) = outcome?;
    let columns = &plan.columns()[..plan.columns().len() - values];
    session.send_rows(columns, &rows.rows, more, sink)
}

/// Rows that were read.
struct Found {
    rows: Vec<Vec<Value>>,
    place: Option<At>,
    _held: Held,
}

async fn rows_of(
    session: &mut Session,
    opened: &mut OpenHandler,
    name: &str,
    read: &HandlerRead,
    conditions: (Option<&ast::Expr>, Option<&ast::Limit>),
) -> Result<(Plan, usize, Found)> {
    let values = match read {
        HandlerRead::Key { values, .. } => &values[..],
        _ => &[],
    };
    let plan = plan_of(session, opened, name, values, conditions)?;
    let (block, input) = scan_of(&plan)?;
    session.begin_statement(false, true)?;
    let place = opened.place.clone();
    let outcome = session
        .with_context(&plan.tables, &[], false, async |ctx| {
            let wanted = wanted(read, &opened.table, place.as_ref(), block, ctx)?;
            let Some(wanted) = wanted else { return Ok(None) };
            Ok(Some((wanted.index, wanted.descending, scan(wanted, (block, input), values.len(), ctx).await?)))
        })
        .await;
    match &outcome {
        Ok(_) if !session.explicit_transaction => session.commit_statement(true).await?,
        Ok(_) => {}
        Err(error) => session.undo_statement(error, None),
    }
    let nothing = Found { rows: Vec::new(), place: None, _held: Held::new(&session.memory) };
    let Some((index, descending, mut found)) = outcome? else { return Ok((plan, values.len(), nothing)) };
    let end = if descending { At::Start } else { At::End };
    opened.place = Some(Place { index, at: found.place.take().unwrap_or(end) });
    Ok((plan, values.len(), found))
}

/// The only input of the plan. Errors: 1235, it has subqueries.
fn scan_of(plan: &Plan) -> Result<(&Block, &TableInput)> {
    let (PlanKind::Select { query, .. } | PlanKind::PointSelect { query, .. }) = &plan.kind else {
        return Err(Error::unsupported("this HANDLER statement"));
    };
    let QueryPlan { body: QueryBody::Block(block), constants, .. } = query else {
        return Err(Error::unsupported("this HANDLER statement"));
    };
    match &block.steps[..] {
        [step] if constants.is_empty() && block.subqueries.is_empty() => match &step.input {
            Input::Table(input) => Ok((block, input)),
            _ => Err(Error::unsupported("this HANDLER statement")),
        },
        _ => Err(Error::unsupported("a subquery in HANDLER")),
    }
}

/// What a READ scans; `None`: there is nothing where it looks.
fn wanted(
    read: &HandlerRead,
    table: &Table,
    place: Option<&Place>,
    block: &Block,
    ctx: &mut ExecContext<'_>,
) -> Result<Option<Wanted>> {
    let (index, to) = match read {
        HandlerRead::Scan(to) => (0, *to),
        HandlerRead::Index { index, to } => (index_of(table, index)?, *to),
        HandlerRead::Key { index, operator, values } => {
            let index = index_of(table, index)?;
            let values = &block.projection[block.visible - values.len()..block.visible];
            return key_range(table, index, *operator, values, ctx);
        }
    };
    if table.schema.indexes[index].method == IndexMethod::Hash {
        let message = format!("Table storage engine for '{}' doesn't have this option", table.name());
        return Err(Error::new(ErrorCode::IllegalHa, message));
    }
    let at = place.filter(|place| place.index == index).map(|place| &place.at);
    let all = KeyRange::default();
    let (range, descending) = match (to, at) {
        (HandlerMove::First, _) | (HandlerMove::Next, None | Some(At::Start)) => (all, false),
        (HandlerMove::Last, _) | (HandlerMove::Previous, None | Some(At::End)) => (all, true),
        (HandlerMove::Next, Some(At::End)) | (HandlerMove::Previous, Some(At::Start)) => return Ok(None),
        (HandlerMove::Next, Some(At::Row(entry))) => {
            let mut start = entry.clone();
            start.push(0);
            (KeyRange { start, end: Vec::new() }, false)
        }
        (HandlerMove::Previous, Some(At::Row(entry))) => {
            (KeyRange { start: Vec::new(), end: entry.clone() }, true)
        }
    };
    Ok(Some(Wanted { index, range, descending }))
}

/// Errors: 1176.
fn index_of(table: &Table, name: &ast::Ident) -> Result<usize> {
    let found = match name.is("PRIMARY") && !table.schema.has_hidden_key() {
        true => Some(0),
        false => table.schema.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(&name.value)),
    };
    found.filter(|&index| index > 0 || !table.schema.has_hidden_key()).ok_or_else(|| {
        let message = format!("Key '{}' doesn't exist in table '{}'", name.value, table.name());
        Error::new(ErrorCode::KeyDoesNotExist, message)
    })
}

fn key_range(
    table: &Table,
    index: usize,
    operator: HandlerOperator,
    values: &[Expr],
    ctx: &mut ExecContext<'_>,
) -> Result<Option<Wanted>> {
    let parts = table.keys[index].parts.len();
    if values.len() > parts {
        let message = format!("Too many key parts specified; max {parts} parts allowed");
        return Err(Error::new(ErrorCode::TooManyKeyParts, message));
    }
    let Some(key) = key_of_values(&table.keys[index], values, &NoRow, &mut ctx.eval)? else { return Ok(None) };
    let equal = prefix_range(key);
    let (range, descending) = match operator {
        HandlerOperator::Equal => (equal, false),
        HandlerOperator::GreaterOrEqual => (KeyRange { start: equal.start, end: Vec::new() }, false),
        HandlerOperator::Greater if equal.end.is_empty() => return Ok(None),
        HandlerOperator::Greater => (KeyRange { start: equal.end, end: Vec::new() }, false),
        HandlerOperator::LessOrEqual => (KeyRange { start: Vec::new(), end: equal.end }, true),
        HandlerOperator::Less => (KeyRange { start: Vec::new(), end: equal.start }, true),
    };
    Ok(Some(Wanted { index, range, descending }))
}

/// Reads rows until there are as many as LIMIT says: one without it.
async fn scan(
    wanted: Wanted,
    (block, input): (&Block, &TableInput),
    values: usize,
    ctx: &mut ExecContext<'_>,
) -> Result<Found> {
    let (offset, limit) = match &block.limit {
        Some(limit) => evaluate_limit(Some(limit), ctx)?,
        None => (0, Some(1)),
    };
    let mut found = Found { rows: Vec::new(), place: None, _held: Held::new(ctx.memory) };
    let (mut skipped, limit) = (0, limit.unwrap_or(u64::MAX));
    if limit == 0 || block.impossible {
        return Ok(found);
    }
    let step = &block.steps[0];
    let columns = position_map(&step.columns, block.width);
    let filters: Vec<&Expr> = step.filter.iter().chain(&block.filter).chain(&block.late_filter).collect();
    let shown = &block.projection[..block.visible - values];
    let entry_key = &input.table.entry_keys[wanted.index];
    let mut scan = ctx.transaction.scan(ScanRequest {
        table: Arc::clone(&input.table),
        index: wanted.index,
        ranges: vec![wanted.range],
        descending: wanted.descending,
        ordered: true,
        partition_key: None,
        mode: ReadMode { lock: None, wait: Default::default() },
        row_limit: (input.filter.is_none() && filters.is_empty()).then_some(limit.saturating_add(offset)),
    });
    loop {
        ctx.check_between_batches().await?;
        let ExecContext { transaction, eval, .. } = ctx;
        let mut visit = |row: RowRef<'_>| {
            if let Some(filter) = &input.filter
                && filter.eval_bool(&row, eval)? != Some(true)
            {
                return Ok(Visit::Skip);
            }
            let mapped = MappedRow { row, columns: &columns };
            for filter in &filters {
                if filter.eval_bool(&mapped, eval)? != Some(true) {
                    return Ok(Visit::Skip);
                }
            }
            if skipped < offset {
                skipped += 1;
                return Ok(Visit::Take);
            }
            let values = shown.iter().map(|column| column.eval(&mapped, eval)).collect::<Result<Vec<Value>>>()?;
            found._held.add(row_bytes(&values))?;
            found.rows.push(values);
            if (found.rows.len() as u64) < limit {
                return Ok(Visit::Take);
            }
            let mut entry = Vec::new();
            entry_key.append_from_row(row, &mut entry);
            found.place = Some(At::Row(entry));
            Ok(Visit::TakeAndStop)
        };
        if !scan.next(transaction, &mut visit).await? {
            return Ok(found);
        }
    }
}
