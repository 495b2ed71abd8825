//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::digests::{DigestOrder, DigestRow, ordered};
use crate::state::{SessionRow, State};

/// How sessions are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The longest first.
    #[default]
    Time,
    User,
    State,
    Connection,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Order::Time => "time",
            Order::User => "user",
            Order::State => "state",
            Order::Connection => "connection",
        }
    }

    fn next(self) -> Order {
        match self {
            Order::Time => Order::User,
            Order::User => Order::State,
            Order::State => Order::Connection,
            Order::Connection => Order::Time,
        }
    }
}

/// What the user has chosen.
#[derive(Default)]
pub struct View {
    pub order: Order,
    pub shows_idle: bool,
    /// Kinds of statements instead of those that run.
    pub shows_digests: bool,
    pub digest_order: DigestOrder,
    /// The chosen one in its list.
    pub digest_place: usize,
    /// Node and id of a session: it stays chosen when rows move.
    pub chosen: Option<(u32, u32)>,
    /// Asked, and not answered yet.
    pub asked: Option<Action>,
    /// A sentence for the last line.
    pub note: String,
}

impl View {
    /// The sessions as they are to be listed.
    pub fn sessions<'s>(&self, state: &'s State) -> Vec<&'s SessionRow> {
        let is_shown = |one: &&SessionRow| self.shows_idle || one.is_running || one.transaction.is_some();
        let mut shown: Vec<&SessionRow> = state.sessions.iter().filter(is_shown).collect();
        shown.sort_by(|a, b| {
            let by_order = match self.order {
                Order::Time => b.is_running.cmp(&a.is_running).then(b.millis.cmp(&a.millis)),
                Order::User => a.user.cmp(&b.user),
                Order::State => a.state.cmp(&b.state),
                Order::Connection => std::cmp::Ordering::Equal,
            };
            by_order.then((a.node, a.id).cmp(&(b.node, b.id)))
        });
        shown
    }

    /// The place of the chosen session in the list.
    pub fn place(&self, sessions: &[&SessionRow]) -> Option<usize> {
        sessions.iter().position(|one| Some((one.node, one.id)) == self.chosen)
    }

    /// The kinds of statements as they are to be listed.
    pub fn digests<'s>(&self, state: &'s State) -> Vec<&'s DigestRow> {
        ordered(&state.digests, self.digest_order)
    }

    fn choose(&mut self, state: &State, step: isize) {
        if self.shows_digests {
            let last = state.digests.len().saturating_sub(1);
            self.digest_place = self.digest_place.saturating_add_signed(step).min(last);
            return;
        }
        let sessions = self.sessions(state);
        let Some(last) = sessions.len().checked_sub(1) else { return };
        let next = match self.place(&sessions) {
            Some(place) => place.saturating_add_signed(step).min(last),
            None => 0,
        };
        self.chosen = Some((sessions[next].node, sessions[next].id));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    None,
    Quit,
    /// Look again now.
    Look,
    Kill {
        node: u32,
        id: u32,
        query_only: bool,
    },
}

pub const HELP: &str =
    "arrows choose  k end statement  K disconnect  s sort  i idle  d digests  r refresh  q quit";
pub const DIGESTS_HELP: &str = "arrows choose  s sort  d statements that run  r refresh  q quit";

pub fn pressed(key: KeyEvent, view: &mut View, state: &State) -> Action {
    view.note.clear();
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return Action::Quit;
    }
    if let Some(asked) = view.asked.take() {
        return if matches!(key.code, KeyCode::Char('y' | 'Y')) { asked } else { Action::None };
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
        KeyCode::Char('r' | ' ') => return Action::Look,
        KeyCode::Char('d') => {
            view.shows_digests = !view.shows_digests;
            return Action::Look;
        }
        KeyCode::Char('s') if view.shows_digests => view.digest_order = view.digest_order.next(),
        KeyCode::Char('k' | 'K') if view.shows_digests => {}
        KeyCode::Char('s') => view.order = view.order.next(),
        KeyCode::Char('i') => view.shows_idle = !view.shows_idle,
        KeyCode::Down | KeyCode::Char('j') => view.choose(state, 1),
        KeyCode::Up => view.choose(state, -1),
        KeyCode::PageDown => view.choose(state, 10),
        KeyCode::PageUp => view.choose(state, -10),
        KeyCode::Char(letter @ ('k' | 'K')) => {
            match view.chosen.filter(|_| view.place(&view.sessions(state)).is_some()) {
                Some((node, id)) => view.asked = Some(Action::Kill { node, id, query_only: letter == 'k' }),
                None => view.note = "choose a statement with the arrows first".into(),
            }
        }
        _ => {}
    }
    Action::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::state;

    fn press(code: KeyCode, view: &mut View) -> Action {
        pressed(KeyEvent::new(code, KeyModifiers::NONE), view, &state())
    }

    #[test]
    fn nothing_is_ended_without_a_yes() {
        let mut view = View::default();
        let letter = KeyCode::Char;
        assert_eq!(press(letter('k'), &mut view), Action::None);
        assert!(view.asked.is_none() && !view.note.is_empty());
        press(KeyCode::Down, &mut view);
        assert_eq!(view.chosen, Some((1, 7)));
        assert_eq!(press(letter('k'), &mut view), Action::None);
        assert_eq!(press(letter('n'), &mut view), Action::None);
        assert_eq!(press(letter('y'), &mut view), Action::None, "that was answered already");
        press(letter('K'), &mut view);
        assert_eq!(press(letter('y'), &mut view), Action::Kill { node: 1, id: 7, query_only: false });
        press(letter('k'), &mut view);
        assert_eq!(
            press(letter('q'), &mut view),
            Action::None,
            "q is no yes, and no quit while something is asked"
        );
        assert_eq!(press(letter('q'), &mut view), Action::Quit);
    }

    #[test]
    fn digests_are_another_screen_with_an_order_of_its_own() {
        let mut view = View::default();
        assert_eq!(press(KeyCode::Char('d'), &mut view), Action::Look, "they are asked for now");
        press(KeyCode::Char('s'), &mut view);
        press(KeyCode::Down, &mut view);
        press(KeyCode::Char('k'), &mut view);
        assert_eq!((view.digest_order, view.order), (DigestOrder::Average, Order::Time));
        assert_eq!((view.digest_place, view.chosen, view.asked), (0, None, None), "there is but one");
        press(KeyCode::Char('d'), &mut view);
        assert!(!view.shows_digests);
    }

    #[test]
    fn the_chosen_statement_stays_chosen_when_rows_move() {
        let (state, mut view) = (state(), View::default());
        press(KeyCode::Down, &mut view);
        press(KeyCode::Down, &mut view);
        press(KeyCode::Down, &mut view);
        assert_eq!(view.chosen, Some((1, 8)), "the list ends there");
        press(KeyCode::Char('i'), &mut view);
        press(KeyCode::Char('s'), &mut view);
        let sessions = view.sessions(&state);
        assert_eq!((sessions.len(), view.place(&sessions)), (3, Some(1)));
    }
}
