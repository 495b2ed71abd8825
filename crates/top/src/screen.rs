//! The state on a terminal's screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Sparkline, Table, TableState};

use crate::digests::DIGEST_COLUMNS;
use crate::keys::{Action, DIGESTS_HELP, HELP, View};
use crate::once::session_cells;
use crate::state::{NODE_COLUMNS, SESSION_COLUMNS, State};

const WARNINGS_MAX: usize = 4;
const WAITS_MAX: usize = 3;

pub fn draw(frame: &mut Frame<'_>, state: &State, view: &mut View) {
    let warnings = state.warnings.iter().filter(|warning| warning.severity != "info").take(WARNINGS_MAX).count();
    let waits = state.waits.len().min(WAITS_MAX);
    let [title, rates, above, nodes, between, statements, below] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(warnings as u16),
        Constraint::Length(state.nodes.len().min(16) as u16 + 1),
        Constraint::Length(waits as u16),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let failure = state.failure.as_ref().map(|error| format!("  NOT NEW: {error}"));
    let heading = Line::from(vec![
        Span::from(state.title.as_str()).bold(),
        Span::from(failure.unwrap_or_default()).fg(Color::Red),
    ]);
    frame.render_widget(heading, title);
    draw_rates(frame, state, rates);
    let warned = state.warnings.iter().filter(|warning| warning.severity != "info").take(WARNINGS_MAX);
    let warned = warned.map(|warning| {
        let colour = if warning.severity == "critical" { Color::Red } else { Color::Yellow };
        Line::from(vec![
            Span::from(format!("! {}  ", warning.text)).fg(colour),
            Span::from(warning.advice.as_str()),
        ])
    });
    frame.render_widget(Paragraph::new(warned.collect::<Vec<_>>()), above);
    draw_nodes(frame, state, nodes);
    let waiting = state.waits.iter().take(WAITS_MAX).map(|wait| Line::from(wait.as_str()).fg(Color::Yellow));
    frame.render_widget(Paragraph::new(waiting.collect::<Vec<_>>()), between);
    match view.shows_digests {
        true => draw_digests(frame, state, view, statements),
        false => draw_statements(frame, state, view, statements),
    }
    frame.render_widget(last_line(view), below);
}

fn draw_rates(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let now = state.rates.last().copied().unwrap_or(0);
    let most = state.rates.iter().copied().max().unwrap_or(0);
    let text = format!("{now} statements/s\nat most {most}");
    let [left, right] = Layout::horizontal([Constraint::Length(24), Constraint::Min(10)]).areas(area);
    frame.render_widget(Paragraph::new(text), left);
    let from = state.rates.len().saturating_sub(usize::from(right.width));
    frame.render_widget(
        Sparkline::default().data(&state.rates[from..]).max(most.max(1)).style(Style::new().fg(Color::Cyan)),
        right,
    );
}

fn header(columns: &[&'static str]) -> Row<'static> {
    Row::new(columns.iter().map(|name| Cell::from(*name))).style(Style::new().add_modifier(Modifier::REVERSED))
}

fn draw_nodes(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rows = state.nodes.iter().map(|node| {
        let style = if node.is_well { Style::new() } else { Style::new().fg(Color::Red) };
        Row::new(node.cells.iter().map(|cell| Cell::from(cell.as_str()))).style(style)
    });
    let widths = [4, 12, 16, 5, 13, 8, 8, 9, 9, 18].map(Constraint::Length);
    frame.render_widget(Table::new(rows, widths).header(header(&NODE_COLUMNS)), area);
}

fn draw_statements(frame: &mut Frame<'_>, state: &State, view: &View, area: Rect) {
    let sessions = view.sessions(state);
    let rows = sessions.iter().map(|session| Row::new(session_cells(session).into_iter().map(Cell::from)));
    let lengths = [4, 7, 22, 17, 8].map(Constraint::Length);
    let widths: Vec<Constraint> = lengths.into_iter().chain([Constraint::Min(20)]).collect();
    let table = Table::new(rows, widths)
        .header(header(&SESSION_COLUMNS))
        .row_highlight_style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED))
        .highlight_symbol(">");
    let mut place = TableState::default().with_selected(view.place(&sessions));
    frame.render_stateful_widget(table, area, &mut place);
}

fn draw_digests(frame: &mut Frame<'_>, state: &State, view: &View, area: Rect) {
    if let Some(failure) = &state.digests_failure {
        return frame.render_widget(Line::from(failure.as_str()).fg(Color::Yellow), area);
    }
    let digests = view.digests(state);
    let rows = digests.iter().map(|digest| Row::new(digest.cells().map(Cell::from)));
    let lengths = [9, 8, 8, 9, 10, 7, 15, 12].map(Constraint::Length);
    let widths: Vec<Constraint> = lengths.into_iter().chain([Constraint::Min(20)]).collect();
    let table = Table::new(rows, widths)
        .header(header(&DIGEST_COLUMNS))
        .row_highlight_style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED))
        .highlight_symbol(">");
    let mut place = TableState::default().with_selected((!digests.is_empty()).then_some(view.digest_place));
    frame.render_stateful_widget(table, area, &mut place);
}

fn last_line(view: &View) -> Line<'static> {
    match view.asked {
        Some(Action::Kill { node, id, query_only }) => {
            let what = if query_only { "End the statement of" } else { "Disconnect" };
            Line::from(format!("{what} connection {id} of node {node}? y / n")).fg(Color::Red)
        }
        _ if !view.note.is_empty() => Line::from(view.note.clone()).fg(Color::Red),
        _ if view.shows_digests => Line::from(format!("{DIGESTS_HELP}  (by {})", view.digest_order.name())),
        _ => Line::from(format!("{HELP}  (by {})", view.order.name())),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::state::tests::state;

    fn shown(width: u16, height: u16, view: &mut View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let state = state();
        terminal.draw(|frame| draw(frame, &state, view)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_screen_has_nodes_statements_and_what_keys_do() {
        let mut view = View { chosen: Some((1, 8)), ..View::default() };
        let text = shown(130, 24, &mut view);
        for expected in [
            "1 of 4 partitions have no leader",
            "7 statements/s",
            "Bad",
            "Mend it",
            "STARTING 25%",
            "idle, holds locks",
            "1m01s",
            ">1",
            "q quit",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        view.asked = Some(Action::Kill { node: 1, id: 8, query_only: true });
        assert!(shown(130, 24, &mut view).contains("End the statement of connection 8 of node 1? y / n"));
    }

    #[test]
    fn digests_take_the_place_of_statements() {
        let text = shown(130, 24, &mut View { shows_digests: true, ..View::default() });
        for expected in ["95% BELOW", "SELECT ?", "3.4ms", "by time in all"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("1m01s"), "{text}");
    }

    #[test]
    fn screens_of_any_size_are_drawn() {
        for (width, height) in [(1, 1), (5, 3), (20, 5), (80, 24), (500, 100)] {
            shown(width, height, &mut View::default());
        }
    }
}
