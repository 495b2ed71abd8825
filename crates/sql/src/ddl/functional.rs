//! Functional key parts, `INDEX ((expression))`.
//!
//! Each is a hidden VIRTUAL column behind those that users know, which has the expression's type and belongs to its index alone: it
//! comes and goes with it. Such a column may always be NULL, so that no index over one stores the rows. Queries find it by its
//! expression (`resolve/functional.rs`).

use shoal_expr::Expr;
use shoal_parser::ast::KeyKind;
use shoal_types::schema::FUNCTIONAL_COLUMN_PREFIX;
use shoal_types::{BaseType, Column, Error, ErrorCode, Result, SqlType, TableSchema};

use super::draft::{DraftColumn, TableDraft};
use super::{defaults, multi_valued};
use crate::frontend::ColumnFlags;
use crate::resolve::scope::{ScopeColumn, ScopeTable};
use crate::session::Session;

/// The name of an index without one whose first part is an expression.
const INDEX_NAME: &str = "functional_index";
const VARCHAR_BYTES_MAX: u64 = 65_535;

/// Errors: 3756, 3759, 3760: keys of this kind have no functional parts.
pub fn check_kind(kind: KeyKind) -> Result<()> {
    let (code, message) = match kind {
        KeyKind::Unique | KeyKind::Index => return Ok(()),
        KeyKind::Primary => (ErrorCode::FunctionalIndexPrimaryKey, "The primary key cannot be a functional index"),
        KeyKind::FullText => (ErrorCode::FulltextFunctionalIndex, "Fulltext functional index is not supported."),
        KeyKind::Spatial => (ErrorCode::SpatialFunctionalIndex, "Spatial functional index is not supported."),
    };
    Err(Error::new(code, message))
}

/// Columns of functional parts go with their index.
pub fn drop_unused(draft: &mut TableDraft) {
    let keys = &draft.keys;
    let is_used = |name: &str| keys.iter().any(|key| key.parts.iter().any(|part| part.column == name));
    draft.columns.retain(|draft| !draft.column.hidden || is_used(&draft.column.name));
}

/// Gives functional parts their columns. `old`: the table that is altered; its functional columns follow the types of those that they
/// read. Errors: 1054, 3753 to 3762.
pub fn complete(session: &Session, draft: &mut TableDraft, old: Option<&TableSchema>) -> Result<()> {
    name_keys(draft);
    if old.is_some_and(|old| types_change(draft, old)) {
        derive_anew(session, draft)?;
    }
    let mut added: Vec<Column> = Vec::new();
    for key in 0..draft.keys.len() {
        for part in 0..draft.keys[key].parts.len() {
            let Some(text) = draft.keys[key].parts[part].expression.take() else { continue };
            let index = draft.keys[key].name.clone().unwrap_or_default();
            let array_of = multi_valued::element_type(&text)?;
            if array_of.is_some() {
                multi_valued::check_part(draft, &draft.keys[key], part, &added)?;
            }
            let sql_type = type_of(session, draft, &text, &index, array_of.is_some())?;
            if let Some(name) = computed_before(draft, &text, &sql_type, array_of.as_ref()) {
                draft.keys[key].parts[part].column = name;
                continue;
            }
            let column = Column {
                nullable: true,
                invisible: true,
                hidden: true,
                generated: Some((text, false)),
                array_of,
                ..Column::new(free_name(draft, &added, &index, part), sql_type)
            };
            draft.keys[key].parts[part].column = column.name.clone();
            added.push(column);
        }
    }
    drop_unused(draft);
    let made = |column| DraftColumn { column, origin: None, null_written: false };
    draft.columns.extend(added.into_iter().map(made));
    Ok(())
}

/// The column of the same expression that the statement has had computed for an index which it takes over.
fn computed_before(
    draft: &TableDraft,
    text: &str,
    sql_type: &SqlType,
    array_of: Option<&SqlType>,
) -> Option<String> {
    let is_used = |name: &str| draft.keys.iter().any(|key| key.parts.iter().any(|part| part.column == name));
    let is_it = |column: &&Column| {
        column.is_functional()
            && column.generated.as_ref().is_some_and(|(known, _)| known == text)
            && column.sql_type == *sql_type
            && column.array_of.as_ref() == array_of
            && !is_used(&column.name)
    };
    draft.columns.iter().map(|draft| &draft.column).find(is_it).map(|column| column.name.clone())
}

/// Names are part of messages and of the columns' names, so they come first.
fn name_keys(draft: &mut TableDraft) {
    for key in 0..draft.keys.len() {
        let is_first_functional = draft.keys[key].parts.first().is_some_and(|part| part.expression.is_some());
        let is_functional = draft.keys[key].parts.iter().any(|part| part.expression.is_some());
        if draft.keys[key].name.is_some() || !is_functional {
            continue;
        }
        let base = match is_first_functional {
            true => INDEX_NAME.to_owned(),
            false => draft.keys[key].parts[0].column.clone(),
        };
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| draft.key_position(name).is_none());
        draft.keys[key].name = name;
    }
}

fn free_name(draft: &TableDraft, added: &[Column], index: &str, part: usize) -> String {
    let is_free = |name: &String| {
        draft.column_position(name).is_none() && added.iter().all(|column| !column.name.eq_ignore_ascii_case(name))
    };
    let names = (0..).map(|counter| {
        // Within the limit of names whatever the index is called.
        let index: String = index.chars().take(45).collect();
        format!("{FUNCTIONAL_COLUMN_PREFIX}{index}!{part}!{counter}")
    });
    names.into_iter().find(is_free).unwrap_or_default()
}

/// Some column that stays gets another type.
fn types_change(draft: &TableDraft, old: &TableSchema) -> bool {
    let shown = &draft.columns[..draft.shown_columns()];
    shown.iter().any(|draft| draft.origin.is_some_and(|at| old.columns[at].sql_type != draft.column.sql_type))
}

fn derive_anew(session: &Session, draft: &mut TableDraft) -> Result<()> {
    for position in draft.shown_columns()..draft.columns.len() {
        let column = &draft.columns[position].column;
        let Some((text, _)) = &column.generated else { continue };
        let name = &column.name;
        let index = draft.keys.iter().find(|key| key.parts.iter().any(|part| part.column == *name));
        let index = index.and_then(|key| key.name.as_deref()).unwrap_or_default();
        let sql_type = type_of(session, draft, text, index, column.array_of.is_some())?;
        draft.columns[position].column.sql_type = sql_type;
    }
    Ok(())
}

/// The type of a functional part over the draft's columns. Errors: 1054, 3753, 3757, 3758, 3761, 3762.
fn type_of(
    session: &Session,
    draft: &TableDraft,
    text: &str,
    index: &str,
    is_multi_valued: bool,
) -> Result<SqlType> {
    let expression = defaults::with_resolver(session, |resolver| {
        resolver.open_block();
        resolver.scope().add_table(scope_of(draft))?;
        resolver.functional_part(text, index)
    })?;
    if is_multi_valued {
        return Ok(multi_valued::stored_type());
    }
    if matches!(expression, Expr::Column(_)) {
        let message = "Functional index on a column is not supported. Consider using a regular index instead.";
        return Err(Error::new(ErrorCode::FunctionalIndexOnField, message));
    }
    let sql_type = expression.sql_type();
    let bytes = u64::from(sql_type.length) * sql_type.collation.charset().char_bytes_max() as u64;
    match sql_type.base {
        BaseType::Json | BaseType::Geometry => {
            let message = "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.";
            Err(Error::new(ErrorCode::FunctionalIndexOnJson, message))
        }
        BaseType::Text => Err(returns_lob()),
        BaseType::VarChar | BaseType::Char if bytes > VARCHAR_BYTES_MAX => Err(returns_lob()),
        BaseType::Null => {
            let message = format!("The used storage engine cannot index the expression '{text}'.");
            Err(Error::new(ErrorCode::FunctionalIndexWrongColumn, message))
        }
        BaseType::Decimal => Ok(SqlType {
            length: sql_type.length.clamp(1, 65),
            decimals: sql_type.decimals.min(30),
            ..sql_type.clone()
        }),
        _ => Ok(sql_type.clone()),
    }
}

fn returns_lob() -> Error {
    let message = "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    Error::new(ErrorCode::FunctionalIndexOnLob, message)
}

/// The draft's columns that users know, as a table in sight.
fn scope_of(draft: &TableDraft) -> ScopeTable {
    let shown = draft.columns.iter().take(draft.shown_columns());
    let columns = shown.map(|draft| ScopeColumn {
        name: draft.column.name.clone(),
        original: draft.column.name.clone(),
        sql_type: draft.column.sql_type.clone(),
        nullable: draft.column.nullable,
        hidden: false,
        merged: false,
        flags: ColumnFlags::default(),
    });
    ScopeTable {
        name: draft.name.clone(),
        database: draft.database.clone(),
        original: draft.name.clone(),
        columns: columns.collect(),
        first: 0,
        base: None,
        nullable: false,
        dependences: Vec::new(),
    }
}
