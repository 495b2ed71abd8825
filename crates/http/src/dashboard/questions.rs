//! What nodes ask each other for their pages: JSON both ways.
//!
//! The node that is asked looks at the account itself, in its own copy of the dictionary: what the asking node thinks of its viewer's rights
//! counts for nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use shoal_cluster::OperatorAnswers;
use shoal_sql::server::Server;
use shoal_types::{Error, Result};

use super::AccountKey;
use super::{digests, figures, statements};
use crate::watched::Watched;

/// Of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Figures(AccountKey),
    /// Of the last so many seconds.
    History(AccountKey, u64),
    Statements(AccountKey),
    Digests(AccountKey),
    /// Of a digest in a database.
    Sample(AccountKey, String, String),
    /// A connection's number, and whether only its statement is to end.
    Kill(AccountKey, u32, bool),
}

impl Question {
    fn account(&self) -> &AccountKey {
        match self {
            Question::Figures(account)
            | Question::History(account, _)
            | Question::Statements(account)
            | Question::Digests(account)
            | Question::Sample(account, ..)
            | Question::Kill(account, ..) => account,
        }
    }

    pub fn encode(&self) -> String {
        let (user, host) = self.account();
        let mut json = json!({ "user": user, "host": host });
        match self {
            Question::Figures(_) => json["what"] = json!("figures"),
            Question::History(_, seconds) => {
                json["what"] = json!("history");
                json["seconds"] = json!(seconds);
            }
            Question::Statements(_) => json["what"] = json!("statements"),
            Question::Digests(_) => json["what"] = json!("digests"),
            Question::Sample(_, database, digest) => {
                json["what"] = json!("sample");
                json["database"] = json!(database);
                json["digest"] = json!(digest);
            }
            Question::Kill(_, id, query_only) => {
                json["what"] = json!("kill");
                json["id"] = json!(id);
                json["query_only"] = json!(query_only);
            }
        }
        json.to_string()
    }

    /// `None`: it is not understood here, as a newer version's may be.
    pub fn decode(text: &str) -> Option<Question> {
        let json: Value = serde_json::from_str(text).ok()?;
        let account = (json["user"].as_str()?.to_owned(), json["host"].as_str()?.to_owned());
        Some(match json["what"].as_str()? {
            "figures" => Question::Figures(account),
            "history" => Question::History(account, json["seconds"].as_u64()?),
            "statements" => Question::Statements(account),
            "digests" => Question::Digests(account),
            "sample" => Question::Sample(
                account,
                json["database"].as_str()?.to_owned(),
                json["digest"].as_str()?.to_owned(),
            ),
            "kill" => {
                let id = u32::try_from(json["id"].as_u64()?).ok()?;
                Question::Kill(account, id, json["query_only"].as_bool()?)
            }
            _ => return None,
        })
    }
}

/// What this node answers.
///
/// # Errors
/// The account does not exist any more, or may not do that.
pub fn answer(watched: &Watched, server: &Arc<Server>, question: &Question) -> Result<Value> {
    let access =
        server.operator_access(question.account()).ok_or_else(|| Error::unknown("there is no such account"))?;
    Ok(match question {
        Question::Figures(_) => figures::figures(watched, access.sees_all),
        Question::History(_, seconds) => watched.dashboard.history.json(Duration::from_secs(*seconds)),
        Question::Statements(account) => statements::statements(server, account),
        Question::Digests(account) => digests::of_node(server, account, &watched.dashboard.trends),
        Question::Sample(account, database, digest) => {
            json!({ "sample": server.operator_sample(account, database, digest) })
        }
        Question::Kill(account, id, query_only) => {
            server.kill_as_operator(account, *id, *query_only)?;
            json!({ "killed": id })
        }
    })
}

/// Answers other nodes.
pub struct Questions(pub Weak<Watched>);

impl OperatorAnswers for Questions {
    fn answer(&self, question: &str) -> Result<String> {
        let watched = self.0.upgrade().ok_or_else(|| Error::unknown("the node is stopping"))?;
        let server = watched.server().ok_or_else(|| Error::unknown("the node is not open yet"))?;
        let question =
            Question::decode(question).ok_or_else(|| Error::unknown("this version does not know the question"))?;
        answer(&watched, server, &question).map(|answer| answer.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_arrive_as_they_were_asked_and_garbage_is_none() {
        let account = || ("a\"nn".to_owned(), "%".to_owned());
        for question in [
            Question::Figures(account()),
            Question::History(account(), 3600),
            Question::Statements(account()),
            Question::Digests(account()),
            Question::Sample(account(), "d".into(), "0a".into()),
            Question::Kill(account(), 7, true),
        ] {
            assert_eq!(Question::decode(&question.encode()), Some(question));
        }
        let spoilt = r#"{"what":"kill","user":"a","host":"b","id":4294967296,"query_only":true}"#;
        for text in ["", "{}", "[]", "null", r#"{"what":"figures"}"#, spoilt] {
            assert_eq!(Question::decode(text), None, "{text}");
        }
    }
}
