//! A stored program as a message of the meta group's records.

use shoal_types::{Collation, Error, Result};

use crate::dictionary::program::{Program, ProgramKind, Schedule, TriggerPlace};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredProgramName {
    #[prost(string, tag = "1")]
    pub database: String,
    #[prost(uint32, tag = "2")]
    pub kind: u32,
    #[prost(string, tag = "3")]
    pub name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredProgram {
    #[prost(message, optional, tag = "1")]
    name: Option<StoredProgramName>,
    #[prost(string, tag = "2")]
    definer_user: String,
    #[prost(string, tag = "3")]
    definer_host: String,
    #[prost(bool, tag = "4")]
    is_invokers: bool,
    #[prost(string, tag = "5")]
    parameters: String,
    #[prost(string, tag = "6")]
    returns: String,
    #[prost(string, tag = "7")]
    body: String,
    #[prost(bool, tag = "8")]
    is_deterministic: bool,
    #[prost(string, tag = "9")]
    data_access: String,
    #[prost(string, tag = "10")]
    comment: String,
    #[prost(string, tag = "11")]
    sql_mode: String,
    #[prost(string, tag = "12")]
    character_set_client: String,
    #[prost(uint32, tag = "13")]
    collation_connection: u32,
    #[prost(uint32, tag = "14")]
    database_collation: u32,
    #[prost(int64, tag = "15")]
    created_us: i64,
    #[prost(int64, tag = "16")]
    altered_us: i64,
    #[prost(message, optional, tag = "17")]
    trigger: Option<StoredTriggerPlace>,
    #[prost(message, optional, tag = "18")]
    schedule: Option<StoredSchedule>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredTriggerPlace {
    #[prost(string, tag = "1")]
    table: String,
    #[prost(bool, tag = "2")]
    is_before: bool,
    #[prost(string, tag = "3")]
    event: String,
    #[prost(uint32, tag = "4")]
    order: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredSchedule {
    #[prost(int64, optional, tag = "1")]
    at_us: Option<i64>,
    #[prost(string, tag = "2")]
    every: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(int64, optional, tag = "4")]
    starts_us: Option<i64>,
    #[prost(int64, optional, tag = "5")]
    ends_us: Option<i64>,
    #[prost(bool, tag = "6")]
    is_preserved: bool,
    #[prost(string, tag = "7")]
    status: String,
    #[prost(int64, optional, tag = "8")]
    last_run_us: Option<i64>,
    #[prost(string, tag = "9")]
    zone: String,
}

impl StoredProgram {
    pub(crate) fn of(program: &Program) -> StoredProgram {
        let program = program.clone();
        StoredProgram {
            name: Some(StoredProgramName {
                database: program.database,
                kind: program.kind as u32,
                name: program.name,
            }),
            definer_user: program.definer.0,
            definer_host: program.definer.1,
            is_invokers: program.is_invokers,
            parameters: program.parameters,
            returns: program.returns,
            body: program.body,
            is_deterministic: program.is_deterministic,
            data_access: program.data_access,
            comment: program.comment,
            sql_mode: program.sql_mode,
            character_set_client: program.character_set_client,
            collation_connection: u32::from(program.collation_connection.0),
            database_collation: u32::from(program.database_collation.0),
            created_us: program.created_us,
            altered_us: program.altered_us,
            trigger: program.trigger.map(|place| StoredTriggerPlace {
                table: place.table,
                is_before: place.is_before,
                event: place.event,
                order: place.order,
            }),
            schedule: program.schedule.map(|schedule| StoredSchedule {
                at_us: schedule.at_us,
                every: schedule.every,
                unit: schedule.unit,
                starts_us: schedule.starts_us,
                ends_us: schedule.ends_us,
                is_preserved: schedule.is_preserved,
                status: schedule.status,
                last_run_us: schedule.last_run_us,
                zone: schedule.zone,
            }),
        }
    }

    pub(crate) fn read(self) -> Result<Program> {
        let StoredProgramName { database, kind, name } = self.name.unwrap_or_default();
        let kind = ProgramKind::of(kind)
            .ok_or_else(|| Error::unknown("a stored program of the dictionary is of a newer version"))?;
        Ok(Program {
            database,
            name,
            kind,
            definer: (self.definer_user, self.definer_host),
            is_invokers: self.is_invokers,
            parameters: self.parameters,
            returns: self.returns,
            body: self.body,
            is_deterministic: self.is_deterministic,
            data_access: self.data_access,
            comment: self.comment,
            sql_mode: self.sql_mode,
            character_set_client: self.character_set_client,
            collation_connection: Collation(self.collation_connection as u16),
            database_collation: Collation(self.database_collation as u16),
            created_us: self.created_us,
            altered_us: self.altered_us,
            trigger: self.trigger.map(|place| TriggerPlace {
                table: place.table,
                is_before: place.is_before,
                event: place.event,
                order: place.order,
            }),
            schedule: self.schedule.map(|schedule| Schedule {
                at_us: schedule.at_us,
                every: schedule.every,
                unit: schedule.unit,
                starts_us: schedule.starts_us,
                ends_us: schedule.ends_us,
                is_preserved: schedule.is_preserved,
                status: schedule.status,
                last_run_us: schedule.last_run_us,
                zone: schedule.zone,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_comes_back_as_it_was() {
        let program = Program {
            database: "d".to_owned(),
            name: "Tick".to_owned(),
            kind: ProgramKind::Event,
            definer: ("root".to_owned(), "%".to_owned()),
            is_invokers: true,
            parameters: "a INT".to_owned(),
            returns: "INT".to_owned(),
            body: "DO 1".to_owned(),
            is_deterministic: true,
            data_access: "NO SQL".to_owned(),
            comment: "'x'".to_owned(),
            sql_mode: "ANSI".to_owned(),
            character_set_client: "latin1".to_owned(),
            collation_connection: Collation::UTF8MB4_0900_AI_CI,
            database_collation: Collation::BINARY,
            created_us: 5,
            altered_us: -6,
            trigger: Some(TriggerPlace {
                table: "t".to_owned(),
                is_before: true,
                event: "UPDATE".to_owned(),
                order: 3,
            }),
            schedule: Some(Schedule {
                at_us: Some(0),
                every: "1:30".to_owned(),
                unit: "MINUTE_SECOND".to_owned(),
                starts_us: Some(7),
                ends_us: None,
                is_preserved: true,
                status: "ENABLED".to_owned(),
                last_run_us: Some(1),
                zone: "SYSTEM".to_owned(),
            }),
        };
        assert_eq!(StoredProgram::of(&program).read().unwrap(), program);
        let damaged = StoredProgramName { kind: 9, ..StoredProgramName::default() };
        assert!(StoredProgram { name: Some(damaged), ..StoredProgram::default() }.read().is_err());
    }
}
