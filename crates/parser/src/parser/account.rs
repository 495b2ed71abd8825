//! Account names, GRANT, REVOKE, roles.

use super::{Parser, Result};
use crate::ast::{
    AccountName, DropAccounts, Grant, Grantable, Ident, ObjectName, ObjectType, Privilege, PrivilegeLevel, Revoke,
    RoleSelection, Statement,
};
use crate::lexer::{TokenKind, trim_marks};

/// What stands between GRANT or REVOKE and ON, TO or FROM: a privilege or a role, told apart by what follows the list.
enum GrantItem {
    Words { words: Vec<Ident>, columns: Vec<Ident> },
    Account(AccountName),
}

impl Parser<'_> {
    /// `user[@host]` or CURRENT_USER.
    pub(super) fn account_name(&mut self) -> Result<AccountName> {
        if self.eat("CURRENT_USER") {
            if self.eat_kind(TokenKind::LeftParen) {
                self.expect_kind(TokenKind::RightParen)?;
            }
            return Ok(AccountName::CurrentUser);
        }
        let user = if self.token.kind == TokenKind::String {
            self.take_string_token().into_owned()
        } else {
            self.ident()?.value.into_bytes()
        };
        let host = self.optional_host()?;
        Ok(AccountName::Named { user, host })
    }

    fn optional_host(&mut self) -> Result<Option<Vec<u8>>> {
        match self.token.kind {
            TokenKind::AtName => {
                let token = self.advance();
                Ok(Some(trim_marks(self.source, &token).to_vec()))
            }
            TokenKind::At => {
                self.advance();
                if self.token.kind == TokenKind::String {
                    return Ok(Some(self.take_string_token().into_owned()));
                }
                Ok(Some(self.take_ident()?.value.into_bytes()))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn account_list(&mut self) -> Result<Vec<AccountName>> {
        self.comma_list(Self::account_name)
    }

    /// DROP USER and DROP ROLE, the words taken.
    pub(super) fn drop_accounts(&mut self) -> Result<DropAccounts> {
        let if_exists = self.if_exists()?;
        let accounts = self.account_list()?;
        Ok(DropAccounts { if_exists, accounts })
    }

    /// CREATE ROLE, the words taken.
    pub(super) fn create_role(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let roles = self.account_list()?;
        Ok(Statement::CreateRole { if_not_exists, roles })
    }

    /// RENAME USER, the words taken.
    pub(super) fn rename_users(&mut self) -> Result<Statement> {
        let pairs = self.comma_list(|parser| {
            let from = parser.account_name()?;
            parser.expect("TO")?;
            Ok((from, parser.account_name()?))
        })?;
        Ok(Statement::RenameUsers(pairs))
    }

    /// GRANT, the word taken.
    pub(super) fn grant(&mut self) -> Result<Statement> {
        let what = self.grantable("TO")?;
        self.expect("TO")?;
        let to = self.account_list()?;
        let with_grant_option = self.eat("WITH");
        if with_grant_option {
            self.expect(if matches!(what, Grantable::Roles(_)) { "ADMIN" } else { "GRANT" })?;
            self.expect("OPTION")?;
        }
        let as_user = if self.eat("AS") {
            let user = self.account_name()?;
            let roles = if self.eat("WITH") {
                self.expect("ROLE")?;
                Some(self.role_selection()?)
            } else {
                None
            };
            Some((user, roles))
        } else {
            None
        };
        Ok(Statement::Grant(Box::new(Grant { what, to, with_grant_option, as_user })))
    }

    /// REVOKE, the word taken.
    pub(super) fn revoke(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let what = self.grantable("FROM")?;
        self.expect("FROM")?;
        let from = self.account_list()?;
        let ignore_unknown_user = self.eat("IGNORE");
        if ignore_unknown_user {
            self.expect_all(&["UNKNOWN", "USER"])?;
        }
        Ok(Statement::Revoke(Box::new(Revoke { if_exists, what, from, ignore_unknown_user })))
    }

    fn grantable(&mut self, stop: &str) -> Result<Grantable> {
        if self.eat_pair("PROXY", "ON") {
            return Ok(Grantable::Proxy(self.account_name()?));
        }
        let items = self.comma_list(|parser| parser.grant_item(stop))?;
        if self.eat("ON") {
            let privileges = items
                .into_iter()
                .map(|item| match item {
                    GrantItem::Words { words, columns } => Ok(privilege(&words, columns)),
                    GrantItem::Account(_) => Err(self.unexpected()),
                })
                .collect::<Result<Vec<_>>>()?;
            let object = self.optional_object_type();
            let level = self.privilege_level()?;
            return Ok(Grantable::Privileges { privileges, object, level });
        }
        if is_all_and_grant_option(&items) && stop == "FROM" {
            return Ok(Grantable::AllAndGrantOption);
        }
        let roles = items
            .into_iter()
            .map(|item| match item {
                GrantItem::Account(account) => Ok(account),
                GrantItem::Words { mut words, columns } if words.len() == 1 && columns.is_empty() => {
                    Ok(AccountName::Named { user: words.remove(0).value.into_bytes(), host: None })
                }
                GrantItem::Words { .. } => Err(self.unexpected()),
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Grantable::Roles(roles))
    }

    fn grant_item(&mut self, stop: &str) -> Result<GrantItem> {
        let is_account =
            self.token.kind != TokenKind::Word || matches!(self.peek(1).kind, TokenKind::At | TokenKind::AtName);
        if is_account {
            return self.account_name().map(GrantItem::Account);
        }
        let mut words = vec![self.take_ident()?];
        while self.token.kind == TokenKind::Word && !self.at("ON") && !self.at(stop) {
            words.push(self.take_ident()?);
        }
        let columns = self.optional_ident_list()?;
        Ok(GrantItem::Words { words, columns })
    }

    fn optional_object_type(&mut self) -> ObjectType {
        // These words are reserved or followed by a name when they say the type.
        if self.eat("TABLE") {
            ObjectType::Table
        } else if self.eat("FUNCTION") {
            ObjectType::Function
        } else if self.eat("PROCEDURE") {
            ObjectType::Procedure
        } else {
            ObjectType::Table
        }
    }

    fn privilege_level(&mut self) -> Result<PrivilegeLevel> {
        if self.eat_kind(TokenKind::Star) {
            if !self.eat_kind(TokenKind::Dot) {
                return Ok(PrivilegeLevel::CurrentSchema);
            }
            self.expect_kind(TokenKind::Star)?;
            return Ok(PrivilegeLevel::Global);
        }
        let first = self.ident()?;
        if !self.eat_kind(TokenKind::Dot) {
            return Ok(PrivilegeLevel::Object(ObjectName { schema: None, name: first }));
        }
        if self.eat_kind(TokenKind::Star) {
            return Ok(PrivilegeLevel::Schema(first));
        }
        let name = self.take_ident()?;
        Ok(PrivilegeLevel::Object(ObjectName { schema: Some(first), name }))
    }

    /// NONE, ALL [EXCEPT roles], DEFAULT or roles.
    pub(super) fn role_selection(&mut self) -> Result<RoleSelection> {
        if self.eat("NONE") {
            return Ok(RoleSelection::None);
        }
        if self.eat("DEFAULT") {
            return Ok(RoleSelection::Default);
        }
        if self.eat("ALL") {
            if self.eat("EXCEPT") {
                return self.account_list().map(RoleSelection::AllExcept);
            }
            return Ok(RoleSelection::All);
        }
        self.account_list().map(RoleSelection::Roles)
    }
}

/// The privilege that `words` name; ALL is ALL PRIVILEGES.
fn privilege(words: &[Ident], columns: Vec<Ident>) -> Privilege {
    let upper: Vec<String> = words.iter().map(|word| word.value.to_ascii_uppercase()).collect();
    let mut name = upper.join(" ");
    if name == "ALL" {
        name = "ALL PRIVILEGES".to_owned();
    }
    Privilege { name, columns }
}

fn is_all_and_grant_option(items: &[GrantItem]) -> bool {
    let names: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            GrantItem::Words { words, .. } => Some(privilege(words, Vec::new()).name),
            GrantItem::Account(_) => None,
        })
        .collect();
    names == ["ALL PRIVILEGES", "GRANT OPTION"]
}
