//! What pages for operators ask: this node's management commands, and other nodes' pages.
//!
//! Questions come from threads without links, so the cluster's thread asks them. What a page tells and does is not known here: a
//! question and its answer are texts, and whoever serves the page sets what answers.

use std::sync::Arc;
use std::time::Duration;

use shoal_types::{Error, NodeId, Result};

use crate::base::errors::temporary;
use crate::management::Management;
use crate::membership::messages::{Ask, CommandLine, ServiceReply};

/// A page shows what it knows; a node that does not answer in this time is shown as one that does not.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(2500);

/// Answers what another node's page asks.
pub trait OperatorAnswers: Send + Sync + 'static {
    /// # Errors
    /// What the page shows instead.
    fn answer(&self, question: &str) -> Result<String>;
}

impl Management {
    /// What answers the pages of other nodes. Once.
    pub fn set_operator_answers(&self, answers: Arc<dyn OperatorAnswers>) {
        let _ = self.commanded.operators.set(answers);
    }

    /// With thousands of sessions that takes milliseconds, in which leases would not be renewed: not on the thread of a link.
    pub(crate) async fn answer_operators(&self, question: String) -> Result<String> {
        let answers = self.commanded.operators.get().ok_or_else(|| temporary("the node is not open yet"))?;
        let answers = Arc::clone(answers);
        let answered = tokio::task::spawn_blocking(move || answers.answer(&question)).await;
        answered.unwrap_or_else(|_| Err(Error::unknown("internal: the answer failed")))
    }

    /// Asks another node's page, from any thread with a runtime.
    ///
    /// # Errors
    /// Its answer, or there was none in time.
    pub async fn ask_operators_of(&self, node: NodeId, question: String) -> Result<String> {
        Ok(self.ask_on_cluster_thread(Some(node), Ask::Operators(question)).await?.text)
    }

    /// What a management command answers as JSON, from any thread with a runtime. Only for commands that change nothing.
    ///
    /// # Errors
    /// As in the management client; and in a process that is the whole database, which has no such commands.
    pub async fn look_by_command(&self, line: &str) -> Result<String> {
        let command = CommandLine { line: line.to_owned(), json: true };
        Ok(self.ask_on_cluster_thread(None, Ask::Command(command)).await?.text)
    }

    async fn ask_on_cluster_thread(&self, to: Option<NodeId>, ask: Ask) -> Result<ServiceReply> {
        let cluster = self.cluster().ok_or_else(|| Error::unknown("this process is no cluster"))?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let asker = Arc::clone(cluster);
        cluster.spawn(move || async move {
            let to = to.unwrap_or(asker.options.me);
            let _ = sender.send(asker.ask_within(to, ask, ANSWER_TIMEOUT).await);
        });
        // The cluster's thread may not have begun, or have ended.
        match tokio::time::timeout(ANSWER_TIMEOUT * 2, receiver).await {
            Ok(Ok(reply)) => reply,
            _ => Err(temporary("the cluster's thread does not answer")),
        }
    }
}
