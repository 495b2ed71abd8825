//! The seam to what answers requests: it stands above, and knows all layers.

use std::pin::Pin;
use std::sync::Arc;

use shoal_types::{NodeId, Result};

use crate::membership::messages::{Ask, ServiceReply};

/// An answer in the making.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<ServiceReply>>>>;

/// What answers the requests that reach this node: it knows all layers.
pub(crate) trait Answers: Send + Sync {
    fn answer(self: Arc<Self>, from: NodeId, ask: Ask) -> Answering;
}
