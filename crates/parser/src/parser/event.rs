//! CREATE EVENT and ALTER EVENT.

use super::object::DefinitionPrefix;
use super::{Parser, Result};
use crate::ast::{EventDefinition, EventSchedule, EventStatus, Statement};

impl Parser<'_> {
    /// What follows EVENT in CREATE and ALTER.
    pub(super) fn event(&mut self, prefix: DefinitionPrefix, create: bool) -> Result<Statement> {
        let mut event = EventDefinition {
            definer: prefix.definer,
            if_not_exists: create && self.if_not_exists()?,
            name: self.object_name()?,
            schedule: None,
            preserve: None,
            rename_to: None,
            status: None,
            comment: None,
            body: None,
            body_text: Vec::new(),
        };
        if create || (self.at("ON") && self.peek_is(1, "SCHEDULE")) {
            self.expect_all(&["ON", "SCHEDULE"])?;
            event.schedule = Some(self.event_schedule()?);
        }
        if self.eat_pair("ON", "COMPLETION") {
            event.preserve = Some(!self.eat("NOT"));
            self.expect("PRESERVE")?;
        }
        if !create && self.eat_pair("RENAME", "TO") {
            event.rename_to = Some(self.object_name()?);
        }
        event.status = self.optional_event_status()?;
        if self.eat("COMMENT") {
            event.comment = Some(self.string()?);
        }
        if self.eat("DO") {
            let (body, body_text) = self.routine_body()?;
            event.body = Some(body);
            event.body_text = body_text;
        } else if create {
            return Err(self.unexpected());
        }
        let event = Box::new(event);
        Ok(if create { Statement::CreateEvent(event) } else { Statement::AlterEvent(event) })
    }

    fn event_schedule(&mut self) -> Result<EventSchedule> {
        if self.eat("AT") {
            return self.expr().map(EventSchedule::At);
        }
        self.expect("EVERY")?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat("STARTS") { Some(self.expr()?) } else { None };
        let ends = if self.eat("ENDS") { Some(self.expr()?) } else { None };
        Ok(EventSchedule::Every { amount, unit, starts, ends })
    }

    fn optional_event_status(&mut self) -> Result<Option<EventStatus>> {
        if self.eat("ENABLE") {
            return Ok(Some(EventStatus::Enable));
        }
        if !self.eat("DISABLE") {
            return Ok(None);
        }
        if self.eat("ON") {
            self.expect_any(&["REPLICA", "SLAVE"])?;
            return Ok(Some(EventStatus::DisableOnReplica));
        }
        Ok(Some(EventStatus::Disable))
    }
}
