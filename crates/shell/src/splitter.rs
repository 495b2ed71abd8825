//! From lines to statements.
//!
//! A statement ends with `;`, `\g` or `\G` outside quotes and comments. A backslash and another letter outside quotes is a command of the
//! client, as is a line that begins with one of a few words while no statement is under way. Every byte is looked at once, however many
//! lines a statement has.

/// What is to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Statement {
        text: String,
        /// Ended by `\G`: a line for each value.
        is_vertical: bool,
    },
    Command(Command),
}

/// What the client does itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Quit,
    Help,
    Status,
    Use(String),
    Source(String),
    Unknown(char),
}

/// What the end of the text so far is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    Quotes(char),
    Comment,
    LineComment,
}

/// Takes lines and gives statements.
#[derive(Debug)]
pub struct Splitter {
    /// What has not been given out.
    text: String,
    /// Bytes of it that have been looked at.
    scanned: usize,
    inside: Inside,
    /// There is more than white space and comments in what was looked at.
    has_words: bool,
    backslash_escapes: bool,
    /// No line comes any more.
    is_finished: bool,
    /// The line, from 1, in which `scanned` is, and that in which the statement under way began.
    line: usize,
    began: usize,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter {
            text: String::new(),
            scanned: 0,
            inside: Inside::Nothing,
            has_words: false,
            backslash_escapes: true,
            is_finished: false,
            line: 1,
            began: 1,
        }
    }
}

impl Splitter {
    /// Adds a line with its end.
    pub fn push(&mut self, line: &str) {
        self.text.push_str(line);
    }

    /// There are no more lines.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Whether a backslash in quotes goes with the next character, which the mode NO_BACKSLASH_ESCAPES forbids.
    pub fn set_backslash_escapes(&mut self, are_escapes: bool) {
        self.backslash_escapes = are_escapes;
    }

    /// The line, from 1, that is looked at.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Forgets what has not been given out.
    pub fn clear(&mut self) {
        *self = Splitter { backslash_escapes: self.backslash_escapes, line: self.line, ..Splitter::default() };
    }

    /// What the statement under way waits for, as a prompt shows it: `-`, or the quotes that are open. `None`: there is none.
    pub fn waits_for(&self) -> Option<char> {
        match self.inside {
            Inside::Quotes(quote) => Some(quote),
            Inside::Comment => Some('*'),
            Inside::Nothing | Inside::LineComment => self.has_words.then_some('-'),
        }
    }

    /// The next piece that is complete, and the line in which it begins.
    pub fn next_piece(&mut self) -> Option<(Piece, usize)> {
        loop {
            if !self.has_words
                && self.inside == Inside::Nothing
                && let Some(command) = self.take_word_command()
            {
                return Some((Piece::Command(command), self.line - 1));
            }
            let Some((one, length)) = self.next_token() else { return self.take_rest() };
            let end = self.scanned;
            self.scanned += length;
            match (self.inside, one) {
                (_, '\n') => {
                    self.line += 1;
                    if self.inside == Inside::LineComment {
                        self.inside = Inside::Nothing;
                    }
                    if !self.has_words && self.inside == Inside::Nothing {
                        // Comments before a statement are not sent, so that a line may be a command.
                        self.drop_scanned();
                    }
                }
                (Inside::Nothing, ';') => {
                    if let Some(piece) = self.take_statement(end, false) {
                        return Some(piece);
                    }
                }
                (Inside::Nothing, '\\') => {
                    if let Some(piece) = self.take_backslash(end) {
                        return Some(piece);
                    }
                }
                (Inside::Nothing, one) => self.look_at(one, length),
                (Inside::Quotes(quote), one) if one == quote => self.inside = Inside::Nothing,
                (Inside::Comment, '*') if length == 2 => self.inside = Inside::Nothing,
                _ => {}
            }
        }
    }

    /// The next character, and the bytes that it takes with what belongs to it: an escaped character, the other half of a comment's mark.
    /// `None`: more lines have to come first.
    fn next_token(&self) -> Option<(char, usize)> {
        let rest = &self.text[self.scanned..];
        let mut characters = rest.chars();
        let one = characters.next()?;
        let second = characters.next();
        let goes_with = match (self.inside, one) {
            (Inside::Quotes('\'' | '"'), '\\') if self.backslash_escapes => second,
            (Inside::Comment, '*') => second.filter(|&second| second == '/'),
            (Inside::Nothing, '/') => second.filter(|&second| second == '*'),
            // Two hyphens begin a comment only with a space or the like behind them.
            (Inside::Nothing, '-') => second.filter(|&second| {
                second == '-' && characters.next().is_none_or(|third| third.is_whitespace() || third.is_control())
            }),
            (Inside::Nothing, '\\') => second,
            _ => None,
        };
        // A line end is always a token of its own, for the count of lines.
        let length = one.len_utf8() + goes_with.filter(|&one| one != '\n').map_or(0, char::len_utf8);
        Some((one, length))
    }

    /// Something outside quotes and comments.
    fn look_at(&mut self, one: char, length: usize) {
        let is_long = length > one.len_utf8();
        match one {
            '\'' | '"' | '`' => self.inside = Inside::Quotes(one),
            '#' => self.inside = Inside::LineComment,
            '-' if is_long => self.inside = Inside::LineComment,
            '/' if is_long => {
                self.inside = Inside::Comment;
                // What is in such a comment is carried out.
                let is_statement = self.text[self.scanned..].starts_with(['!', '+']);
                self.note_words(is_statement);
                return;
            }
            _ => {}
        }
        self.note_words(!one.is_whitespace() && self.inside != Inside::LineComment);
    }

    fn note_words(&mut self, are_words: bool) {
        if are_words && !self.has_words {
            self.has_words = true;
            self.began = self.line;
        }
    }

    fn take_statement(&mut self, end: usize, is_vertical: bool) -> Option<(Piece, usize)> {
        let text = self.text[..end].trim().to_owned();
        let (has_words, began) = (self.has_words, self.began);
        self.drop_scanned();
        has_words.then_some((Piece::Statement { text, is_vertical }, began))
    }

    fn drop_scanned(&mut self) {
        self.text.drain(..self.scanned);
        self.scanned = 0;
        self.has_words = false;
    }

    /// The backslash was at `end`.
    fn take_backslash(&mut self, end: usize) -> Option<(Piece, usize)> {
        let letter = self.text[end + 1..self.scanned].chars().next()?;
        match letter {
            'g' => return self.take_statement(end, false),
            'G' => return self.take_statement(end, true),
            'c' => {
                self.drop_scanned();
                return None;
            }
            _ => {}
        }
        let takes_rest = matches!(letter, 'u' | '.');
        let rest_end = match takes_rest {
            true => self.text[self.scanned..].find('\n').map_or(self.text.len(), |at| self.scanned + at),
            false => self.scanned,
        };
        let rest = argument(&self.text[self.scanned..rest_end]);
        // The statement under way goes on behind the command.
        self.text.drain(end..rest_end);
        self.scanned = end;
        let command = match letter {
            'q' => Command::Quit,
            'h' | '?' => Command::Help,
            's' => Command::Status,
            'u' => Command::Use(rest),
            '.' => Command::Source(rest),
            other => Command::Unknown(other),
        };
        Some((Piece::Command(command), self.line))
    }

    /// A whole line that is a command by its first word.
    fn take_word_command(&mut self) -> Option<Command> {
        let (before, unseen) = self.text.split_at(self.scanned);
        if !before.trim().is_empty() {
            return None;
        }
        let end = unseen.find('\n').map(|at| at + 1).or(self.is_finished.then_some(unseen.len()))?;
        let line = unseen[..end].trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let bare = argument(line);
        let command = match (word.to_ascii_lowercase().as_str(), bare.to_ascii_lowercase().as_str()) {
            (_, "quit" | "exit") => Command::Quit,
            (_, "help" | "?") => Command::Help,
            (_, "status") => Command::Status,
            // With more behind a semicolon it is a statement like others.
            ("use", _) if !argument(rest).is_empty() && !argument(rest).contains(';') => {
                Command::Use(argument(rest))
            }
            ("source", _) if !argument(rest).is_empty() => Command::Source(argument(rest)),
            _ => return None,
        };
        self.scanned += end;
        self.drop_scanned();
        self.line += 1;
        Some(command)
    }

    /// What the end of the input leaves.
    fn take_rest(&mut self) -> Option<(Piece, usize)> {
        if !self.is_finished {
            return None;
        }
        self.inside = Inside::Nothing;
        self.take_statement(self.scanned, false)
    }
}

/// The rest of a command's line without the semicolon and the quotes around it.
fn argument(rest: &str) -> String {
    let rest = rest.trim().trim_end_matches(';').trim_end();
    let quoted = ['`', '"', '\''].iter().find_map(|&quote| rest.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        pieces(text).into_iter().map(|(piece, _)| shown(piece)).collect()
    }

    fn shown(piece: Piece) -> String {
        match piece {
            Piece::Statement { text, is_vertical: false } => text,
            Piece::Statement { text, is_vertical: true } => format!("{text} \\G"),
            Piece::Command(command) => format!("{command:?}"),
        }
    }

    fn pieces(text: &str) -> Vec<(Piece, usize)> {
        let mut splitter = Splitter::default();
        let mut pieces = Vec::new();
        for line in text.split_inclusive('\n') {
            splitter.push(line);
            pieces.extend(std::iter::from_fn(|| splitter.next_piece()));
        }
        splitter.finish();
        pieces.extend(std::iter::from_fn(|| splitter.next_piece()));
        pieces
    }

    #[test]
    fn statements_end_outside_quotes_and_comments() {
        assert_eq!(split("SELECT 1; SELECT\n2;\nSELECT 3"), ["SELECT 1", "SELECT\n2", "SELECT 3"]);
        assert_eq!(split("SELECT 'a;b', \"c;\", `d;`;"), ["SELECT 'a;b', \"c;\", `d;`"]);
        assert_eq!(
            split("SELECT 'it''s; \\'; x', 'y\\\\'; SELECT 2;"),
            ["SELECT 'it''s; \\'; x', 'y\\\\'", "SELECT 2"]
        );
        assert_eq!(split("SELECT 1 -- a; b\n + 1;"), ["SELECT 1 -- a; b\n + 1"]);
        assert_eq!(split("SELECT 1 # a; b'\n + 1;"), ["SELECT 1 # a; b'\n + 1"]);
        assert_eq!(split("SELECT 1 /* a; ' \n b */ + 1;"), ["SELECT 1 /* a; ' \n b */ + 1"]);
        assert_eq!(split("SELECT 5--1; SELECT 2;"), ["SELECT 5--1", "SELECT 2"]);
    }

    #[test]
    fn comments_and_nothing_are_no_statements() {
        assert!(split(";; \n -- hello;\n/* no; */ ;\n# end").is_empty());
        assert_eq!(split("/*!40101 SET NAMES utf8mb4 */;"), ["/*!40101 SET NAMES utf8mb4 */"]);
        assert_eq!(split("-- first\nSELECT 1;"), ["SELECT 1"]);
    }

    #[test]
    fn backslashes_end_statements_and_are_commands() {
        assert_eq!(split("SELECT 1\\G SELECT 2\\g"), ["SELECT 1 \\G", "SELECT 2"]);
        assert_eq!(split("SELECT 1 \\c SELECT 2;"), ["SELECT 2"]);
        assert_eq!(split("\\s\n\\u pond\n\\q\n"), ["Status", "Use(\"pond\")", "Quit"]);
        assert_eq!(split("SELECT \\s 1;"), ["Status", "SELECT  1"]);
        assert_eq!(split("\\. /tmp/a b.sql\n"), ["Source(\"/tmp/a b.sql\")"]);
        assert_eq!(split("\\x"), ["Unknown('x')"]);
    }

    #[test]
    fn some_words_are_commands_at_the_beginning_of_a_line() {
        assert_eq!(split("quit\n"), ["Quit"]);
        assert_eq!(split("  EXIT ;\n"), ["Quit"]);
        assert_eq!(split("use `my pond`;\nSELECT 1;\n"), ["Use(\"my pond\")", "SELECT 1"]);
        assert_eq!(split("USE a; SELECT 1;\n"), ["USE a", "SELECT 1"]);
        assert_eq!(split("-- load it\nsource /tmp/x.sql\n"), ["Source(\"/tmp/x.sql\")"]);
        // In the middle of a statement they are words.
        assert_eq!(split("SELECT 1 AS\nquit\n;"), ["SELECT 1 AS\nquit"]);
        assert_eq!(split("SELECT 'a\nquit\n';"), ["SELECT 'a\nquit\n'"]);
    }

    #[test]
    fn a_piece_knows_the_line_it_begins_in() {
        let lines = |text: &str| pieces(text).into_iter().map(|(_, line)| line).collect::<Vec<_>>();
        assert_eq!(lines("SELECT 1;\n\n-- no\nSELECT\n2;SELECT 3;\nquit\n"), [1, 4, 5, 6]);
    }

    #[test]
    fn what_is_open_is_told() {
        let mut splitter = Splitter::default();
        let mut after = |line: &str| {
            splitter.push(line);
            while splitter.next_piece().is_some() {}
            splitter.waits_for()
        };
        assert_eq!(after("\n"), None);
        assert_eq!(after("SELECT\n"), Some('-'));
        assert_eq!(after("'a\n"), Some('\''));
        assert_eq!(after("b', /* c\n"), Some('*'));
        assert_eq!(after("*/ 1;\n"), None);
    }

    #[test]
    fn without_escapes_a_backslash_ends_nothing() {
        let mut splitter = Splitter::default();
        splitter.set_backslash_escapes(false);
        splitter.push("SELECT 'a\\'; SELECT 2;\n");
        assert_eq!(splitter.next_piece().map(|(piece, _)| shown(piece)).as_deref(), Some("SELECT 'a\\'"));
        assert_eq!(splitter.next_piece().map(|(piece, _)| shown(piece)).as_deref(), Some("SELECT 2"));
    }
}
