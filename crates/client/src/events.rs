//! An event stream of committed changes.

use std::sync::Arc;

use shoal_txn::{ChangeKind, FollowOptions, Followed, Follower, Gap};
use shoal_types::{Result, TableId, Timestamp, TransactionId};

use crate::core::Core;
use crate::row::{Row, Shape};
use crate::table::Table;

/// What happened to the tables that are followed.
#[derive(Clone, Debug)]
pub enum Event {
    /// A row was changed.
    Change(Change),
    /// Every change that was committed up to here has come; those of one transaction have the same timestamp. It rises ten times
    /// a second while there are changes anywhere.
    Complete(Timestamp),
    /// Changes may be missing, after this timestamp and before this event: read the tables again. It comes when the stream was read
    /// too slowly, or when a leader was lost together with all who had its log in memory. What follows is whole again.
    Gap {
        /// Everything that was committed up to here has come.
        after: Timestamp,
        /// Why they cannot be told.
        reason: Gap,
    },
    /// The table has a new definition, by which rows are shown from now on.
    Altered(Table),
    /// The table was dropped, truncated, or altered so that its rows were copied: no more of its changes come. Get it again by its name,
    /// follow that, and read it again.
    Dropped(Table),
}

/// A committed change of a row.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its definition is the one by which `row` is stored.
    pub table: Table,
    /// Whether the row was inserted, updated or deleted.
    pub kind: ChangeKind,
    /// The row as it is afterwards. Of one that was deleted the columns of its primary key.
    pub row: Row,
    /// When it was committed.
    pub timestamp: Timestamp,
    /// Changes of one transaction have the same.
    pub transaction: TransactionId,
}

/// How a stream is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventOptions {
    /// About so many bytes of changes are on their way or wait to be taken. Zero: 8 MiB.
    pub window_bytes: usize,
}

/// A stream of events. It keeps nothing in the cluster; dropped, it is over.
pub struct Events {
    core: Arc<Core>,
    follower: Follower,
    tables: Vec<Source>,
}

/// A table that is followed.
struct Source {
    table: Table,
    id: TableId,
    definition: Arc<shoal_cluster::Table>,
    whole: Arc<Shape>,
    name: Arc<Shape>,
}

impl Source {
    fn new(table: &Table, definition: Arc<shoal_cluster::Table>) -> Source {
        let whole = Arc::new(Shape::of(&definition, None));
        let name: Vec<usize> = definition.schema.primary_key().columns.iter().map(|part| part.column).collect();
        let name = Arc::new(Shape::of(&definition, Some(&name)));
        Source { table: table.clone(), id: definition.id(), definition, whole, name }
    }
}

impl Events {
    pub(crate) async fn begin(core: &Arc<Core>, tables: &[&Table], options: EventOptions) -> Result<Events> {
        let sources = tables.iter().map(|table| Ok(Source::new(table, table.definition()?)));
        let tables = sources.collect::<Result<Vec<Source>>>()?;
        let ids: Vec<(TableId, u32)> =
            tables.iter().map(|source| (source.id, source.definition.schema.version)).collect();
        let mut follow = FollowOptions::default();
        if options.window_bytes > 0 {
            follow.window_bytes = options.window_bytes;
        }
        let follower = Follower::begin(&core.node, &ids, follow).await?;
        Ok(Events { core: Arc::clone(core), follower, tables })
    }

    /// The next event. Changes of one row come in the order of their commits; those of different rows need not. It may be given up
    /// and called again: nothing is lost.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            let followed = self.follower.next().await?;
            if let Some(event) = self.event(followed) {
                return Ok(event);
            }
        }
    }

    /// The next event and those that have come with it.
    pub async fn next_batch(&mut self) -> Result<Vec<Event>> {
        let mut batch = vec![self.next().await?];
        while let Some(followed) = self.follower.next_here() {
            batch.extend(self.event(followed));
        }
        Ok(batch)
    }

    fn event(&mut self, followed: Followed) -> Option<Event> {
        Some(match followed {
            Followed::Change { table, kind, transaction, timestamp, row } => {
                let source = self.source(table)?;
                let shape = if kind == ChangeKind::Delete { &source.name } else { &source.whole };
                let (table, row) = (source.table.clone(), Row::new(shape, &row));
                Event::Change(Change { table, kind, row, timestamp, transaction })
            }
            Followed::Complete(timestamp) => Event::Complete(timestamp),
            Followed::Gap { after, reason, .. } => Event::Gap { after, reason },
            Followed::Altered { table, .. } => Event::Altered(self.source(table)?.table.clone()),
            Followed::Dropped(table) => Event::Dropped(self.source(table)?.table.clone()),
        })
    }

    /// The table, by the newest definition of it that has come here.
    fn source(&mut self, id: TableId) -> Option<&Source> {
        let source = self.tables.iter_mut().find(|source| source.id == id)?;
        if source.definition.is_stale()
            && let Some(newer) = self.core.node.catalog().tables_by_id.get(&id)
            && !Arc::ptr_eq(newer, &source.definition)
        {
            *source = Source::new(&source.table, Arc::clone(newer));
        }
        Some(source)
    }

    /// Everything that was committed up to here has been shown.
    pub fn complete(&self) -> Timestamp {
        self.follower.complete()
    }
}
