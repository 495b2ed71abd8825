//! What a scan lets through: rows that fulfil a condition, and of these some columns.

use shoal_types::Result;
use shoal_types::row::{RowLayout, RowRef};

use super::predicate::Predicate;
use crate::api::ScanRequest;
use crate::protocol::{Reader, malformed, put_u32};

/// What of the rows of a scan is wanted.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    pub condition: Option<Predicate>,
    /// Positions in the table's rows; rows that are shown have these columns alone. For scans without locks that are not merged from
    /// several partitions; others show whole rows.
    pub columns: Option<Vec<usize>>,
}

/// A request with its sieve.
pub(crate) struct Sifted {
    pub request: ScanRequest,
    pub sieve: Sieve,
    /// Of the rows that are shown, if they have some columns alone.
    projected: Option<RowLayout>,
}

impl std::ops::Deref for Sifted {
    type Target = ScanRequest;

    fn deref(&self) -> &ScanRequest {
        &self.request
    }
}

impl Sifted {
    pub fn new(request: ScanRequest, mut sieve: Sieve, may_project: bool) -> Sifted {
        let types = request.table.layout.types();
        sieve.columns =
            sieve.columns.filter(|columns| may_project && columns.iter().all(|&column| column < types.len()));
        let layout =
            |columns: &Vec<usize>| RowLayout::new(columns.iter().map(|&column| types[column].clone()).collect());
        let projected = sieve.columns.as_ref().map(layout);
        Sifted { request, sieve, projected }
    }

    /// The layout of the rows that are shown.
    pub fn layout(&self) -> &RowLayout {
        self.projected.as_ref().unwrap_or(&self.request.table.layout)
    }

    pub fn is_projected(&self) -> bool {
        self.projected.is_some()
    }

    /// Shows a row that lies here, if it passes.
    pub fn show<R>(
        &self,
        row: RowRef<'_>,
        buffer: &mut Vec<u8>,
        refused: R,
        show: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<R> {
        if let Some(condition) = &self.sieve.condition
            && condition.test(row, buffer) != Some(true)
        {
            return Ok(refused);
        }
        let Some((layout, columns)) = self.projected.as_ref().zip(self.sieve.columns.as_ref()) else {
            return Ok(show(row));
        };
        buffer.clear();
        layout.encode_projected(row, columns, buffer)?;
        Ok(show(layout.row(buffer)))
    }
}

/// A sieve on its way to a leader, and there.
#[derive(Default)]
pub(crate) struct WireSieve {
    condition: Option<Predicate>,
    columns: Option<Vec<usize>>,
    /// The locks of rows that do not pass are given back.
    pub unlocks: bool,
    layout: Option<RowLayout>,
    key: Vec<u8>,
}

const CONDITION: u8 = 1;
const COLUMNS: u8 = 2;
const UNLOCKS: u8 = 4;

impl WireSieve {
    pub fn put(sieve: &Sieve, unlocks: bool, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(sieve.condition.is_some(), CONDITION)
            | flag(sieve.columns.is_some(), COLUMNS)
            | flag(unlocks, UNLOCKS);
        if flags == 0 {
            return;
        }
        out.push(flags);
        if let Some(condition) = &sieve.condition {
            condition.put(out);
        }
        if let Some(columns) = &sieve.columns {
            put_u32(out, columns.len() as u32);
            columns.iter().for_each(|&column| put_u32(out, column as u32));
        }
    }

    pub fn read(bytes: &[u8]) -> Result<WireSieve> {
        if bytes.is_empty() {
            return Ok(WireSieve::default());
        }
        let mut reader = Reader::new(bytes);
        let flags = reader.u8()?;
        let condition = if flags & CONDITION != 0 { Some(Predicate::read(&mut reader)?) } else { None };
        let columns = match flags & COLUMNS != 0 {
            true => {
                let count = reader.u32()?;
                Some((0..count).map(|_| Ok(reader.u32()? as usize)).collect::<Result<_>>()?)
            }
            false => None,
        };
        reader.end()?;
        Ok(WireSieve { condition, columns, unlocks: flags & UNLOCKS != 0, ..WireSieve::default() })
    }

    pub fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    pub fn passes(&mut self, row: RowRef<'_>) -> bool {
        match &self.condition {
            Some(condition) => condition.test(row, &mut self.key) == Some(true),
            None => true,
        }
    }

    /// Appends what is wanted of a row that has passed.
    pub fn append(&mut self, row: RowRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        let Some(columns) = &self.columns else {
            out.extend_from_slice(row.bytes());
            return Ok(());
        };
        if self.layout.is_none() {
            let types = row.layout().types();
            let chosen = columns.iter().map(|&column| types.get(column).cloned());
            self.layout = Some(RowLayout::new(chosen.collect::<Option<_>>().ok_or_else(malformed)?));
        }
        match &self.layout {
            Some(layout) => layout.encode_projected(row, columns, out),
            None => Ok(()),
        }
    }
}
