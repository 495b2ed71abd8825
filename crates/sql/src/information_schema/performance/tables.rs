//! The tables of performance_schema that have rows, with columns and types as MySQL 8.4 has them.

use super::{
    accounts, errors, events, histograms, prepared, sessions, setup, stages, summaries, table_io, threads,
};
use crate::information_schema::definitions::{Definition, tables};

macro_rules! stage_event {
    () => {
        "THREAD_ID U!, EVENT_ID U!, END_EVENT_ID U, EVENT_NAME v128!, SOURCE v64, TIMER_START U, TIMER_END U, TIMER_WAIT U, \
         WORK_COMPLETED U, WORK_ESTIMATED U, NESTING_EVENT_ID U, NESTING_EVENT_TYPE eTRANSACTION/STATEMENT/STAGE/WAIT"
    };
}

/// Of one statement, from the errors on.
macro_rules! event_costs {
    () => {
        "ERRORS U!, WARNINGS U!, ROWS_AFFECTED U!, ROWS_SENT U!, ROWS_EXAMINED U!, CREATED_TMP_DISK_TABLES U!, \
         CREATED_TMP_TABLES U!, SELECT_FULL_JOIN U!, SELECT_FULL_RANGE_JOIN U!, SELECT_RANGE U!, SELECT_RANGE_CHECK U!, \
         SELECT_SCAN U!, SORT_MERGE_PASSES U!, SORT_RANGE U!, SORT_ROWS U!, SORT_SCAN U!, NO_INDEX_USED U!, \
         NO_GOOD_INDEX_USED U!"
    };
}

/// The tables of single statements.
macro_rules! event {
    () => {
        concat!(
            "THREAD_ID U!, EVENT_ID U!, END_EVENT_ID U, EVENT_NAME v128!, SOURCE v64, TIMER_START U, TIMER_END U, \
             TIMER_WAIT U, LOCK_TIME U!, SQL_TEXT l, DIGEST v64, DIGEST_TEXT l, CURRENT_SCHEMA v64, OBJECT_TYPE v64, \
             OBJECT_SCHEMA v64, OBJECT_NAME v64, OBJECT_INSTANCE_BEGIN U, MYSQL_ERRNO i, RETURNED_SQLSTATE v5, \
             MESSAGE_TEXT v128, ",
            event_costs!(),
            ", NESTING_EVENT_ID U, NESTING_EVENT_TYPE eTRANSACTION/STATEMENT/STAGE/WAIT, NESTING_EVENT_LEVEL i, \
             STATEMENT_ID U, CPU_TIME U!, MAX_CONTROLLED_MEMORY U!, MAX_TOTAL_MEMORY U!, \
             EXECUTION_ENGINE ePRIMARY/SECONDARY"
        )
    };
}

/// What sums of statements have behind their times.
macro_rules! summed_costs {
    () => {
        "SUM_LOCK_TIME U!, SUM_ERRORS U!, SUM_WARNINGS U!, SUM_ROWS_AFFECTED U!, SUM_ROWS_SENT U!, \
         SUM_ROWS_EXAMINED U!, SUM_CREATED_TMP_DISK_TABLES U!, SUM_CREATED_TMP_TABLES U!, SUM_SELECT_FULL_JOIN U!, \
         SUM_SELECT_FULL_RANGE_JOIN U!, SUM_SELECT_RANGE U!, SUM_SELECT_RANGE_CHECK U!, SUM_SELECT_SCAN U!, \
         SUM_SORT_MERGE_PASSES U!, SUM_SORT_RANGE U!, SUM_SORT_ROWS U!, SUM_SORT_SCAN U!, SUM_NO_INDEX_USED U!, \
         SUM_NO_GOOD_INDEX_USED U!, SUM_CPU_TIME U!, MAX_CONTROLLED_MEMORY U!, MAX_TOTAL_MEMORY U!, COUNT_SECONDARY U!"
    };
}

/// Sums of statements by the names of their instruments.
macro_rules! summary {
    () => {
        concat!(
            "EVENT_NAME v128!, COUNT_STAR U!, SUM_TIMER_WAIT U!, MIN_TIMER_WAIT U!, AVG_TIMER_WAIT U!, \
             MAX_TIMER_WAIT U!, ",
            summed_costs!()
        )
    };
}

/// What is counted and timed of one kind of work.
macro_rules! counted {
    ($name:literal) => {
        concat!(
            "COUNT_",
            $name,
            " U!, SUM_TIMER_",
            $name,
            " U!, MIN_TIMER_",
            $name,
            " U!, AVG_TIMER_",
            $name,
            " U!, MAX_TIMER_",
            $name,
            " U!"
        )
    };
}

macro_rules! table_io {
    () => {
        concat!(
            "COUNT_STAR U!, SUM_TIMER_WAIT U!, MIN_TIMER_WAIT U!, AVG_TIMER_WAIT U!, MAX_TIMER_WAIT U!, ",
            counted!("READ"),
            ", ",
            counted!("WRITE"),
            ", ",
            counted!("FETCH"),
            ", ",
            counted!("INSERT"),
            ", ",
            counted!("UPDATE"),
            ", ",
            counted!("DELETE")
        )
    };
}

tables! {
    "performance_schema" "accounts" accounts::accounts: "USER h32, HOST h255, CURRENT_CONNECTIONS b!, TOTAL_CONNECTIONS b!, MAX_SESSION_CONTROLLED_MEMORY U!, MAX_SESSION_TOTAL_MEMORY U!";
    "performance_schema" "events_errors_summary_global_by_error" errors::by_error: "ERROR_NUMBER i, ERROR_NAME v64, SQL_STATE v5, SUM_ERROR_RAISED U!, SUM_ERROR_HANDLED U!, FIRST_SEEN s, LAST_SEEN s";
    "performance_schema" "events_stages_current" stages::current: stage_event!();
    "performance_schema" "events_stages_history" stages::history: stage_event!();
    "performance_schema" "events_statements_current" events::current: event!();
    "performance_schema" "events_statements_histogram_by_digest" histograms::by_digest: "SCHEMA_NAME v64, DIGEST v64, BUCKET_NUMBER u!, BUCKET_TIMER_LOW U!, BUCKET_TIMER_HIGH U!, COUNT_BUCKET U!, COUNT_BUCKET_AND_LOWER U!, BUCKET_QUANTILE f!";
    "performance_schema" "events_statements_histogram_global" histograms::global: "BUCKET_NUMBER u!, BUCKET_TIMER_LOW U!, BUCKET_TIMER_HIGH U!, COUNT_BUCKET U!, COUNT_BUCKET_AND_LOWER U!, BUCKET_QUANTILE f!";
    "performance_schema" "events_statements_history" events::history: event!();
    "performance_schema" "events_statements_history_long" events::history_long: event!();
    "performance_schema" "events_statements_summary_by_account_by_event_name" summaries::by_account: concat!("USER h32, HOST h255, ", summary!());
    "performance_schema" "events_statements_summary_by_host_by_event_name" summaries::by_host: concat!("HOST h255, ", summary!());
    "performance_schema" "events_statements_summary_by_thread_by_event_name" summaries::by_thread: concat!("THREAD_ID U!, ", summary!());
    "performance_schema" "events_statements_summary_by_user_by_event_name" summaries::by_user: concat!("USER h32, ", summary!());
    "performance_schema" "events_statements_summary_global_by_event_name" summaries::global: summary!();
    "performance_schema" "hosts" accounts::hosts: "HOST h255, CURRENT_CONNECTIONS b!, TOTAL_CONNECTIONS b!, MAX_SESSION_CONTROLLED_MEMORY U!, MAX_SESSION_TOTAL_MEMORY U!";
    "performance_schema" "objects_summary_global_by_type" table_io::objects: "OBJECT_TYPE v64, OBJECT_SCHEMA v64, OBJECT_NAME v64, COUNT_STAR U!, SUM_TIMER_WAIT U!, MIN_TIMER_WAIT U!, AVG_TIMER_WAIT U!, MAX_TIMER_WAIT U!";
    "performance_schema" "performance_timers" setup::timers: "TIMER_NAME eCYCLE/NANOSECOND/MICROSECOND/MILLISECOND/THREAD_CPU!, TIMER_FREQUENCY b, TIMER_RESOLUTION b, TIMER_OVERHEAD b";
    "performance_schema" "prepared_statements_instances" prepared::instances: concat!("OBJECT_INSTANCE_BEGIN U!, STATEMENT_ID U!, STATEMENT_NAME v64, SQL_TEXT l!, OWNER_THREAD_ID U!, OWNER_EVENT_ID U!, OWNER_OBJECT_TYPE eEVENT/FUNCTION/PROCEDURE/TABLE/TRIGGER, OWNER_OBJECT_SCHEMA v64, OWNER_OBJECT_NAME v64, EXECUTION_ENGINE ePRIMARY/SECONDARY, TIMER_PREPARE U!, COUNT_REPREPARE U!, COUNT_EXECUTE U!, SUM_TIMER_EXECUTE U!, MIN_TIMER_EXECUTE U!, AVG_TIMER_EXECUTE U!, MAX_TIMER_EXECUTE U!, ", summed_costs!());
    "performance_schema" "session_account_connect_attrs" sessions::own_attributes: "PROCESSLIST_ID U!, ATTR_NAME n32!, ATTR_VALUE n1024, ORDINAL_POSITION i";
    "performance_schema" "session_connect_attrs" sessions::attributes: "PROCESSLIST_ID U!, ATTR_NAME n32!, ATTR_VALUE n1024, ORDINAL_POSITION i";
    "performance_schema" "setup_actors" setup::actors: "HOST h255!, USER h32!, ROLE h32!, ENABLED eYES/NO!, HISTORY eYES/NO!";
    "performance_schema" "setup_consumers" setup::consumers: "NAME v64!, ENABLED eYES/NO!";
    "performance_schema" "setup_instruments" setup::instruments: "NAME v128!, ENABLED eYES/NO!, TIMED eYES/NO, PROPERTIES v100!, FLAGS v10, VOLATILITY i!, DOCUMENTATION l";
    "performance_schema" "setup_objects" setup::objects: "OBJECT_TYPE eEVENT/FUNCTION/PROCEDURE/TABLE/TRIGGER!, OBJECT_SCHEMA v64, OBJECT_NAME v64!, ENABLED eYES/NO!, TIMED eYES/NO!";
    "performance_schema" "setup_threads" setup::threads: "NAME v128!, ENABLED eYES/NO!, HISTORY eYES/NO!, PROPERTIES v14!, VOLATILITY i!, DOCUMENTATION l";
    "performance_schema" "status_by_account" accounts::status_by_account: "USER h32, HOST h255, VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "status_by_host" accounts::status_by_host: "HOST h255, VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "status_by_thread" sessions::status: "THREAD_ID U!, VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "status_by_user" accounts::status_by_user: "USER h32, VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "table_io_waits_summary_by_index_usage" table_io::by_index: concat!("OBJECT_TYPE v64, OBJECT_SCHEMA v64, OBJECT_NAME v64, INDEX_NAME v64, ", table_io!());
    "performance_schema" "table_io_waits_summary_by_table" table_io::by_table: concat!("OBJECT_TYPE v64, OBJECT_SCHEMA v64, OBJECT_NAME v64, ", table_io!());
    "performance_schema" "threads" threads::threads: "THREAD_ID U!, NAME v128!, TYPE v10!, PROCESSLIST_ID U, PROCESSLIST_USER v32, PROCESSLIST_HOST v255, PROCESSLIST_DB v64, PROCESSLIST_COMMAND v16, PROCESSLIST_TIME b, PROCESSLIST_STATE v64, PROCESSLIST_INFO l, PARENT_THREAD_ID U, ROLE v64, INSTRUMENTED eYES/NO!, HISTORY eYES/NO!, CONNECTION_TYPE v16, THREAD_OS_ID U, RESOURCE_GROUP v64, EXECUTION_ENGINE ePRIMARY/SECONDARY, CONTROLLED_MEMORY U!, MAX_CONTROLLED_MEMORY U!, TOTAL_MEMORY U!, MAX_TOTAL_MEMORY U!, TELEMETRY_ACTIVE eYES/NO!";
    "performance_schema" "user_variables_by_thread" sessions::user_variables: "THREAD_ID U!, VARIABLE_NAME v64!, VARIABLE_VALUE x";
    "performance_schema" "users" accounts::users: "USER h32, CURRENT_CONNECTIONS b!, TOTAL_CONNECTIONS b!, MAX_SESSION_CONTROLLED_MEMORY U!, MAX_SESSION_TOTAL_MEMORY U!";
    "performance_schema" "variables_by_thread" sessions::variables: "THREAD_ID U!, VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "variables_info" sessions::variables_info: "VARIABLE_NAME v64!, VARIABLE_SOURCE eCOMPILED/GLOBAL/SERVER/EXPLICIT/EXTRA/USER/LOGIN/COMMAND_LINE/PERSISTED/DYNAMIC, VARIABLE_PATH v1024, MIN_VALUE v64, MAX_VALUE v64, SET_TIME S, SET_USER h32, SET_HOST h255";
}
