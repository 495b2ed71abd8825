//! Prepared statements: parameters, long data and cursors.

use super::value::{binary_row, kind};
use super::{
    COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_FETCH, COM_STMT_PREPARE, COM_STMT_RESET, COM_STMT_SEND_LONG_DATA,
    Client, Column, Error, Reader, Reply, Result, Rows, SERVER_MORE_RESULTS_EXISTS, Value, read_eof, read_error,
};

const CURSOR_READ_ONLY: u8 = 1;

/// A statement that the server has prepared.
#[derive(Clone, Debug)]
pub struct Statement {
    pub id: u32,
    pub parameters: usize,
    pub columns: Vec<Column>,
}

impl Client {
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        self.command(COM_STMT_PREPARE, sql.as_bytes())?;
        let packet = self.channel.receive()?;
        if packet.first() == Some(&0xff) {
            return Err(read_error(&packet));
        }
        let mut reader = Reader::new(&packet);
        reader.take(1)?;
        let id = reader.u32()?;
        let columns = reader.u16()? as usize;
        let parameters = reader.u16()? as usize;
        if parameters > 0 {
            self.receive_columns(parameters)?;
        }
        let columns = match columns {
            0 => Vec::new(),
            count => self.receive_columns(count)?.0,
        };
        Ok(Statement { id, parameters, columns })
    }

    /// Runs the statement and takes its whole result.
    pub fn run_statement(&mut self, statement: &Statement, values: &[Value]) -> Result<Reply> {
        self.send_execute(statement, values, 0, &[])?;
        self.receive_result(binary_row)
    }

    /// The same of a statement with several results: a procedure's, what it gave its OUT parameters, and its end.
    pub fn run_to_the_end(&mut self, statement: &Statement, values: &[Value]) -> Result<Vec<Reply>> {
        let mut replies = vec![self.run_statement(statement, values)?];
        while replies.last().is_some_and(|reply| reply.status() & SERVER_MORE_RESULTS_EXISTS != 0) {
            replies.push(self.receive_result(binary_row)?);
        }
        Ok(replies)
    }

    /// Like [`Client::run_statement`]; the parameters numbered in `long` were sent as long data.
    pub fn run_with_long_data(
        &mut self,
        statement: &Statement,
        values: &[Value],
        long: &[usize],
    ) -> Result<Reply> {
        self.send_execute(statement, values, 0, long)?;
        self.receive_result(binary_row)
    }

    /// Opens a read-only cursor; the reply holds the columns and, if the server chose not to open one, the rows.
    pub fn open_cursor(&mut self, statement: &Statement, values: &[Value]) -> Result<Rows> {
        self.send_execute(statement, values, CURSOR_READ_ONLY, &[])?;
        self.asked_for_cursor = true;
        self.receive_result(binary_row)?.rows()
    }

    /// Takes up to `count` rows from an open cursor.
    pub fn fetch(&mut self, statement: &Statement, columns: &[Column], count: u32) -> Result<Rows> {
        let mut body = statement.id.to_le_bytes().to_vec();
        body.extend_from_slice(&count.to_le_bytes());
        self.command(COM_STMT_FETCH, &body)?;
        let mut result = Rows { columns: columns.to_vec(), ..Rows::default() };
        loop {
            let packet = self.channel.receive()?;
            if let Some((status, warnings)) = read_eof(&packet) {
                result.status = status;
                result.warnings = warnings;
                return Ok(result);
            }
            if packet.first() == Some(&0xff) {
                return Err(read_error(&packet));
            }
            result.rows.push(binary_row(&packet, &result.columns)?);
        }
    }

    /// Sends a piece of a parameter; there is no reply.
    pub fn send_long_data(&mut self, statement: &Statement, parameter: u16, data: &[u8]) -> Result<()> {
        let mut body = statement.id.to_le_bytes().to_vec();
        body.extend_from_slice(&parameter.to_le_bytes());
        body.extend_from_slice(data);
        self.command(COM_STMT_SEND_LONG_DATA, &body)
    }

    pub fn reset_statement(&mut self, statement: &Statement) -> Result<()> {
        self.command(COM_STMT_RESET, &statement.id.to_le_bytes())?;
        self.receive_reply()?.done().map(|_| ())
    }

    /// Closes the statement; there is no reply.
    pub fn close_statement(&mut self, statement: &Statement) -> Result<()> {
        self.command(COM_STMT_CLOSE, &statement.id.to_le_bytes())
    }

    fn send_execute(&mut self, statement: &Statement, values: &[Value], cursor: u8, long: &[usize]) -> Result<()> {
        if values.len() != statement.parameters {
            let (given, due) = (values.len(), statement.parameters);
            return Err(Error::Protocol(format!("{given} values for {due} parameters")));
        }
        let mut body = statement.id.to_le_bytes().to_vec();
        body.push(cursor);
        body.extend_from_slice(&1u32.to_le_bytes());
        if !values.is_empty() {
            let bitmap = body.len();
            body.resize(bitmap + values.len().div_ceil(8), 0);
            body.push(1);
            for (number, value) in values.iter().enumerate() {
                if *value == Value::Null && !long.contains(&number) {
                    body[bitmap + number / 8] |= 1 << (number % 8);
                }
                match long.contains(&number) {
                    true => body.extend_from_slice(&[kind::BLOB, 0]),
                    false => body.extend_from_slice(&value.parameter_type()),
                }
            }
            for (number, value) in values.iter().enumerate() {
                if !long.contains(&number) {
                    value.write(&mut body);
                }
            }
        }
        self.command(COM_STMT_EXECUTE, &body)
    }
}
