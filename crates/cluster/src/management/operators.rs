//! What pages for operators ask: this node's management commands, and other nodes' pages. Tables that tell of all nodes ask alike.
//!
//! Questions come from threads without links, so the cluster's thread asks them. What a page tells and does is not known here: a
//! question and its answer are texts, and whoever serves the page sets what answers.

use std::sync::Arc;
use std::time::Duration;

use shoal_types::{Error, NodeId, Result};
use tokio::sync::oneshot;

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
        answer_aside(self.commanded.operators.get(), question).await
    }

    /// What tells other nodes this node's rows of a table, whose name is the question. Once.
    pub fn set_node_rows(&self, answers: Arc<dyn OperatorAnswers>) {
        let _ = self.commanded.node_rows.set(answers);
    }

    pub(crate) async fn answer_node_rows(&self, table: String) -> Result<String> {
        answer_aside(self.commanded.node_rows.get(), table).await
    }

    /// Asks other nodes for their rows of a table, all at once, from any thread with a runtime; in the order of `nodes`. A node that is not
    /// connected is not waited for.
    pub async fn ask_node_rows_of(&self, nodes: &[NodeId], table: &str) -> Vec<(NodeId, Result<String>)> {
        let is_up = |node| self.cluster().is_some_and(|cluster| cluster.is_up(node));
        let begin = |&node: &NodeId| match is_up(node) {
            true => (node, self.begin_asking(Some(node), Ask::NodeRows(table.to_owned()))),
            false => (node, Err(temporary(format!("node {node} is not connected")))),
        };
        let begun: Vec<_> = nodes.iter().map(begin).collect();
        let mut answers = Vec::with_capacity(begun.len());
        for (node, asked) in begun {
            let answer = match asked {
                Ok(asked) => answer_of(asked).await.map(|reply| reply.text),
                Err(error) => Err(error),
            };
            answers.push((node, answer));
        }
        answers
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
        answer_of(self.begin_asking(to, ask)?).await
    }

    fn begin_asking(&self, to: Option<NodeId>, ask: Ask) -> Result<oneshot::Receiver<Result<ServiceReply>>> {
        let cluster = self.cluster().ok_or_else(|| Error::unknown("this process is no cluster"))?;
        let (sender, receiver) = oneshot::channel();
        let asker = Arc::clone(cluster);
        cluster.spawn(move || async move {
            let to = to.unwrap_or(asker.options.me);
            let _ = sender.send(asker.ask_within(to, ask, ANSWER_TIMEOUT).await);
        });
        Ok(receiver)
    }
}

async fn answer_of(asked: oneshot::Receiver<Result<ServiceReply>>) -> Result<ServiceReply> {
    // The cluster's thread may not have begun, or have ended.
    match tokio::time::timeout(ANSWER_TIMEOUT * 2, asked).await {
        Ok(Ok(reply)) => reply,
        _ => Err(temporary("the cluster's thread does not answer")),
    }
}

async fn answer_aside(answers: Option<&Arc<dyn OperatorAnswers>>, question: String) -> Result<String> {
    let answers = Arc::clone(answers.ok_or_else(|| temporary("the node is not open yet"))?);
    let answered = tokio::task::spawn_blocking(move || answers.answer(&question)).await;
    answered.unwrap_or_else(|_| Err(Error::unknown("internal: the answer failed")))
}
