//! The statement: one variant for each kind MySQL has.
//!
//! The bodies of stored programs, EXPLAIN and SHOW PARSE_TREE hold statements themselves, so those are parts of this module.

mod routine;
mod show;

pub use routine::*;
pub use show::*;

use super::*;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    // Rows.
    /// SELECT, VALUES, TABLE, with their WITH clauses.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// LOAD DATA and LOAD XML.
    LoadData(Box<LoadData>),
    /// `IMPORT TABLE FROM 'file', ..`.
    ImportTable(Vec<Vec<u8>>),
    /// CALL.
    Call(Box<Call>),
    /// `DO expr, ..`: computed, without a result.
    Do(Vec<Expr>),
    /// HANDLER.
    Handler(Box<Handler>),

    // Tables and indexes.
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// DROP TABLE.
    DropTable(DropTable),
    /// `RENAME TABLE from TO to, ..`: (from, to) pairs, one after the other.
    RenameTables(Vec<(ObjectName, ObjectName)>),
    /// `TRUNCATE [TABLE] name`.
    TruncateTable(ObjectName),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// DROP INDEX.
    DropIndex(Box<DropIndex>),

    // Other objects.
    /// CREATE DATABASE, CREATE SCHEMA.
    CreateDatabase(CreateDatabase),
    /// ALTER DATABASE, ALTER SCHEMA.
    AlterDatabase(AlterDatabase),
    /// `DROP DATABASE | SCHEMA [IF EXISTS] name`.
    DropDatabase {
        /// The schema.
        name: Ident,
        /// IF EXISTS: a schema that is not there gives a note, not an error.
        if_exists: bool,
    },
    /// CREATE VIEW.
    CreateView(Box<ViewDefinition>),
    /// ALTER VIEW.
    AlterView(Box<ViewDefinition>),
    /// DROP VIEW.
    DropView(DropObjects),
    /// CREATE, ALTER and DROP of TABLESPACE, UNDO TABLESPACE and LOGFILE GROUP.
    Tablespace(Box<Tablespace>),
    /// CREATE SERVER.
    CreateServer(ServerDefinition),
    /// ALTER SERVER.
    AlterServer(ServerDefinition),
    /// `DROP SERVER [IF EXISTS] name`.
    DropServer {
        /// The server.
        name: Ident,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE SPATIAL REFERENCE SYSTEM.
    CreateSpatialReferenceSystem(SpatialReferenceSystem),
    /// `DROP SPATIAL REFERENCE SYSTEM [IF EXISTS] srid`.
    DropSpatialReferenceSystem {
        /// The number of the spatial reference system.
        srid: u64,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE, ALTER, DROP and SET RESOURCE GROUP.
    ResourceGroup(ResourceGroup),

    // Stored programs.
    /// CREATE PROCEDURE.
    CreateProcedure(Box<CreateRoutine>),
    /// CREATE FUNCTION of a stored function.
    CreateFunction(Box<CreateRoutine>),
    /// CREATE FUNCTION of a function in a shared library.
    CreateLoadableFunction(CreateLoadableFunction),
    /// ALTER PROCEDURE and ALTER FUNCTION.
    AlterRoutine(AlterRoutine),
    /// DROP PROCEDURE.
    DropProcedure(DropObjects),
    /// DROP FUNCTION.
    DropFunction(DropObjects),
    /// CREATE TRIGGER.
    CreateTrigger(Box<CreateTrigger>),
    /// DROP TRIGGER.
    DropTrigger(DropObjects),
    /// CREATE EVENT.
    CreateEvent(Box<EventDefinition>),
    /// ALTER EVENT.
    AlterEvent(Box<EventDefinition>),
    /// DROP EVENT.
    DropEvent(DropObjects),
    /// SIGNAL and RESIGNAL.
    Signal(Signal),
    /// GET DIAGNOSTICS.
    GetDiagnostics(GetDiagnostics),

    // Session.
    /// `USE schema`.
    Use(Ident),
    /// `SET assignment, ..`.
    Set(Vec<SetAssignment>),
    /// SET TRANSACTION.
    SetTransaction(SetTransaction),
    /// SET PASSWORD.
    SetPassword(SetPassword),
    /// `SET ROLE roles`.
    SetRole(RoleSelection),
    /// `SET DEFAULT ROLE roles TO accounts`.
    SetDefaultRole {
        /// Which roles.
        roles: RoleSelection,
        /// Of which accounts.
        to: Vec<AccountName>,
    },
    /// START TRANSACTION and BEGIN.
    StartTransaction(StartTransaction),
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK.
    Rollback(Completion),
    /// `SAVEPOINT name`.
    Savepoint(Ident),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackToSavepoint(Ident),
    /// `RELEASE SAVEPOINT name`.
    ReleaseSavepoint(Ident),
    /// XA.
    Xa(Xa),
    /// LOCK TABLES.
    LockTables(Vec<TableLock>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstanceForBackup,
    /// UNLOCK INSTANCE.
    UnlockInstance,
    /// PREPARE.
    Prepare(Prepare),
    /// EXECUTE.
    Execute(Execute),
    /// `DEALLOCATE | DROP PREPARE name`.
    Deallocate(Ident),

    // Looking at things.
    /// SHOW.
    Show(Box<Show>),
    /// `DESCRIBE table`.
    Describe(Box<Describe>),
    /// `EXPLAIN statement`.
    Explain(Box<Explain>),
    /// `HELP 'topic'`.
    Help(Vec<u8>),

    // Accounts.
    /// CREATE USER.
    CreateUser(Box<UserDefinition>),
    /// ALTER USER.
    AlterUser(Box<UserDefinition>),
    /// DROP USER.
    DropUser(DropAccounts),
    /// `RENAME USER from TO to, ..`: (from, to) pairs.
    RenameUsers(Vec<(AccountName, AccountName)>),
    /// `CREATE ROLE [IF NOT EXISTS] roles`.
    CreateRole {
        /// IF NOT EXISTS: a role that is there already gives a warning, not an error.
        if_not_exists: bool,
        /// At least one.
        roles: Vec<AccountName>,
    },
    /// DROP ROLE.
    DropRole(DropAccounts),
    /// GRANT.
    Grant(Box<Grant>),
    /// REVOKE.
    Revoke(Box<Revoke>),

    // Administration.
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.
    TableMaintenance(Box<TableMaintenance>),
    /// FLUSH.
    Flush(Flush),
    /// KILL.
    Kill(Kill),
    /// `RESET option, ..`.
    Reset(Vec<Reset>),
    /// PURGE BINARY LOGS.
    PurgeBinaryLogs(PurgeTo),
    /// `CACHE INDEX tables IN cache`.
    CacheIndex {
        /// At least one.
        tables: Vec<KeyCacheTable>,
        /// `None`: the DEFAULT key cache.
        cache: Option<Ident>,
    },
    /// `LOAD INDEX INTO CACHE tables`.
    LoadIndex(Vec<KeyCacheTable>),
    /// `INSTALL PLUGIN name SONAME 'library'`.
    InstallPlugin {
        /// The plugin.
        name: Ident,
        /// The file with it.
        library: Vec<u8>,
    },
    /// `UNINSTALL PLUGIN name`.
    UninstallPlugin(Ident),
    /// `INSTALL COMPONENT 'urn', .. [SET ..]`.
    InstallComponents {
        /// At least one.
        urns: Vec<Vec<u8>>,
        /// The components' variables.
        set: Vec<SetAssignment>,
    },
    /// `UNINSTALL COMPONENT 'urn', ..`.
    UninstallComponents(Vec<Vec<u8>>),
    /// The words after ALTER INSTANCE, upper case, one space apart.
    AlterInstance(String),
    /// SHUTDOWN.
    Shutdown,
    /// RESTART.
    Restart,
    /// CLONE.
    Clone(CloneInstance),
    /// Statements about MySQL's replication.
    Replication(Box<Replication>),
}
