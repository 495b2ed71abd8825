//! CREATE USER, ALTER USER, SET PASSWORD.

use super::{Parser, Result};
use crate::ast::{
    AccountName, Authentication, AuthenticationSecret, FactorChange, PasswordOption, SetPassword, Statement,
    TlsRequirement, UserComment, UserDefinition, UserSpecification,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// CREATE USER and ALTER USER, the words taken.
    pub(super) fn user_definition(&mut self, create: bool) -> Result<Statement> {
        let if_clause = if create { self.if_not_exists()? } else { self.if_exists()? };
        let users = self.comma_list(Self::user_specification)?;
        let mut definition = UserDefinition {
            if_clause,
            users,
            default_roles: None,
            require: None,
            limits: Vec::new(),
            password_options: Vec::new(),
            locked: None,
            comment: None,
        };
        if self.eat_pair("DEFAULT", "ROLE") {
            definition.default_roles = Some(self.role_selection()?);
        }
        if self.eat("REQUIRE") {
            definition.require = Some(self.tls_requirement()?);
        }
        if self.eat("WITH") {
            self.resource_limits(&mut definition)?;
        }
        self.password_and_lock_options(&mut definition)?;
        if self.at_any(&["COMMENT", "ATTRIBUTE"]) {
            let comment = self.eat("COMMENT");
            if !comment {
                self.advance();
            }
            let text = self.string()?;
            definition.comment =
                Some(if comment { UserComment::Comment(text) } else { UserComment::Attribute(text) });
        }
        let definition = Box::new(definition);
        Ok(if create { Statement::CreateUser(definition) } else { Statement::AlterUser(definition) })
    }

    fn user_specification(&mut self) -> Result<UserSpecification> {
        let account = self.user_account()?;
        let mut user = UserSpecification {
            account,
            authentication: None,
            more_factors: Vec::new(),
            discard_old_password: false,
        };
        if self.eat("IDENTIFIED") {
            user.authentication = Some(self.authentication()?);
        }
        loop {
            match self.upper().as_str() {
                "AND" => {
                    self.expect_all(&["AND", "IDENTIFIED"])?;
                    let factor = user.more_factors.len() as u64 + 2;
                    let authentication = self.authentication()?;
                    user.more_factors.push(FactorChange::Add { factor, authentication });
                }
                "DISCARD" => {
                    self.expect_all(&["DISCARD", "OLD", "PASSWORD"])?;
                    user.discard_old_password = true;
                }
                "ADD" | "MODIFY" => {
                    let add = self.at("ADD");
                    self.advance();
                    let factor = self.integer()?;
                    self.expect_all(&["FACTOR", "IDENTIFIED"])?;
                    let authentication = self.authentication()?;
                    user.more_factors.push(if add {
                        FactorChange::Add { factor, authentication }
                    } else {
                        FactorChange::Modify { factor, authentication }
                    });
                }
                "DROP" => {
                    self.advance();
                    let factor = self.integer()?;
                    self.expect("FACTOR")?;
                    user.more_factors.push(FactorChange::Drop { factor });
                }
                _ => return Ok(user),
            }
        }
    }

    /// An account, or `USER()` for the current one.
    fn user_account(&mut self) -> Result<AccountName> {
        if self.at("USER") && self.peek(1).kind == TokenKind::LeftParen {
            self.advance();
            self.advance();
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(AccountName::CurrentUser);
        }
        self.account_name()
    }

    /// What follows IDENTIFIED.
    fn authentication(&mut self) -> Result<Authentication> {
        let mut authentication =
            Authentication { plugin: None, secret: None, replace: None, retain_current: false };
        if self.eat("WITH") {
            authentication.plugin = Some(self.ident_or_string()?.value);
        } else if !self.at("BY") {
            return Err(self.unexpected());
        }
        if self.eat("BY") {
            authentication.secret = Some(if self.eat("RANDOM") {
                self.expect("PASSWORD")?;
                AuthenticationSecret::Random
            } else {
                self.eat("PASSWORD");
                AuthenticationSecret::Password(self.string()?)
            });
        } else if self.eat("AS") {
            authentication.secret = Some(AuthenticationSecret::Hash(self.text_or_binary()?));
        }
        if self.eat("REPLACE") {
            authentication.replace = Some(self.string()?);
        }
        authentication.retain_current = self.retain_current_password()?;
        Ok(authentication)
    }

    fn retain_current_password(&mut self) -> Result<bool> {
        let found = self.eat("RETAIN");
        if found {
            self.expect_all(&["CURRENT", "PASSWORD"])?;
        }
        Ok(found)
    }

    /// What follows REQUIRE.
    fn tls_requirement(&mut self) -> Result<TlsRequirement> {
        if self.eat("NONE") {
            return Ok(TlsRequirement::None);
        }
        if self.eat("SSL") {
            return Ok(TlsRequirement::Ssl);
        }
        if self.eat("X509") {
            return Ok(TlsRequirement::X509);
        }
        let (mut subject, mut issuer, mut cipher) = (None, None, None);
        loop {
            let slot = match self.upper().as_str() {
                "SUBJECT" => &mut subject,
                "ISSUER" => &mut issuer,
                "CIPHER" => &mut cipher,
                _ => return Err(self.unexpected()),
            };
            self.advance();
            *slot = Some(self.string()?);
            self.eat("AND");
            if !self.at_any(&["SUBJECT", "ISSUER", "CIPHER"]) {
                return Ok(TlsRequirement::Specified { subject, issuer, cipher });
            }
        }
    }

    fn resource_limits(&mut self, definition: &mut UserDefinition) -> Result<()> {
        const LIMITS: [&str; 4] =
            ["MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR", "MAX_USER_CONNECTIONS"];
        if !self.at_any(&LIMITS) {
            return Err(self.unexpected());
        }
        while self.at_any(&LIMITS) {
            let name = self.any_word()?;
            definition.limits.push((name, self.integer()?));
        }
        Ok(())
    }

    fn password_and_lock_options(&mut self, definition: &mut UserDefinition) -> Result<()> {
        loop {
            let option = match self.upper().as_str() {
                "ACCOUNT" => {
                    self.advance();
                    definition.locked = Some(self.at("LOCK"));
                    self.expect_any(&["LOCK", "UNLOCK"])?;
                    continue;
                }
                "PASSWORD" => {
                    self.advance();
                    self.password_option()?
                }
                "FAILED_LOGIN_ATTEMPTS" => {
                    self.advance();
                    PasswordOption::FailedLoginAttempts(self.integer()?)
                }
                "PASSWORD_LOCK_TIME" => {
                    self.advance();
                    PasswordOption::LockTimeDays(if self.eat("UNBOUNDED") { None } else { Some(self.integer()?) })
                }
                _ => return Ok(()),
            };
            definition.password_options.push(option);
        }
    }

    /// What follows PASSWORD.
    fn password_option(&mut self) -> Result<PasswordOption> {
        if self.eat("EXPIRE") {
            return Ok(if self.eat("DEFAULT") {
                PasswordOption::ExpireDefault
            } else if self.eat("NEVER") {
                PasswordOption::ExpireNever
            } else if self.eat("INTERVAL") {
                let days = self.integer()?;
                self.expect("DAY")?;
                PasswordOption::ExpireIntervalDays(days)
            } else {
                PasswordOption::ExpireNow
            });
        }
        if self.eat("HISTORY") {
            let count = if self.eat("DEFAULT") { None } else { Some(self.integer()?) };
            return Ok(PasswordOption::History(count));
        }
        if self.eat("REUSE") {
            self.expect("INTERVAL")?;
            if self.eat("DEFAULT") {
                return Ok(PasswordOption::ReuseIntervalDays(None));
            }
            let days = self.integer()?;
            self.expect("DAY")?;
            return Ok(PasswordOption::ReuseIntervalDays(Some(days)));
        }
        self.expect_all(&["REQUIRE", "CURRENT"])?;
        Ok(PasswordOption::RequireCurrent(if self.eat("DEFAULT") { None } else { Some(!self.eat("OPTIONAL")) }))
    }

    /// SET PASSWORD, the words taken.
    pub(super) fn set_password(&mut self) -> Result<Statement> {
        let account = if self.eat("FOR") { Some(self.account_name()?) } else { None };
        let password = if self.eat("TO") {
            self.expect("RANDOM")?;
            None
        } else {
            self.expect_assign()?;
            Some(self.string()?)
        };
        let replace = if self.eat("REPLACE") { Some(self.string()?) } else { None };
        let retain_current = self.retain_current_password()?;
        Ok(Statement::SetPassword(SetPassword { account, password, replace, retain_current }))
    }
}
