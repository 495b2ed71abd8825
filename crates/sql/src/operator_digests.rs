//! What a page for operators is shown of statement digests: the costliest, and how a sample would be executed.
//!
//! Whoever may see the sessions of others (PROCESS) sees all of it, as in `performance_schema`. A sample is explained in a session of the
//! viewer's account, whose privileges on the tables count.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use shoal_parser::ast::Statement;
use shoal_parser::{ParserMode, parse};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, Result, TimeZone, Value};

use crate::account::AccountKey;
pub use crate::digests::DigestCost;
use crate::digests::Summary;
use crate::frontend::{
    ConnectInfo, Frontend, FrontendSession, ResultColumn, ResultSink, Summary as ResultSummary,
};
use crate::server::Server;
use crate::session::Session;
use crate::shared_server::SharedServer;

/// A plan in the making.
pub type Explaining = Pin<Box<dyn Future<Output = Result<String>>>>;

/// A plan is shown so far.
const PLAN_BYTES_MAX: usize = 64 << 10;

/// A digest as a page shows it. Times are microseconds.
#[derive(Clone, Debug)]
pub struct OperatorDigest {
    /// Empty: the statements were in no database.
    pub database: String,
    /// Hexadecimal.
    pub digest: String,
    /// Normalised.
    pub text: String,
    /// Statements.
    pub count: u64,
    /// Of all of them.
    pub sum_us: u64,
    /// Of the longest.
    pub max_us: u64,
    /// Those that failed.
    pub errors: u64,
    /// Rows that partitions have returned.
    pub rows_examined: u64,
    /// To clients.
    pub rows_sent: u64,
    /// Scans of whole tables.
    pub full_scans: u64,
    /// Since 1970.
    pub last_seen_us: i64,
    /// How many fell into which bucket of `statement_times`, without the empty ones.
    pub buckets: Vec<(usize, u64)>,
}

impl Server {
    /// The digests on which most time was spent, and of how many; empty for accounts that see no sessions but their own.
    pub fn operator_digests(
        self: &Arc<Server>,
        account: &AccountKey,
        count: usize,
    ) -> (Vec<OperatorDigest>, usize) {
        if !self.operator_access(account).is_some_and(|access| access.sees_all) {
            return (Vec::new(), 0);
        }
        let (found, total) = self.digests.costliest(count);
        (found.into_iter().filter_map(shown).collect(), total)
    }

    /// What all digests have cost so far, by database and digest.
    pub fn digest_costs(&self) -> HashMap<(String, String), DigestCost> {
        self.digests.costs()
    }

    /// The statement by which a digest was met first, without passwords; `None`: it is not known here, or not for this account.
    pub fn operator_sample(
        self: &Arc<Server>,
        account: &AccountKey,
        database: &str,
        digest: &str,
    ) -> Option<String> {
        if !self.operator_access(account).is_some_and(|access| access.sees_all) {
            return None;
        }
        self.digests.sample(database, digest).map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// How a sample would be executed now, as the account that asks from `host`: EXPLAIN FORMAT=TREE. Nothing of it is executed.
    ///
    /// # Errors
    /// 1235: it is no statement with a plan, or was cut. Those of EXPLAIN: a table or a privilege is missing.
    pub fn explain_sample(
        self: &Arc<Server>,
        account: &AccountKey,
        host: &str,
        database: &str,
        sample: &str,
    ) -> Explaining {
        let server = Arc::clone(self);
        let (account, host) = (account.clone(), host.to_owned());
        let (database, sample) = (database.to_owned(), sample.to_owned());
        // Whoever waits for it does not have all of a session within.
        Box::pin(async move { server.explain(account, host, database, &sample).await })
    }

    async fn explain(
        self: &Arc<Server>,
        account: AccountKey,
        host: String,
        database: String,
        sample: &str,
    ) -> Result<String> {
        check_has_plan(sample)?;
        let id = SharedServer(Arc::clone(self)).next_connection_id();
        let database = Some(database).filter(|name| !name.is_empty());
        // Whoever has to change the password first sees no plan.
        let info = ConnectInfo {
            handles_expired_password: false,
            ..ConnectInfo::internal(id, account.0, host, database)
        };
        let mut session = Session::open(Arc::clone(self), info)?;
        let mut plan = Plan::default();
        session.query(format!("EXPLAIN FORMAT=TREE {sample}").as_bytes(), &mut plan).await?;
        match plan.error {
            Some(error) => Err(error),
            None => Ok(plan.text),
        }
    }
}

/// One whole statement that reads or changes rows.
fn check_has_plan(sample: &str) -> Result<()> {
    let parsed = parse(sample.as_bytes(), ParserMode::NONE);
    let has_plan = |statement: &Statement| {
        matches!(
            statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        )
    };
    match parsed.as_deref() {
        Ok([statement]) if has_plan(statement) => Ok(()),
        Ok(_) => Err(Error::new(ErrorCode::NotSupportedYet, "Statements of this kind have no plan")),
        Err(_) => {
            Err(Error::new(ErrorCode::NotSupportedYet, "Only a part of the statement was kept, which has no plan"))
        }
    }
}

fn shown(summary: Summary) -> Option<OperatorDigest> {
    let buckets = summary.full_buckets();
    Some(OperatorDigest {
        digest: summary.digest?,
        database: summary.database,
        text: summary.text,
        count: summary.count,
        sum_us: summary.sum_us,
        max_us: summary.max_us,
        errors: summary.errors,
        rows_examined: summary.rows_examined,
        rows_sent: summary.rows_sent,
        full_scans: summary.full_scans,
        last_seen_us: summary.last_seen,
        buckets,
    })
}

/// The lines of a result with one column.
#[derive(Default)]
struct Plan {
    text: String,
    error: Option<Error>,
}

impl Plan {
    fn add(&mut self, value: &Value) {
        let text = value.to_text();
        let text = String::from_utf8_lossy(&text);
        let left = PLAN_BYTES_MAX.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(left)]);
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

impl ResultSink for Plan {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        values.iter().for_each(|value| self.add(value));
        Ok(())
    }

    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()> {
        projection.iter().for_each(|&column| self.add(&row.value(column, zone)));
        Ok(())
    }

    fn finish(&mut self, _: &ResultSummary) -> Result<()> {
        Ok(())
    }

    fn error(&mut self, error: &Error) {
        self.error = Some(error.clone());
    }

    async fn request_local_file(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_statements_about_rows_have_a_plan() {
        for sample in [
            "SELECT 1",
            "/* c */ SELECT a FROM t",
            "INSERT INTO t VALUES (1)",
            "DELETE FROM t",
            "UPDATE t SET a = 1",
        ] {
            check_has_plan(sample).unwrap();
        }
        for sample in [
            "",
            "SET a = 1",
            "SELECT 'cut",
            "SELECT 1; DROP TABLE t",
            "KILL 5",
            "ANALYZE SELECT 1",
            "EXPLAIN SELECT 1",
            "FOR CONNECTION 5",
        ] {
            assert_eq!(check_has_plan(sample).unwrap_err().errno(), 1235, "{sample}");
        }
    }
}
