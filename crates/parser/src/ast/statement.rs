//! The statement: one variant for each kind MySQL has.
//!
//! The bodies of stored programs, EXPLAIN and SHOW PARSE_TREE hold statements themselves, so those are parts of this module.

mod routine;
mod show;

pub use routine::*;
pub use show::*;

use super::*;

#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    // Rows.
    /// SELECT, VALUES, TABLE, with their WITH clauses.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    ImportTable(Vec<Vec<u8>>),
    Call(Box<Call>),
    Do(Vec<Expr>),
    Handler(Box<Handler>),

    // Tables and indexes.
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable(DropTable),
    /// (from, to) pairs.
    RenameTables(Vec<(ObjectName, ObjectName)>),
    TruncateTable(ObjectName),
    CreateIndex(Box<CreateIndex>),
    DropIndex(Box<DropIndex>),

    // Other objects.
    CreateDatabase(CreateDatabase),
    AlterDatabase(AlterDatabase),
    DropDatabase {
        name: Ident,
        if_exists: bool,
    },
    CreateView(Box<ViewDefinition>),
    AlterView(Box<ViewDefinition>),
    DropView(DropObjects),
    Tablespace(Box<Tablespace>),
    CreateServer(ServerDefinition),
    AlterServer(ServerDefinition),
    DropServer {
        name: Ident,
        if_exists: bool,
    },
    CreateSpatialReferenceSystem(SpatialReferenceSystem),
    DropSpatialReferenceSystem {
        srid: u64,
        if_exists: bool,
    },
    ResourceGroup(ResourceGroup),

    // Stored programs.
    CreateProcedure(Box<CreateRoutine>),
    CreateFunction(Box<CreateRoutine>),
    CreateLoadableFunction(CreateLoadableFunction),
    AlterRoutine(AlterRoutine),
    DropProcedure(DropObjects),
    DropFunction(DropObjects),
    CreateTrigger(Box<CreateTrigger>),
    DropTrigger(DropObjects),
    CreateEvent(Box<EventDefinition>),
    AlterEvent(Box<EventDefinition>),
    DropEvent(DropObjects),
    Signal(Signal),
    GetDiagnostics(GetDiagnostics),

    // Session.
    Use(Ident),
    Set(Vec<SetAssignment>),
    SetTransaction(SetTransaction),
    SetPassword(SetPassword),
    SetRole(RoleSelection),
    SetDefaultRole {
        roles: RoleSelection,
        to: Vec<AccountName>,
    },
    StartTransaction(StartTransaction),
    Commit(Completion),
    Rollback(Completion),
    Savepoint(Ident),
    RollbackToSavepoint(Ident),
    ReleaseSavepoint(Ident),
    Xa(Xa),
    LockTables(Vec<TableLock>),
    UnlockTables,
    LockInstanceForBackup,
    UnlockInstance,
    Prepare(Prepare),
    Execute(Execute),
    Deallocate(Ident),

    // Looking at things.
    Show(Box<Show>),
    Describe(Box<Describe>),
    Explain(Box<Explain>),
    Help(Vec<u8>),

    // Accounts.
    CreateUser(Box<UserDefinition>),
    AlterUser(Box<UserDefinition>),
    DropUser(DropAccounts),
    /// (from, to) pairs.
    RenameUsers(Vec<(AccountName, AccountName)>),
    CreateRole {
        if_not_exists: bool,
        roles: Vec<AccountName>,
    },
    DropRole(DropAccounts),
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),

    // Administration.
    TableMaintenance(Box<TableMaintenance>),
    Flush(Flush),
    Kill(Kill),
    Reset(Vec<Reset>),
    PurgeBinaryLogs(PurgeTo),
    /// None: the DEFAULT key cache.
    CacheIndex {
        tables: Vec<KeyCacheTable>,
        cache: Option<Ident>,
    },
    LoadIndex(Vec<KeyCacheTable>),
    InstallPlugin {
        name: Ident,
        library: Vec<u8>,
    },
    UninstallPlugin(Ident),
    InstallComponents {
        urns: Vec<Vec<u8>>,
        set: Vec<SetAssignment>,
    },
    UninstallComponents(Vec<Vec<u8>>),
    /// The words after ALTER INSTANCE, upper case, one space apart.
    AlterInstance(String),
    Shutdown,
    Restart,
    Clone(CloneInstance),
    Replication(Box<Replication>),
}
