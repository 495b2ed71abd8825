//! Linked operations: rows of one table whose columns are the keys of rows of others, as NDB's linked operations are: joins.
//!
//! They are evaluated level by level, a batch of the first operation's rows at a time: the keys of all its rows that an operation needs go
//! to the leaders at once, whatever their number, each of them once. So a batch costs one round trip for each linked operation
//! by primary key, two for one by a unique index, and one or more for one along an index (see [`Linked::then_scan`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use shoal_txn::{KeyRange, Predicate, PushedFilter, ReadMode, ScanRequest, Visit};
use shoal_types::key::{KeySpec, successor};
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{BaseType, Error, ErrorCode, Result, SqlType, Value};

use crate::filter::Filter;
use crate::row::{Row, Shape};
use crate::scan::{Rows, Scan};
use crate::table::{Table, column, full_key, index, key_prefix};
use crate::transaction::Transaction;

/// A row of each operation, in their order; `None` where a left operation has found nothing.
pub type Tuple = Vec<Option<Row>>;

/// One column of a linked operation's key.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// A column of an earlier operation's row; the first one's number is 0. NULL finds nothing.
    Column(usize, String),
    /// A constant, the same for all rows of the earlier operations.
    Value(Value),
}

impl Key {
    /// The column of an operation.
    pub fn column(operation: usize, name: &str) -> Key {
        Key::Column(operation, name.to_owned())
    }

    /// A constant.
    pub fn value(value: impl Into<Value>) -> Key {
        Key::Value(value.into())
    }
}

/// A first operation and those that are linked to it. What follows an operation (`left`, `filter`, `columns`) is about that one.
#[derive(Clone)]
pub struct Linked {
    root: Root,
    links: Vec<Link>,
    mode: ReadMode,
}

#[derive(Clone)]
enum Root {
    Scan(Table, Scan),
    Get { table: Table, index: Option<String>, key: Vec<Value>, choice: Choice },
}

#[derive(Clone, Default)]
struct Choice {
    filter: Option<Filter>,
    columns: Option<Vec<String>>,
}

#[derive(Clone)]
struct Link {
    table: Table,
    way: Way,
    key: Vec<Key>,
    is_left: bool,
    choice: Choice,
}

#[derive(Clone, PartialEq)]
enum Way {
    Primary,
    Unique(String),
    Index(String),
}

impl Linked {
    /// Begins with the rows of a scan.
    pub fn scan(table: &Table, scan: Scan) -> Linked {
        Linked::of(Root::Scan(table.clone(), scan))
    }

    /// Begins with the row that has this primary key.
    pub fn get(table: &Table, key: impl Into<Vec<Value>>) -> Linked {
        Linked::of(Root::Get { table: table.clone(), index: None, key: key.into(), choice: Choice::default() })
    }

    /// Begins with the row that has this key of a unique index.
    pub fn get_unique(table: &Table, index: &str, key: impl Into<Vec<Value>>) -> Linked {
        let (index, key) = (Some(index.to_owned()), key.into());
        Linked::of(Root::Get { table: table.clone(), index, key, choice: Choice::default() })
    }

    fn of(root: Root) -> Linked {
        Linked { root, links: Vec::new(), mode: ReadMode::default() }
    }

    fn link(mut self, table: &Table, way: Way, key: impl Into<Vec<Key>>) -> Linked {
        let choice = Choice::default();
        self.links.push(Link { table: table.clone(), way, key: key.into(), is_left: false, choice });
        self
    }

    /// For each row so far the row that has this primary key: one round trip.
    pub fn then_get(self, table: &Table, key: impl Into<Vec<Key>>) -> Linked {
        self.link(table, Way::Primary, key)
    }

    /// For each row so far the row that has this key of a unique index: two round trips.
    pub fn then_get_unique(self, table: &Table, index: &str, key: impl Into<Vec<Key>>) -> Linked {
        self.link(table, Way::Unique(index.to_owned()), key)
    }

    /// For each row so far the rows whose leading columns in the index have these values: one round trip, which yields up to 256 rows of
    /// each partition, and one for each further 256 of one.
    pub fn then_scan(self, table: &Table, index: &str, key: impl Into<Vec<Key>>) -> Linked {
        self.link(table, Way::Index(index.to_owned()), key)
    }

    /// Where the last operation finds nothing its row is `None`, as an outer join has it; without this there is no tuple.
    pub fn left(mut self) -> Linked {
        if let Some(link) = self.links.last_mut() {
            link.is_left = true;
        }
        self
    }

    /// Only rows of the last operation for which this is true; a left operation that finds others alone finds nothing.
    pub fn filter(mut self, filter: Filter) -> Linked {
        match (self.links.last_mut(), &mut self.root) {
            (Some(link), _) => link.choice.filter = Some(filter),
            (None, Root::Get { choice, .. }) => choice.filter = Some(filter),
            (None, Root::Scan(_, scan)) => *scan = scan.clone().filter(filter),
        }
        self
    }

    /// Only these columns of the last operation's rows. Those that keys refer to have to be among them.
    pub fn columns(mut self, names: &[&str]) -> Linked {
        let columns = Some(names.iter().map(|&name| name.to_owned()).collect());
        match (self.links.last_mut(), &mut self.root) {
            (Some(link), _) => link.choice.columns = columns,
            (None, Root::Get { choice, .. }) => choice.columns = columns,
            (None, Root::Scan(_, scan)) => *scan = scan.clone().columns(names),
        }
        self
    }

    /// How the rows of all operations are read: with or without locks.
    pub fn mode(mut self, mode: ReadMode) -> Linked {
        self.mode = mode;
        self
    }

    pub(crate) fn open(&self, transaction: &mut Transaction) -> Result<LinkedRows> {
        let (root, first) = match &self.root {
            Root::Scan(table, scan) => {
                let rows = transaction.scan(table, &scan.clone().mode(self.mode))?;
                let shape = Arc::clone(rows.shape());
                (RootRows::Scan(Box::new(rows)), shape)
            }
            Root::Get { table, index: name, key, choice } => {
                let definition = table.definition()?;
                let index = name.as_ref().map_or(Ok(0), |name| index(&definition, name))?;
                let key = full_key(&definition, index, key)?;
                let chosen = Chosen::of(&definition, choice)?;
                let shape = Arc::clone(&chosen.shape);
                (RootRows::Get { table: definition, index, key: Some(key), chosen }, shape)
            }
        };
        let mut shapes = vec![first];
        let mut links = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let open = OpenLink::of(link, &shapes)?;
            shapes.push(Arc::clone(&open.chosen.shape));
            links.push(open);
        }
        Ok(LinkedRows { root, links, mode: self.mode })
    }
}

/// What of an operation's rows is wanted, by its table's definition.
struct Chosen {
    condition: Option<Predicate>,
    columns: Option<Vec<usize>>,
    shape: Arc<Shape>,
}

impl Chosen {
    fn of(table: &shoal_cluster::Table, choice: &Choice) -> Result<Chosen> {
        let condition = choice.filter.as_ref().map(|filter| filter.resolve(table)).transpose()?;
        let columns = choice.columns.as_ref().map(|names| names.iter().map(|name| column(table, name)).collect());
        let columns: Option<Vec<usize>> = columns.transpose()?;
        let shape = Arc::new(Shape::of(table, columns.as_deref()));
        Ok(Chosen { condition, columns, shape })
    }

    /// What is wanted of a whole row.
    fn sift(&self, row: Row) -> Result<Option<Row>> {
        if !self.condition.as_ref().is_none_or(|condition| condition.holds(row.as_ref())) {
            return Ok(None);
        }
        let Some(columns) = &self.columns else { return Ok(Some(row)) };
        let mut bytes = Vec::with_capacity(64);
        self.shape.layout().encode_projected(row.as_ref(), columns, &mut bytes)?;
        Ok(Some(Row::new(&self.shape, &bytes)))
    }
}

/// A link by its table's definition and the shapes of the operations before it.
struct OpenLink {
    table: Arc<shoal_cluster::Table>,
    index: usize,
    is_range: bool,
    key: Vec<OpenKey>,
    is_left: bool,
    chosen: Chosen,
}

enum OpenKey {
    /// Operation, and position in its rows.
    Column(usize, usize),
    Value(Value),
}

fn wrong(message: String) -> Error {
    Error::new(ErrorCode::WrongArguments, message)
}

impl OpenLink {
    fn of(link: &Link, before: &[Arc<Shape>]) -> Result<OpenLink> {
        let table = link.table.definition()?;
        let (index, is_range) = match &link.way {
            Way::Primary => (0, false),
            Way::Unique(name) => (index(&table, name)?, false),
            Way::Index(name) => (index(&table, name)?, true),
        };
        let definition = &table.schema.indexes[index];
        let parts = &table.keys[index].parts;
        if !is_range && !definition.unique {
            return Err(wrong(format!(
                "Key '{}' of table '{}' is not unique; scan it",
                definition.name,
                table.name()
            )));
        }
        let fits = match is_range {
            true => (1..=parts.len()).contains(&link.key.len()),
            false => link.key.len() == parts.len(),
        };
        if !fits {
            let (has, given) = (parts.len(), link.key.len());
            let message = format!(
                "Key '{}' of table '{}' has {has} column(s), and {given} were linked to it",
                definition.name,
                table.name()
            );
            return Err(Error::new(ErrorCode::WrongValueCount, message));
        }
        let mut key = Vec::with_capacity(link.key.len());
        for (part, from) in parts.iter().zip(&link.key) {
            if part.prefix_length > 0 {
                let message =
                    format!("Key '{}' of table '{}' has prefixes of columns only", definition.name, table.name());
                return Err(wrong(message));
            }
            key.push(match from {
                Key::Value(value) => OpenKey::Value(value.clone()),
                Key::Column(operation, name) => {
                    let shape = before.get(*operation);
                    let shape = shape.ok_or_else(|| {
                        wrong(format!("Column '{name}' is of operation {operation}, which does not come before"))
                    })?;
                    let position = shape.position(name).ok_or_else(|| {
                        let message = format!("Unknown column '{name}' in the rows of operation {operation}");
                        Error::new(ErrorCode::BadField, message)
                    })?;
                    check_comparable(&shape.layout().types()[position], &part.sql_type, name)?;
                    OpenKey::Column(*operation, position)
                }
            });
        }
        let chosen = Chosen::of(&table, &link.choice)?;
        Ok(OpenLink { table, index, is_range, key, is_left: link.is_left, chosen })
    }

    /// The key that goes with a tuple; `None`: nothing can have it.
    fn key_of(&self, tuple: &Tuple) -> Result<Option<Vec<u8>>> {
        let mut values = Vec::with_capacity(self.key.len());
        let mut is_given = true;
        for from in &self.key {
            let value = match from {
                OpenKey::Value(value) => value.clone(),
                OpenKey::Column(operation, position) => {
                    is_given = false;
                    let row = tuple.get(*operation).and_then(Option::as_ref);
                    row.and_then(|row| row.value(*position)).unwrap_or_default()
                }
            };
            if value.is_null() {
                return Ok(None);
            }
            values.push(value);
        }
        match key_prefix(&self.table, self.index, &values) {
            Ok(key) => Ok(Some(key)),
            Err(error) if is_given => Err(error),
            // What a column cannot hold is in no row.
            Err(_) => Ok(None),
        }
    }

    /// The rows for these keys, by key.
    async fn rows_for(
        &self,
        transaction: &mut Transaction,
        keys: Vec<Vec<u8>>,
        mode: ReadMode,
    ) -> Result<HashMap<Vec<u8>, Vec<Row>>> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        if self.is_range {
            return self.scan_for(transaction, &keys, mode).await;
        }
        let rows = transaction.get_by(&self.table, self.index, &keys, mode).await?;
        let mut found = HashMap::new();
        for (key, row) in keys.into_iter().zip(rows) {
            if let Some(row) = row.map(|row| self.chosen.sift(row)).transpose()?.flatten() {
                found.insert(key, vec![row]);
            }
        }
        Ok(found)
    }

    async fn scan_for(
        &self,
        transaction: &mut Transaction,
        keys: &[Vec<u8>],
        mode: ReadMode,
    ) -> Result<HashMap<Vec<u8>, Vec<Row>>> {
        let range = |key: &Vec<u8>| KeyRange { start: key.clone(), end: successor(key).unwrap_or_default() };
        let request = ScanRequest {
            table: Arc::clone(&self.table),
            index: self.index,
            ranges: keys.iter().map(range).collect(),
            descending: false,
            ordered: false,
            partition_key: None,
            mode: transaction.mode(mode),
            row_limit: None,
        };
        let parts = &self.table.keys[self.index].parts[..self.key.len()];
        // The key's columns are needed to tell whose rows they are.
        let fetched = self.chosen.columns.as_ref().map(|columns| {
            let mut fetched = columns.clone();
            let more = parts.iter().map(|part| part.column).filter(|column| !columns.contains(column));
            fetched.extend(more);
            fetched
        });
        let pushed = PushedFilter { condition: self.chosen.condition.clone(), columns: fetched };
        let mut scan = transaction.inner.scan_through(request, pushed);
        let mut spec = KeySpec { parts: parts.to_vec() };
        let shown = scan.shown_columns();
        for part in &mut spec.parts {
            let place = |shown: &[usize]| shown.iter().position(|&column| column == part.column);
            part.column = shown.and_then(place).unwrap_or(part.column);
        }
        let output: Option<Vec<usize>> = self.chosen.columns.as_ref().and_then(|columns| match shown {
            Some(shown) if shown.len() == columns.len() => None,
            Some(_) => Some((0..columns.len()).collect()),
            None => Some(columns.clone()),
        });
        let shape = &self.chosen.shape;
        let layout: &RowLayout = shape.layout();
        let mut found: HashMap<Vec<u8>, Vec<Row>> = HashMap::new();
        let mut buffer = Vec::new();
        loop {
            let mut keep = |row: RowRef<'_>| {
                let mut key = Vec::with_capacity(16);
                spec.append_from_row(row, &mut key);
                let row = match &output {
                    None => Row::new(shape, row.bytes()),
                    Some(columns) => {
                        buffer.clear();
                        layout.encode_projected(row, columns, &mut buffer)?;
                        Row::new(shape, &buffer)
                    }
                };
                found.entry(key).or_default().push(row);
                Ok(Visit::Take)
            };
            let more = scan.next(&mut transaction.inner, &mut keep).await;
            if !transaction.note(more)? {
                return Ok(found);
            }
        }
    }
}

/// Values of the two types are equal if and only if their keys are.
fn check_comparable(from: &SqlType, to: &SqlType, name: &str) -> Result<()> {
    #[derive(PartialEq)]
    enum Kind {
        Integer,
        Text,
        Bytes,
        Other(BaseType),
    }
    let kind = |sql_type: &SqlType| match sql_type.base {
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            Kind::Integer
        }
        BaseType::Char | BaseType::VarChar | BaseType::Text if sql_type.collation.is_binary() => Kind::Bytes,
        BaseType::Char | BaseType::VarChar | BaseType::Text => Kind::Text,
        base => Kind::Other(base),
    };
    match kind(from) == kind(to) {
        true => Ok(()),
        false => {
            Err(wrong(format!("Column '{name}' is of another kind than the key column that it is linked to")))
        }
    }
}

/// Linked operations in progress.
pub struct LinkedRows {
    root: RootRows,
    links: Vec<OpenLink>,
    mode: ReadMode,
}

enum RootRows {
    Scan(Box<Rows>),
    Get { table: Arc<shoal_cluster::Table>, index: usize, key: Option<Vec<u8>>, chosen: Chosen },
}

impl RootRows {
    /// `None`: the end.
    async fn next_batch(&mut self, transaction: &mut Transaction, mode: ReadMode) -> Result<Option<Vec<Row>>> {
        match self {
            RootRows::Scan(rows) => {
                let batch = rows.next_batch(transaction).await?;
                Ok((!batch.is_empty()).then_some(batch))
            }
            RootRows::Get { table, index, key, chosen } => {
                let Some(key) = key.take() else { return Ok(None) };
                let found = transaction.get_by(table, *index, &[key], mode).await?.pop().flatten();
                Ok(Some(found.map(|row| chosen.sift(row)).transpose()?.flatten().into_iter().collect()))
            }
        }
    }
}

impl LinkedRows {
    /// The next tuples, those of a batch of the first operation's rows; none: that was all. They are in the order of the first
    /// operation's rows.
    pub async fn next_batch(&mut self, transaction: &mut Transaction) -> Result<Vec<Tuple>> {
        while let Some(batch) = self.root.next_batch(transaction, self.mode).await? {
            let mut tuples: Vec<Tuple> = batch.into_iter().map(|row| vec![Some(row)]).collect();
            for link in &self.links {
                tuples = follow(link, transaction, tuples, self.mode).await?;
            }
            if !tuples.is_empty() {
                return Ok(tuples);
            }
        }
        Ok(Vec::new())
    }
}

/// The tuples with what the link finds for them.
async fn follow(
    link: &OpenLink,
    transaction: &mut Transaction,
    tuples: Vec<Tuple>,
    mode: ReadMode,
) -> Result<Vec<Tuple>> {
    let keys = tuples.iter().map(|tuple| link.key_of(tuple)).collect::<Result<Vec<_>>>()?;
    // Each key once, in their order.
    let distinct: BTreeMap<&[u8], ()> = keys.iter().flatten().map(|key| (key.as_slice(), ())).collect();
    let distinct = distinct.into_keys().map(<[u8]>::to_vec).collect();
    let found = link.rows_for(transaction, distinct, mode).await?;
    let mut longer = Vec::with_capacity(tuples.len());
    for (tuple, key) in tuples.into_iter().zip(keys) {
        let rows = key.as_ref().and_then(|key| found.get(key)).map_or(&[][..], Vec::as_slice);
        let none = (rows.is_empty() && link.is_left).then_some(None);
        for row in rows.iter().cloned().map(Some).chain(none) {
            let mut one = tuple.clone();
            one.push(row);
            longer.push(one);
        }
    }
    Ok(longer)
}

impl Transaction {
    /// Begins linked operations.
    pub fn linked(&mut self, linked: &Linked) -> Result<LinkedRows> {
        self.start()?;
        linked.open(self)
    }

    /// All tuples of linked operations.
    pub async fn linked_all(&mut self, linked: &Linked) -> Result<Vec<Tuple>> {
        let mut rows = self.linked(linked)?;
        let mut all = Vec::new();
        loop {
            let mut batch = rows.next_batch(self).await?;
            if batch.is_empty() {
                return Ok(all);
            }
            all.append(&mut batch);
        }
    }
}
