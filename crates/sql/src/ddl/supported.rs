//! Statements that are understood and not offered, each refused by its name.

use shoal_parser::ast::{Statement, TablespaceKind};
use shoal_types::{Error, Result};

/// Errors: 1235 with the statement's name.
pub fn check_supported(statement: &Statement) -> Result<()> {
    match refused_name(statement) {
        Some(name) => Err(Error::unsupported(name)),
        None => Ok(()),
    }
}

fn refused_name(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Tablespace(tablespace) => match tablespace.kind {
            TablespaceKind::Tablespace => "TABLESPACE",
            TablespaceKind::UndoTablespace => "UNDO TABLESPACE",
            TablespaceKind::LogfileGroup => "LOGFILE GROUP",
        },
        Statement::CreateServer(_) => "CREATE SERVER",
        Statement::AlterServer(_) => "ALTER SERVER",
        Statement::DropServer { .. } => "DROP SERVER",
        Statement::CreateSpatialReferenceSystem(_) => "CREATE SPATIAL REFERENCE SYSTEM",
        Statement::DropSpatialReferenceSystem { .. } => "DROP SPATIAL REFERENCE SYSTEM",
        Statement::ResourceGroup(_) => "RESOURCE GROUP",
        Statement::CreateLoadableFunction(_) => "CREATE FUNCTION ... SONAME",
        Statement::Xa(_) => "XA",
        Statement::LockInstanceForBackup | Statement::UnlockInstance => "LOCK INSTANCE",
        Statement::ImportTable(_) => "IMPORT TABLE",
        Statement::Help(_) => "HELP",
        Statement::Reset(_) => "RESET",
        Statement::PurgeBinaryLogs(_) => "PURGE BINARY LOGS",
        Statement::CacheIndex { .. } => "CACHE INDEX",
        Statement::LoadIndex(_) => "LOAD INDEX INTO CACHE",
        Statement::InstallPlugin { .. } => "INSTALL PLUGIN",
        Statement::UninstallPlugin(_) => "UNINSTALL PLUGIN",
        Statement::AlterInstance(_) => "ALTER INSTANCE",
        Statement::Shutdown => "SHUTDOWN",
        Statement::Restart => "RESTART",
        Statement::Clone(_) => "CLONE",
        Statement::Replication(_) => "replication statements",
        _ => return None,
    })
}
