//! Where the results of a procedure's statements go: one result after the other, without the answers of statements that have no
//! result. The protocol servers' sinks are hidden behind a trait object here, as procedures call each other.

use shoal_types::row::RowRef;
use shoal_types::{Error, Result, TimeZone, Value};

use crate::execute::LocalFuture;
use crate::execute::memory::{Held, StatementMemory, row_bytes};
use crate::frontend::{ResultColumn, ResultSink, Summary};

/// A [`ResultSink`] as an object.
trait AnySink {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<()>;
    fn row(&mut self, values: &[Value]) -> Result<()>;
    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()>;
    fn finish(&mut self, summary: &Summary) -> Result<()>;
    fn buffered_bytes(&self) -> usize;
    fn flush(&mut self) -> LocalFuture<'_, Result<()>>;
}

impl<S: ResultSink> AnySink for S {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<()> {
        ResultSink::columns(self, columns)
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        ResultSink::row(self, values)
    }

    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()> {
        ResultSink::stored_row(self, row, projection, zone)
    }

    fn finish(&mut self, summary: &Summary) -> Result<()> {
        ResultSink::finish(self, summary)
    }

    fn buffered_bytes(&self) -> usize {
        ResultSink::buffered_bytes(self)
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<()>> {
        Box::pin(ResultSink::flush(self))
    }
}

/// See the module.
pub struct ProgramSink<'a> {
    inner: &'a mut dyn AnySink,
    /// A result has begun.
    has_columns: bool,
}

impl<'a> ProgramSink<'a> {
    pub fn new<S: ResultSink>(inner: &'a mut S) -> ProgramSink<'a> {
        ProgramSink { inner, has_columns: false }
    }
}

impl ResultSink for ProgramSink<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.has_columns = true;
        self.inner.columns(columns)
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.inner.row(values)
    }

    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()> {
        self.inner.stored_row(row, projection, zone)
    }

    fn finish(&mut self, summary: &Summary) -> Result<()> {
        // What CALL itself has to say follows behind all results.
        if !std::mem::take(&mut self.has_columns) {
            return Ok(());
        }
        self.inner.finish(&Summary { more_results: true, ..summary.clone() })
    }

    fn error(&mut self, _error: &Error) {}

    fn buffered_bytes(&self) -> usize {
        self.inner.buffered_bytes()
    }

    async fn flush(&mut self) -> Result<()> {
        self.inner.flush().await
    }

    async fn request_local_file(&mut self, _name: &[u8]) -> Result<()> {
        Err(Error::unsupported("LOAD DATA LOCAL in stored programs"))
    }
}

/// Keeps the rows of a query.
pub struct Capture {
    pub rows: Vec<Vec<Value>>,
    pub held: Held,
    /// More rows are an error (1172).
    pub limit: Option<usize>,
}

impl Capture {
    pub fn new(memory: &std::rc::Rc<StatementMemory>, limit: Option<usize>) -> Capture {
        Capture { rows: Vec::new(), held: Held::new(memory), limit }
    }

    fn keep(&mut self, row: Vec<Value>) -> Result<()> {
        if self.limit.is_some_and(|limit| self.rows.len() >= limit) {
            let message = "Result consisted of more than one row";
            return Err(Error::new(shoal_types::ErrorCode::TooManyRows, message));
        }
        self.held.add(row_bytes(&row))?;
        self.rows.push(row);
        Ok(())
    }
}

impl ResultSink for Capture {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.keep(values.to_vec())
    }

    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()> {
        self.keep(projection.iter().map(|&column| row.value(column, zone)).collect())
    }

    fn finish(&mut self, _summary: &Summary) -> Result<()> {
        Ok(())
    }

    fn error(&mut self, _error: &Error) {}
}

/// Takes results that nobody wants.
pub struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _values: &[Value]) -> Result<()> {
        Ok(())
    }

    fn stored_row(&mut self, _row: RowRef<'_>, _projection: &[usize], _zone: &TimeZone) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, _summary: &Summary) -> Result<()> {
        Ok(())
    }

    fn error(&mut self, _error: &Error) {}
}
