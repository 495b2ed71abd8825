//! How a layer's threads and tasks refer to the node that they belong to, without knowing what lies above the layer.

use std::ops::Deref;
use std::sync::{Arc, Weak};

/// What contains a layer: the node.
pub(crate) trait Holds<L>: Send + Sync {
    fn layer(&self) -> &L;
}

/// A weak reference to a layer.
pub(crate) struct Handle<L>(Weak<dyn Holds<L>>);

/// A strong reference to a layer: it keeps the whole node.
pub(crate) struct Held<L>(Arc<dyn Holds<L>>);

impl<L> Handle<L> {
    pub(crate) fn new(holder: Weak<dyn Holds<L>>) -> Handle<L> {
        Handle(holder)
    }

    /// `None` once the node is gone, and while it is being made.
    pub(crate) fn upgrade(&self) -> Option<Held<L>> {
        self.0.upgrade().map(Held)
    }
}

impl<L> Clone for Handle<L> {
    fn clone(&self) -> Handle<L> {
        Handle(Weak::clone(&self.0))
    }
}

impl<L> Deref for Held<L> {
    type Target = L;

    fn deref(&self) -> &L {
        self.0.layer()
    }
}
