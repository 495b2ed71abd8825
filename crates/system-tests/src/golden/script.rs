//! The scripts' own little language.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    Sorted,
    Mysql,
    Quiet,
}

/// One statement with what was said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub sql: String,
    pub session: String,
    pub directives: Vec<Directive>,
}

impl Step {
    pub fn has(&self, directive: Directive) -> bool {
        self.directives.contains(&directive)
    }
}

/// Reads a script. An unknown directive or an unfinished statement is a mistake in the script and panics.
pub fn parse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut session = String::from("first");
    let mut directives = Vec::new();
    let mut sql = String::new();
    for line in text.lines() {
        if sql.is_empty() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(words) = line.strip_prefix("--") {
                match words.split_whitespace().next() {
                    Some("sorted") => directives.push(Directive::Sorted),
                    Some("quiet") => directives.push(Directive::Quiet),
                    Some("mysql") => directives.push(Directive::Mysql),
                    Some("session") => session = words.split_whitespace().nth(1).unwrap_or("first").into(),
                    _ => panic!("unknown directive `{line}`"),
                }
                continue;
            }
        } else {
            sql.push('\n');
        }
        sql.push_str(line.trim_end());
        if sql.ends_with(';') {
            sql.pop();
            steps.push(Step {
                sql: std::mem::take(&mut sql),
                session: session.clone(),
                directives: std::mem::take(&mut directives),
            });
        }
    }
    assert!(sql.is_empty(), "a statement without its semicolon: {sql}");
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_directives_and_comments_are_told_apart() {
        let steps =
            parse("# a comment\nSELECT 1;\n\n--sorted\n--mysql rounds\nSELECT a,\n  b;\n--session two\nDO 1;\n");
        let seen: Vec<_> =
            steps.iter().map(|step| (step.sql.as_str(), step.session.as_str(), step.directives.len())).collect();
        assert_eq!(seen, [("SELECT 1", "first", 0), ("SELECT a,\n  b", "first", 2), ("DO 1", "two", 0)]);
        assert!(steps[1].has(Directive::Mysql) && steps[1].has(Directive::Sorted));
    }
}
