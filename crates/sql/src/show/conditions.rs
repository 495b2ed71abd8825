//! SHOW WARNINGS, SHOW ERRORS and their counts. They leave the conditions as they are.

use shoal_parser::ast;
use shoal_types::{Result, Value, WarningLevel};

use super::Listing;
use crate::frontend::ResultSink;
use crate::information_schema::row;
use crate::session::Session;

/// The conditions of the last statement that could raise any.
pub fn listing(session: &Session, errors_only: bool) -> Listing {
    let wanted = |level: WarningLevel| !errors_only || level == WarningLevel::Error;
    let rows = session.state.warnings.iter().enumerate().filter(|(_, warning)| wanted(warning.level)).map(
        |(index, warning)| {
            let level = match warning.level {
                WarningLevel::Note => "Note",
                WarningLevel::Warning => "Warning",
                WarningLevel::Error => "Error",
            };
            row![level, u64::from(session.state.errno_at(index)), &warning.message]
        },
    );
    Listing::new("Level v7!, Code u!, Message v512!", rows.collect())
}

pub fn count_listing(session: &Session, errors_only: bool) -> Listing {
    let errors = session.state.warnings.iter().filter(|warning| warning.level == WarningLevel::Error).count();
    let (name, count) = match errors_only {
        true => ("@@session.error_count U!", errors),
        false => ("@@session.warning_count U!", session.state.warning_count),
    };
    Listing::new(name, vec![row![count]])
}

pub async fn run<S: ResultSink>(
    session: &mut Session,
    errors_only: bool,
    limit: Option<&ast::Limit>,
    more: bool,
    sink: &mut S,
) -> Result<()> {
    let mut listing = listing(session, errors_only);
    if let Some(limit) = limit {
        let (skip, take) = evaluate(session, limit).await?;
        let rows = std::mem::take(&mut listing.rows);
        listing.rows = rows.into_iter().skip(skip).take(take).collect();
    }
    send(session, &listing, more, sink)
}

pub fn run_count<S: ResultSink>(session: &mut Session, errors_only: bool, more: bool, sink: &mut S) -> Result<()> {
    let listing = count_listing(session, errors_only);
    send(session, &listing, more, sink)
}

/// The statement itself has raised nothing, whatever it lists.
fn send<S: ResultSink>(session: &mut Session, listing: &Listing, more: bool, sink: &mut S) -> Result<()> {
    let count = std::mem::take(&mut session.state.warning_count);
    let sent = session.send_rows(&listing.columns, &listing.rows, more, sink);
    session.state.warning_count = count;
    sent
}

/// LIMIT's offset and count. Evaluating them must not touch the conditions that are to be shown.
pub(super) async fn evaluate(session: &mut Session, limit: &ast::Limit) -> Result<(usize, usize)> {
    let warnings = session.state.warnings.clone();
    let count = session.state.warning_count;
    let signalled = session.state.signalled.clone();
    let mut expressions = vec![limit.count.clone()];
    expressions.extend(limit.offset.clone());
    let values = session.evaluate(&expressions).await;
    session.state.warnings = warnings;
    session.state.warning_count = count;
    session.state.signalled = signalled;
    let values = values?;
    let number = |place: usize| -> Result<Option<usize>> {
        let Some((value, _)): Option<&(Value, _)> = values.get(place) else { return Ok(None) };
        Ok(Some(usize::try_from(crate::execute::limit_value(value)?).unwrap_or(usize::MAX)))
    };
    Ok((number(1)?.unwrap_or(0), number(0)?.unwrap_or(usize::MAX)))
}
