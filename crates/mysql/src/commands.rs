//! One command of a logged-in client: its packet decoded, the session called, the reply written.

use hashbrown::HashMap;
use shoal_sql::frontend::{FrontendSession, Prepared, RowFormat, Summary, ends_connection};
use shoal_types::{Error, Result, Value};

use crate::constants::{Capabilities, command};
use crate::packet::{Malformed, PacketReader, PacketWriter, Payload};
use crate::parameters::{BoundParameters, query_attribute};
use crate::refusal::Refusal;
use crate::result::{
    ColumnEncoder, Reply, ReplyParts, SessionStatus, Shape, write_definition, write_end_of_rows, write_eof,
    write_ok,
};
use crate::stream::Stream;
use crate::worker::Registration;

/// Flags of COM_STMT_EXECUTE.
const CURSOR_READ_ONLY: u8 = 1;
const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// Values of COM_SET_OPTION.
const MULTI_STATEMENTS_ON: u16 = 0;
const MULTI_STATEMENTS_OFF: u16 = 1;

/// Parameters, and bytes of one, whose buffers wait for the next execution.
const VALUES_KEPT_MAX: usize = 64;
const VALUE_SIZE_KEPT_MAX: usize = 4096;

/// Buffers that commands use again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    pub encoders: Vec<ColumnEncoder>,
    values: Vec<Value>,
    statements: HashMap<u32, BoundParameters, foldhash::fast::FixedState>,
    /// What the long values of all of them take.
    long_data_bytes: usize,
}

impl Scratch {
    /// Lets go of the memory of large parameters.
    fn shrink(&mut self) {
        if self.values.len() > VALUES_KEPT_MAX {
            self.values = Vec::new();
        }
        for value in &mut self.values {
            if matches!(value, Value::Str(text) if text.capacity() > VALUE_SIZE_KEPT_MAX) {
                *value = Value::Null;
            }
        }
    }

    /// The prepared statements are gone (COM_RESET_CONNECTION, COM_CHANGE_USER).
    pub fn forget_statements(&mut self) {
        self.statements.clear();
        self.long_data_bytes = 0;
    }

    /// Does something to a statement's long values, and has the session count what all of them take then.
    fn with_long_data<S: FrontendSession, T>(
        &mut self,
        statement_id: u32,
        session: &mut S,
        change: impl FnOnce(&mut BoundParameters, &mut Vec<Value>) -> T,
    ) -> Result<T> {
        let bound = self.statements.entry(statement_id).or_default();
        let before = bound.long_data_bytes();
        let outcome = change(bound, &mut self.values);
        let after = bound.long_data_bytes();
        if before != after {
            self.long_data_bytes = self.long_data_bytes - before + after;
            session.hold_long_data(self.long_data_bytes)?;
        }
        Ok(outcome)
    }
}

/// The parts of a connection that a command writes to.
pub struct CommandContext<'a> {
    pub stream: &'a Stream,
    pub output: &'a mut PacketWriter,
    pub scratch: &'a mut Scratch,
    pub registration: &'a Registration,
    pub capabilities: Capabilities,
}

/// Bytes that followed a local file, or nothing. Errors end the connection.
type Outcome = Result<Option<PacketReader>>;

/// Runs the command `code` with the rest of its packet. COM_QUIT and COM_CHANGE_USER are the connection's own.
pub async fn run<S: FrontendSession>(
    code: u8,
    body: &[u8],
    session: &mut S,
    context: &mut CommandContext<'_>,
) -> Outcome {
    match code {
        command::QUERY => return query(body, session, context).await,
        command::STMT_EXECUTE => return execute(body, session, context).await,
        command::STMT_PREPARE => return prepare(body, session, context).await,
        command::STMT_CLOSE => close_statement(body, session, context),
        command::STMT_FETCH => return fetch(body, session, context).await,
        command::STMT_RESET => {
            let reset = statement_id(body).and_then(|id| reset_statement(id, session, context));
            answer(reset, session, context);
        }
        command::STMT_SEND_LONG_DATA => return send_long_data(body, session, context),
        command::PING => {
            session.note_command("Ping");
            answer(Ok(()), session, context);
        }
        command::INIT_DB => init_database(body, session, context).await,
        command::FIELD_LIST => return field_list(body, session, context).await,
        command::STATISTICS => {
            session.note_command("Statistics");
            context.output.packet(session.statistics().as_bytes());
        }
        command::PROCESS_INFO => return query_text(b"SHOW PROCESSLIST", session, context).await,
        command::PROCESS_KILL => {
            let killed = match Payload::new(body).u32() {
                Ok(id) => session.kill(id).await.map_err(Refusal::from),
                Err(malformed) => Err(malformed.into()),
            };
            answer(killed, session, context);
        }
        command::SET_OPTION => set_option(body, session, context),
        command::RESET_CONNECTION => {
            session.note_command("Reset Connection");
            context.scratch.forget_statements();
            let reset = session.reset().await.map_err(Refusal::from);
            answer(reset, session, context);
        }
        command::DEBUG => context.refuse(&Refusal::unsupported_command("COM_DEBUG")),
        command::SHUTDOWN => context.refuse(&Refusal::unsupported_command("COM_SHUTDOWN")),
        _ => context.refuse(&Refusal::unknown_command()),
    }
    Ok(None)
}

impl CommandContext<'_> {
    fn refuse(&mut self, refusal: &Refusal) {
        refusal.write(self.capabilities, self.output);
    }

    fn reply<S: FrontendSession>(&mut self, session: &S, shape: Shape) -> Reply<'_> {
        reply_on(
            self.stream,
            self.output,
            &mut self.scratch.encoders,
            self.registration,
            self.capabilities,
            session,
            shape,
        )
    }
}

fn reply_on<'a, S: FrontendSession>(
    stream: &'a Stream,
    output: &'a mut PacketWriter,
    encoders: &'a mut Vec<ColumnEncoder>,
    registration: &'a Registration,
    capabilities: Capabilities,
    session: &S,
    shape: Shape,
) -> Reply<'a> {
    let parts = ReplyParts {
        stream,
        output,
        encoders,
        registration,
        capabilities,
        session_status: session_status(session),
        result_collation: session.result_collation(),
        packet_size_max: session.max_allowed_packet(),
    };
    Reply::new(parts, shape)
}

fn session_status<S: FrontendSession>(session: &S) -> SessionStatus {
    SessionStatus::of(&session.status())
}

/// An OK packet or the refusal.
fn answer<S: FrontendSession>(done: Result<(), Refusal>, session: &S, context: &mut CommandContext<'_>) {
    match done {
        Ok(()) => write_ok(&session.status(), context.capabilities, context.output),
        Err(refusal) => context.refuse(&refusal),
    }
}

async fn conclude(ended: Result<()>, mut reply: Reply<'_>) -> Outcome {
    match ended {
        Ok(()) => reply.settle().await,
        Err(error) => {
            reply.fail(&error);
            Err(error)
        }
    }
}

async fn query<S: FrontendSession>(body: &[u8], session: &mut S, context: &mut CommandContext<'_>) -> Outcome {
    let mut fields = Payload::new(body);
    if context.capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
        match query_attribute(&mut fields, session.wanted_attribute()) {
            Ok(Some(value)) => session.set_attribute(value),
            Ok(None) => {}
            Err(_) => {
                context.refuse(&Refusal::malformed_packet());
                return Ok(None);
            }
        }
    }
    query_text(fields.rest(), session, context).await
}

async fn query_text<S: FrontendSession>(sql: &[u8], session: &mut S, context: &mut CommandContext<'_>) -> Outcome {
    let mut reply = context.reply(session, Shape::Rows(RowFormat::Text));
    let ended = session.query(sql, &mut reply).await;
    conclude(ended, reply).await
}

async fn init_database<S: FrontendSession>(name: &[u8], session: &mut S, context: &mut CommandContext<'_>) {
    let database = String::from_utf8_lossy(name);
    match session.change_database(&database).await {
        Ok(()) => write_ok(&session.concluding_status(), context.capabilities, context.output),
        Err(error) => context.refuse(&Refusal::from(error)),
    }
}

async fn field_list<S: FrontendSession>(
    body: &[u8],
    session: &mut S,
    context: &mut CommandContext<'_>,
) -> Outcome {
    let mut fields = Payload::new(body);
    let Ok(table) = fields.terminated() else {
        context.refuse(&Refusal::malformed_packet());
        return Ok(None);
    };
    let table = String::from_utf8_lossy(table);
    let pattern = String::from_utf8_lossy(fields.terminated_or_rest());
    let mut reply = context.reply(session, Shape::FieldList);
    let ended = session.list_fields(&table, &pattern, &mut reply).await;
    conclude(ended, reply).await
}

fn set_option<S: FrontendSession>(body: &[u8], session: &mut S, context: &mut CommandContext<'_>) {
    match Payload::new(body).u16() {
        Ok(option @ (MULTI_STATEMENTS_ON | MULTI_STATEMENTS_OFF)) => {
            session.set_multi_statements(option == MULTI_STATEMENTS_ON);
            let flags = session_status(session).0;
            write_end_of_rows(&Summary::default(), flags, context.capabilities, context.output);
        }
        Ok(_) => context.refuse(&Refusal::unknown_command()),
        Err(Malformed) => context.refuse(&Refusal::malformed_packet()),
    }
}

async fn prepare<S: FrontendSession>(sql: &[u8], session: &mut S, context: &mut CommandContext<'_>) -> Outcome {
    let prepared = match session.prepare(sql).await {
        Ok(prepared) => prepared,
        Err(error) => {
            context.refuse(&Refusal::from(&error));
            return if ends_connection(&error) { Err(error) } else { Ok(None) };
        }
    };
    let counts = (u16::try_from(prepared.columns.len()), u16::try_from(prepared.parameters.len()));
    let (Ok(column_count), Ok(parameter_count)) = counts else {
        session.close_statement(prepared.statement_id);
        context.refuse(&Refusal::too_many_placeholders());
        return Ok(None);
    };
    context.scratch.statements.insert(prepared.statement_id, BoundParameters::default());
    let payload = context.output.begin();
    payload.push(0);
    payload.extend_from_slice(&prepared.statement_id.to_le_bytes());
    payload.extend_from_slice(&column_count.to_le_bytes());
    payload.extend_from_slice(&parameter_count.to_le_bytes());
    payload.push(0);
    payload.extend_from_slice(&prepared.warnings.to_le_bytes());
    context.output.end();
    write_shape(&prepared, session, context);
    Ok(None)
}

fn write_shape<S: FrontendSession>(prepared: &Prepared, session: &S, context: &mut CommandContext<'_>) {
    let collation = session.result_collation();
    for definitions in [&prepared.parameters, &prepared.columns] {
        for definition in definitions {
            write_definition(definition, collation, false, context.output);
        }
        if !definitions.is_empty() && !context.capabilities.has(Capabilities::DEPRECATE_EOF) {
            write_eof(0, session_status(session).0, context.output);
        }
    }
}

async fn execute<S: FrontendSession>(body: &[u8], session: &mut S, context: &mut CommandContext<'_>) -> Outcome {
    let (statement_id, cursor) = match decode_execute(body, session, context) {
        Ok(decoded) => decoded,
        Err(refusal) => {
            context.refuse(&refusal);
            return Ok(None);
        }
    };
    let shape = if cursor { Shape::Cursor } else { Shape::Rows(RowFormat::Binary) };
    let Scratch { encoders, values, .. } = &mut *context.scratch;
    let mut reply = reply_on(
        context.stream,
        context.output,
        encoders,
        context.registration,
        context.capabilities,
        session,
        shape,
    );
    let ended = session.execute(statement_id, values, cursor, &mut reply).await;
    let outcome = conclude(ended, reply).await;
    context.scratch.shrink();
    outcome
}

/// The statement, whether it wants a cursor, and its parameters in the context's values.
fn decode_execute<S: FrontendSession>(
    body: &[u8],
    session: &mut S,
    context: &mut CommandContext<'_>,
) -> Result<(u32, bool), Refusal> {
    let mut fields = Payload::new(body);
    let statement_id = fields.u32()?;
    let flags = fields.u8()?;
    let _iterations = fields.u32()?;
    let Some(count) = session.parameter_count(statement_id) else {
        return Err(Refusal::unknown_statement(statement_id, "mysqld_stmt_execute"));
    };
    let counts = count > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0;
    let attributes = counts && context.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
    let conversion = session.parameter_conversion();
    let wanted = if attributes { session.wanted_attribute() } else { None };
    let attribute = context.scratch.with_long_data(statement_id, session, |bound, values| {
        bound.want_attribute(wanted);
        let refusal = bound.take_refusal();
        let decoded = match refusal {
            Some(refusal) => Err(refusal),
            None => bound
                .decode(&mut fields, count, attributes, values)
                .map_err(|_| Refusal::wrong_execute_arguments()),
        };
        bound.clear_long_data();
        decoded?;
        if let Some((from, to)) = conversion {
            bound.convert_texts(from, to, values);
        }
        Ok::<_, Refusal>(bound.take_attribute())
    })??;
    if let Some(value) = attribute {
        session.set_attribute(value);
    }
    Ok((statement_id, flags & CURSOR_READ_ONLY != 0))
}

async fn fetch<S: FrontendSession>(body: &[u8], session: &mut S, context: &mut CommandContext<'_>) -> Outcome {
    let mut fields = Payload::new(body);
    let (Ok(statement_id), Ok(rows)) = (fields.u32(), fields.u32()) else {
        context.refuse(&Refusal::malformed_packet());
        return Ok(None);
    };
    if session.parameter_count(statement_id).is_none() {
        context.refuse(&Refusal::unknown_statement(statement_id, "mysqld_stmt_fetch"));
        return Ok(None);
    }
    let mut reply = context.reply(session, Shape::Fetch(rows));
    let ended = session.fetch(statement_id, rows, &mut reply).await;
    conclude(ended, reply).await
}

fn statement_id(body: &[u8]) -> Result<u32, Refusal> {
    Ok(Payload::new(body).u32()?)
}

fn reset_statement<S: FrontendSession>(
    statement_id: u32,
    session: &mut S,
    context: &mut CommandContext<'_>,
) -> Result<(), Refusal> {
    if session.parameter_count(statement_id).is_none() {
        return Err(Refusal::unknown_statement(statement_id, "mysqld_stmt_reset"));
    }
    context.scratch.with_long_data(statement_id, session, |bound, _| bound.clear_long_data())?;
    session.reset_statement(statement_id).map_err(|error: Error| Refusal::from(error))
}

/// COM_STMT_CLOSE has no reply.
fn close_statement<S: FrontendSession>(body: &[u8], session: &mut S, context: &mut CommandContext<'_>) {
    if let Ok(statement_id) = statement_id(body) {
        // It can only be less.
        let _ = context.scratch.with_long_data(statement_id, session, |bound, _| bound.clear_long_data());
        context.scratch.statements.remove(&statement_id);
        session.close_statement(statement_id);
    }
}

/// COM_STMT_SEND_LONG_DATA has no reply; what is wrong with it shows at the next execution. Only a connection that holds too much
/// ends at once.
fn send_long_data<S: FrontendSession>(body: &[u8], session: &mut S, context: &mut CommandContext<'_>) -> Outcome {
    let mut fields = Payload::new(body);
    let (Ok(statement_id), Ok(parameter)) = (fields.u32(), fields.u16()) else { return Ok(None) };
    let Some(count) = session.parameter_count(statement_id) else { return Ok(None) };
    let (data, limit) = (fields.rest(), session.max_allowed_packet());
    let appended = context.scratch.with_long_data(statement_id, session, |bound, _| {
        bound.append_long_data(usize::from(parameter), count, data, limit);
    });
    match appended {
        Ok(()) => Ok(None),
        Err(error) if ends_connection(&error) => {
            context.refuse(&Refusal::from(&error));
            Err(error)
        }
        Err(error) => {
            // It can only be less.
            let _ = context.scratch.with_long_data(statement_id, session, |bound, _| {
                bound.refuse_long_data(Refusal::from(&error));
            });
            Ok(None)
        }
    }
}
