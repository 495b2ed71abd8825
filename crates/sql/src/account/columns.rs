//! Privileges on columns: what GRANT and REVOKE do with them, and how they are shown.

use shoal_cluster::{ColumnGrant, Table, User};
use shoal_parser::ast::Privilege;
use shoal_parser::quote_identifier;
use shoal_types::{Error, ErrorCode, Result};

use super::Privileges;
use super::privilege::Level;
use crate::ddl::errors;

/// Columns of one table with the privileges that a statement is about.
pub type ColumnPrivileges = Vec<(String, Privileges)>;

/// The columns of a statement's privileges. Errors: 1144 where no table is named, 1064 for privileges that columns do not have.
pub fn named(privileges: &[Privilege], level: Level) -> Result<ColumnPrivileges> {
    let mut found: ColumnPrivileges = Vec::new();
    for privilege in privileges.iter().filter(|privilege| !privilege.columns.is_empty()) {
        if level != Level::Table {
            let message =
                "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
            return Err(Error::new(ErrorCode::IllegalGrantForTable, message));
        }
        let bits = Privileges::by_name(&privilege.name, level)?;
        if bits.is_empty() || !Privileges::ON_COLUMNS.contains(bits) || privilege.name == "ALL PRIVILEGES" {
            return Err(errors::syntax(&format!("({}", privilege.columns[0].value)));
        }
        for column in &privilege.columns {
            match found.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&column.value)) {
                Some((_, present)) => *present = present.with(bits),
                None => found.push((column.value.clone(), bits)),
            }
        }
    }
    Ok(found)
}

/// Errors: 1054, the table has no such column.
pub fn check_exist(table: &Table, columns: &ColumnPrivileges) -> Result<()> {
    let exists = |name: &str| {
        table.schema.columns.iter().any(|column| !column.hidden && column.name.eq_ignore_ascii_case(name))
    };
    match columns.iter().find(|(name, _)| !exists(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("Unknown column '{name}' in '{}'", table.schema.name);
            Err(Error::new(ErrorCode::BadField, message))
        }
    }
}

fn is_of(grant: &ColumnGrant, database: &str, table: &str) -> bool {
    grant.database == database && grant.table == table
}

pub fn add(user: &mut User, database: &str, table: &str, columns: &ColumnPrivileges) {
    for (column, bits) in columns {
        let known = user
            .column_grants
            .iter_mut()
            .find(|grant| is_of(grant, database, table) && grant.column.eq_ignore_ascii_case(column));
        match known {
            Some(grant) => grant.privileges |= bits.0,
            None => user.column_grants.push(ColumnGrant {
                database: database.to_owned(),
                table: table.to_owned(),
                column: column.clone(),
                privileges: bits.0,
            }),
        }
    }
}

/// Takes privileges from columns, and others from all columns of the table. `false`: one of the columns has none of its privileges.
pub fn remove(
    user: &mut User,
    database: &str,
    table: &str,
    columns: &ColumnPrivileges,
    of_all: Privileges,
) -> bool {
    let mut all_had = true;
    for (column, bits) in columns {
        let known = user
            .column_grants
            .iter_mut()
            .find(|grant| is_of(grant, database, table) && grant.column.eq_ignore_ascii_case(column));
        match known.filter(|grant| grant.privileges & bits.0 != 0) {
            Some(grant) => grant.privileges &= !bits.0,
            None => all_had = false,
        }
    }
    for grant in user.column_grants.iter_mut().filter(|grant| is_of(grant, database, table)) {
        grant.privileges &= !of_all.0;
    }
    user.column_grants.retain(|grant| grant.privileges != 0);
    all_had
}

/// Tables of which an account has privileges on columns, in the order of their names.
pub fn tables(user: &User) -> Vec<(&str, &str)> {
    let mut tables: Vec<(&str, &str)> =
        user.column_grants.iter().map(|grant| (grant.database.as_str(), grant.table.as_str())).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// What SHOW GRANTS says of a table: `SELECT, INSERT (`a`, `b`)`. Empty without privileges.
pub fn grant_text(user: &User, database: &str, table: &str, of_table: Privileges) -> String {
    let mut parts = Vec::new();
    let grants: Vec<&ColumnGrant> =
        user.column_grants.iter().filter(|grant| is_of(grant, database, table)).collect();
    for name in Privileges::all_at(Level::Table).names(false) {
        let Ok(one) = Privileges::by_name(name, Level::Table) else { continue };
        if of_table.contains(one) {
            parts.push(name.to_owned());
        }
        let mut columns: Vec<String> = Vec::new();
        for grant in grants.iter().filter(|grant| Privileges(grant.privileges).contains(one)) {
            let column = quote_identifier(&grant.column).to_string();
            // Roles may add what the account has itself.
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        if !columns.is_empty() {
            parts.push(format!("{name} ({})", columns.join(", ")));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(list: &[(&str, Privileges)]) -> ColumnPrivileges {
        list.iter().map(|(name, bits)| ((*name).to_owned(), *bits)).collect()
    }

    #[test]
    fn columns_are_shown_behind_the_privilege_of_the_table() {
        let (select, insert) = (Privileges::SELECT, Privileges::INSERT);
        let mut user = User::default();
        add(&mut user, "d", "t", &columns(&[("a", select), ("b", select.with(insert))]));
        add(&mut user, "d", "t", &columns(&[("A", insert)]));
        assert_eq!(tables(&user), [("d", "t")]);
        assert_eq!(grant_text(&user, "d", "t", Privileges::NONE), "SELECT (`a`, `b`), INSERT (`a`, `b`)");
        assert_eq!(
            grant_text(&user, "d", "t", select.with(Privileges::DROP)),
            "SELECT, SELECT (`a`, `b`), INSERT (`a`, `b`), DROP"
        );
        assert!(remove(&mut user, "d", "t", &columns(&[("a", select.with(insert))]), Privileges::NONE));
        assert!(!remove(&mut user, "d", "t", &columns(&[("a", select)]), Privileges::NONE));
        assert_eq!(grant_text(&user, "d", "t", Privileges::NONE), "SELECT (`b`), INSERT (`b`)");
        // Of the table means of its columns as well.
        assert!(remove(&mut user, "d", "t", &Vec::new(), select));
        assert_eq!(grant_text(&user, "d", "t", Privileges::NONE), "INSERT (`b`)");
    }
}
