//! Single user mode: one node alone serves statements on tables.
//!
//! Which one is kept as a variable of the dictionary, so that every node knows it as soon as it knows the dictionary's
//! version, also after a restart. Sessions of the other nodes ask before each statement on tables; in a database of one
//! process the answer is one load and one branch.

use std::sync::atomic::{AtomicU32, Ordering};

use shoal_types::{Error, ErrorCode, NodeId};

use crate::dictionary::catalog::Catalog;

/// No system variable has such a name.
pub(crate) const VARIABLE: &str = "$single_user_node";

/// The node that serves statements, 0 if all do.
#[derive(Debug, Default)]
pub(crate) struct SingleUser {
    node: AtomicU32,
}

impl SingleUser {
    pub(crate) fn of(catalog: &Catalog) -> SingleUser {
        let single_user = SingleUser::default();
        single_user.follow(catalog);
        single_user
    }

    pub(crate) fn follow(&self, catalog: &Catalog) {
        let node = catalog.variables.get(VARIABLE).and_then(|node| node.parse().ok()).unwrap_or(0);
        self.node.store(node, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn get(&self) -> Option<NodeId> {
        let node = self.node.load(Ordering::Relaxed);
        (node != 0).then_some(NodeId(node))
    }
}

/// The answer to statements on tables on other nodes. The transaction is rolled back: its locks would be in that node's way.
pub(super) fn refusal(node: NodeId) -> Error {
    let message = format!(
        "Got error 299 'Operation not allowed or aborted due to single user mode' from NDBCLUSTER; node {node} alone \
         serves statements until EXIT SINGLE USER MODE"
    );
    Error::new(ErrorCode::GetErrmsg, message).rolling_back_transaction()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::catalog::Change;

    #[test]
    fn the_dictionary_says_who_is_alone() {
        let mut catalog = Catalog::default();
        let mut put = |value: Option<&str>| {
            let value = value.map(str::to_owned);
            catalog.apply(&Change::PutVariable { name: VARIABLE.into(), value }).unwrap();
            SingleUser::of(&catalog).get()
        };
        assert_eq!(put(None), None);
        assert_eq!(put(Some("4")), Some(NodeId(4)));
        assert_eq!(put(Some("reef")), None);
        assert_eq!(put(None), None);
    }
}
