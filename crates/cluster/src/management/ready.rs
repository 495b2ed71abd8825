//! When a node of a cluster may say that it is ready.

use std::time::Duration;

use shoal_types::Result;

use crate::management::Management;

const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Management {
    /// Waits until this node can do what its roles promise: its replicas know their leaders and what these know, and for
    /// sessions every partition has a leader and the dictionary is here. `report` hears what is waited for whenever that changes.
    pub async fn wait_until_ready(&self, mut report: impl FnMut(&str)) -> Result<()> {
        let mut told = String::new();
        while let Some(missing) = self.what_is_missing() {
            if missing != told {
                report(&missing);
                told = missing;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    pub(crate) fn what_is_missing(&self) -> Option<String> {
        let cluster = self.cluster()?;
        let options = &cluster.options;
        let roles = options.roles();
        for partition in self.hosted() {
            let guard = self.partition(partition);
            if !guard.is_single() && (guard.leader().is_none() || guard.is_amnesiac()) {
                let absent: Vec<String> = options
                    .placement(partition)
                    .voters()
                    .into_iter()
                    .filter(|&voter| voter != u64::from(options.me.0))
                    .filter(|&voter| !cluster.is_up(shoal_types::NodeId(voter as u32)))
                    .map(|voter| voter.to_string())
                    .collect();
                return Some(match absent.is_empty() {
                    true => format!("partition {partition} to choose a leader"),
                    false => format!("node {} to start, for partition {partition}", absent.join(" or ")),
                });
            }
        }
        if !roles.has_sessions() {
            return None;
        }
        if cluster.leaders.of(options.meta_partition().0).is_none() {
            return Some("a management node, for the dictionary".into());
        }
        if !self.knows_catalog() {
            return Some("the dictionary".into());
        }
        let without = (0..self.partition_count()).find(|&partition| cluster.leaders.of(partition).is_none())?;
        Some(format!("a leader of partition {without}"))
    }
}
