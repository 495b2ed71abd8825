//! Tables of performance_schema that are always empty, because Shoal has no such objects or counts nothing of that kind: tools look at
//! them, and find their columns.

use crate::information_schema::definitions::{Definition, none, tables};

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

/// All of it together.
macro_rules! waits {
    () => {
        "COUNT_STAR U!, SUM_TIMER_WAIT U!, MIN_TIMER_WAIT U!, AVG_TIMER_WAIT U!, MAX_TIMER_WAIT U!"
    };
}

macro_rules! wait_event {
    () => {
        "THREAD_ID U!, EVENT_ID U!, END_EVENT_ID U, EVENT_NAME v128!, SOURCE v64, TIMER_START U, TIMER_END U, TIMER_WAIT U, \
         SPINS u, OBJECT_SCHEMA v64, OBJECT_NAME v512, INDEX_NAME v64, OBJECT_TYPE v64, OBJECT_INSTANCE_BEGIN U!, \
         NESTING_EVENT_ID U, NESTING_EVENT_TYPE eTRANSACTION/STATEMENT/STAGE/WAIT, OPERATION v32!, NUMBER_OF_BYTES b, FLAGS u"
    };
}

macro_rules! stage_event {
    () => {
        "THREAD_ID U!, EVENT_ID U!, END_EVENT_ID U, EVENT_NAME v128!, SOURCE v64, TIMER_START U, TIMER_END U, TIMER_WAIT U, \
         WORK_COMPLETED U, WORK_ESTIMATED U, NESTING_EVENT_ID U, NESTING_EVENT_TYPE eTRANSACTION/STATEMENT/STAGE/WAIT"
    };
}

macro_rules! transaction_event {
    () => {
        "THREAD_ID U!, EVENT_ID U!, END_EVENT_ID U, EVENT_NAME v128!, STATE eACTIVE/COMMITTED/ROLLED+BACK, TRX_ID U, \
         GTID v90, XID_FORMAT_ID i, XID_GTRID v130, XID_BQUAL v130, XA_STATE v64, SOURCE v64, TIMER_START U, TIMER_END U, \
         TIMER_WAIT U, ACCESS_MODE eREAD+ONLY/READ+WRITE, ISOLATION_LEVEL v64, AUTOCOMMIT eYES/NO!, \
         NUMBER_OF_SAVEPOINTS U, NUMBER_OF_ROLLBACK_TO_SAVEPOINT U, NUMBER_OF_RELEASE_SAVEPOINT U, \
         OBJECT_INSTANCE_BEGIN U, NESTING_EVENT_ID U, NESTING_EVENT_TYPE eTRANSACTION/STATEMENT/STAGE/WAIT"
    };
}

macro_rules! transactions {
    () => {
        concat!("EVENT_NAME v128!, ", waits!(), ", ", counted!("READ_WRITE"), ", ", counted!("READ_ONLY"))
    };
}

macro_rules! memory {
    () => {
        "EVENT_NAME v128!, COUNT_ALLOC U!, COUNT_FREE U!, SUM_NUMBER_OF_BYTES_ALLOC U!, SUM_NUMBER_OF_BYTES_FREE U!, \
         LOW_COUNT_USED b!, CURRENT_COUNT_USED b!, HIGH_COUNT_USED b!, LOW_NUMBER_OF_BYTES_USED b!, \
         CURRENT_NUMBER_OF_BYTES_USED b!, HIGH_NUMBER_OF_BYTES_USED b!"
    };
}

macro_rules! transfers {
    () => {
        concat!(
            waits!(),
            ", ",
            counted!("READ"),
            ", SUM_NUMBER_OF_BYTES_READ b!, ",
            counted!("WRITE"),
            ", SUM_NUMBER_OF_BYTES_WRITE b!, ",
            counted!("MISC")
        )
    };
}

tables! {
    "performance_schema" "binary_log_transaction_compression_stats" none: "LOG_TYPE eBINARY/RELAY!, COMPRESSION_TYPE v64!, TRANSACTION_COUNTER U!, COMPRESSED_BYTES_COUNTER U!, UNCOMPRESSED_BYTES_COUNTER U!, COMPRESSION_PERCENTAGE i!, FIRST_TRANSACTION_ID t, FIRST_TRANSACTION_COMPRESSED_BYTES U!, FIRST_TRANSACTION_UNCOMPRESSED_BYTES U!, FIRST_TRANSACTION_TIMESTAMP S, LAST_TRANSACTION_ID t, LAST_TRANSACTION_COMPRESSED_BYTES U!, LAST_TRANSACTION_UNCOMPRESSED_BYTES U!, LAST_TRANSACTION_TIMESTAMP S";
    "performance_schema" "cond_instances" none: "NAME v128!, OBJECT_INSTANCE_BEGIN U!";
    "performance_schema" "events_stages_history_long" none: stage_event!();
    "performance_schema" "events_stages_summary_by_account_by_event_name" none: concat!("USER h32, HOST h255, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_stages_summary_by_host_by_event_name" none: concat!("HOST h255, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_stages_summary_by_thread_by_event_name" none: concat!("THREAD_ID U!, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_stages_summary_by_user_by_event_name" none: concat!("USER h32, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_stages_summary_global_by_event_name" none: concat!("EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_transactions_current" none: transaction_event!();
    "performance_schema" "events_transactions_history" none: transaction_event!();
    "performance_schema" "events_transactions_history_long" none: transaction_event!();
    "performance_schema" "events_transactions_summary_by_account_by_event_name" none: concat!("USER h32, HOST h255, ", transactions!());
    "performance_schema" "events_transactions_summary_by_host_by_event_name" none: concat!("HOST h255, ", transactions!());
    "performance_schema" "events_transactions_summary_by_thread_by_event_name" none: concat!("THREAD_ID U!, ", transactions!());
    "performance_schema" "events_transactions_summary_by_user_by_event_name" none: concat!("USER h32, ", transactions!());
    "performance_schema" "events_transactions_summary_global_by_event_name" none: transactions!();
    "performance_schema" "events_waits_current" none: wait_event!();
    "performance_schema" "events_waits_history" none: wait_event!();
    "performance_schema" "events_waits_history_long" none: wait_event!();
    "performance_schema" "events_waits_summary_by_account_by_event_name" none: concat!("USER h32, HOST h255, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_waits_summary_by_host_by_event_name" none: concat!("HOST h255, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_waits_summary_by_instance" none: concat!("EVENT_NAME v128!, OBJECT_INSTANCE_BEGIN U!, ", waits!());
    "performance_schema" "events_waits_summary_by_thread_by_event_name" none: concat!("THREAD_ID U!, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_waits_summary_by_user_by_event_name" none: concat!("USER h32, EVENT_NAME v128!, ", waits!());
    "performance_schema" "events_waits_summary_global_by_event_name" none: concat!("EVENT_NAME v128!, ", waits!());
    "performance_schema" "file_instances" none: "FILE_NAME v512!, EVENT_NAME v128!, OPEN_COUNT u!";
    "performance_schema" "file_summary_by_event_name" none: concat!("EVENT_NAME v128!, ", transfers!());
    "performance_schema" "file_summary_by_instance" none: concat!("FILE_NAME v512!, EVENT_NAME v128!, OBJECT_INSTANCE_BEGIN U!, ", transfers!());
    "performance_schema" "innodb_redo_log_files" none: "FILE_ID b!, FILE_NAME v2000!, START_LSN b!, END_LSN b!, SIZE_IN_BYTES b!, IS_FULL i!, CONSUMER_LEVEL i!";
    "performance_schema" "keyring_component_status" none: "STATUS_KEY v256!, STATUS_VALUE v1024!";
    "performance_schema" "keyring_keys" none: "KEY_ID n255!, KEY_OWNER n255, BACKEND_KEY_ID n255";
    "performance_schema" "log_status" none: "SERVER_UUID h36!, LOCAL j!, REPLICATION j!, STORAGE_ENGINES j!";
    "performance_schema" "memory_summary_by_account_by_event_name" none: concat!("USER h32, HOST h255, ", memory!());
    "performance_schema" "memory_summary_by_host_by_event_name" none: concat!("HOST h255, ", memory!());
    "performance_schema" "memory_summary_by_thread_by_event_name" none: concat!("THREAD_ID U!, ", memory!());
    "performance_schema" "memory_summary_by_user_by_event_name" none: concat!("USER h32, ", memory!());
    "performance_schema" "memory_summary_global_by_event_name" none: memory!();
    "performance_schema" "mutex_instances" none: "NAME v128!, OBJECT_INSTANCE_BEGIN U!, LOCKED_BY_THREAD_ID U";
    "performance_schema" "replication_applier_configuration" none: "CHANNEL_NAME h64!, DESIRED_DELAY i!, PRIVILEGE_CHECKS_USER t, REQUIRE_ROW_FORMAT eYES/NO!, REQUIRE_TABLE_PRIMARY_KEY_CHECK eSTREAM/ON/OFF/GENERATE!, ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE eOFF/LOCAL/UUID!, ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE t";
    "performance_schema" "replication_applier_filters" none: "CHANNEL_NAME h64!, FILTER_NAME h64!, FILTER_RULE l!, CONFIGURED_BY eSTARTUP_OPTIONS/CHANGE_REPLICATION_FILTER/STARTUP_OPTIONS_FOR_CHANNEL/CHANGE_REPLICATION_FILTER_FOR_CHANNEL!, ACTIVE_SINCE S!, COUNTER U!";
    "performance_schema" "replication_applier_global_filters" none: "FILTER_NAME h64!, FILTER_RULE l!, CONFIGURED_BY eSTARTUP_OPTIONS/CHANGE_REPLICATION_FILTER!, ACTIVE_SINCE S!";
    "performance_schema" "replication_applier_status" none: "CHANNEL_NAME h64!, SERVICE_STATE eON/OFF!, REMAINING_DELAY u, COUNT_TRANSACTIONS_RETRIES U!";
    "performance_schema" "replication_applier_status_by_coordinator" none: "CHANNEL_NAME h64!, THREAD_ID U, SERVICE_STATE eON/OFF!, LAST_ERROR_NUMBER i!, LAST_ERROR_MESSAGE v1024!, LAST_ERROR_TIMESTAMP S!, LAST_PROCESSED_TRANSACTION h57, LAST_PROCESSED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP S!, LAST_PROCESSED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP S!, LAST_PROCESSED_TRANSACTION_START_BUFFER_TIMESTAMP S!, LAST_PROCESSED_TRANSACTION_END_BUFFER_TIMESTAMP S!, PROCESSING_TRANSACTION h57, PROCESSING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP S!, PROCESSING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP S!, PROCESSING_TRANSACTION_START_BUFFER_TIMESTAMP S!";
    "performance_schema" "replication_applier_status_by_worker" none: "CHANNEL_NAME h64!, WORKER_ID U!, THREAD_ID U, SERVICE_STATE eON/OFF!, LAST_ERROR_NUMBER i!, LAST_ERROR_MESSAGE v1024!, LAST_ERROR_TIMESTAMP S!, LAST_APPLIED_TRANSACTION h57, LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP S!, LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP S!, LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP S!, LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP S!, APPLYING_TRANSACTION h57, APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP S!, APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP S!, APPLYING_TRANSACTION_START_APPLY_TIMESTAMP S!, LAST_APPLIED_TRANSACTION_RETRIES_COUNT U!, LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER i!, LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE v1024, LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP S!, APPLYING_TRANSACTION_RETRIES_COUNT U!, APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER i!, APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE v1024, APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP S!";
    "performance_schema" "replication_asynchronous_connection_failover" none: "CHANNEL_NAME h64!, HOST h255!, PORT i!, NETWORK_NAMESPACE h64, WEIGHT u!, MANAGED_NAME h64!";
    "performance_schema" "replication_asynchronous_connection_failover_managed" none: "CHANNEL_NAME h64!, MANAGED_NAME h64!, MANAGED_TYPE h64!, CONFIGURATION j";
    "performance_schema" "replication_connection_configuration" none: "CHANNEL_NAME h64!, HOST h255!, PORT i!, USER h32!, NETWORK_INTERFACE h60!, AUTO_POSITION e1/0!, SSL_ALLOWED eYES/NO/IGNORED!, SSL_CA_FILE v512!, SSL_CA_PATH v512!, SSL_CERTIFICATE v512!, SSL_CIPHER v512!, SSL_KEY v512!, SSL_VERIFY_SERVER_CERTIFICATE eYES/NO!, SSL_CRL_FILE v255!, SSL_CRL_PATH v255!, CONNECTION_RETRY_INTERVAL i!, CONNECTION_RETRY_COUNT U!, HEARTBEAT_INTERVAL f!, TLS_VERSION v255!, PUBLIC_KEY_PATH v512!, GET_PUBLIC_KEY eYES/NO!, NETWORK_NAMESPACE v64!, COMPRESSION_ALGORITHM h64!, ZSTD_COMPRESSION_LEVEL i!, TLS_CIPHERSUITES t, SOURCE_CONNECTION_AUTO_FAILOVER e1/0!, GTID_ONLY e1/0!";
    "performance_schema" "replication_connection_status" none: "CHANNEL_NAME h64!, GROUP_NAME h36!, SOURCE_UUID h36!, THREAD_ID U, SERVICE_STATE eON/OFF/CONNECTING!, COUNT_RECEIVED_HEARTBEATS U!, LAST_HEARTBEAT_TIMESTAMP S!, RECEIVED_TRANSACTION_SET l!, LAST_ERROR_NUMBER i!, LAST_ERROR_MESSAGE v1024!, LAST_ERROR_TIMESTAMP S!, LAST_QUEUED_TRANSACTION h57, LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP S!, LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP S!, LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP S!, LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP S!, QUEUEING_TRANSACTION h57, QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP S!, QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP S!, QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP S!";
    "performance_schema" "replication_group_member_stats" none: "CHANNEL_NAME h64!, VIEW_ID h60!, MEMBER_ID h36!, COUNT_TRANSACTIONS_IN_QUEUE U!, COUNT_TRANSACTIONS_CHECKED U!, COUNT_CONFLICTS_DETECTED U!, COUNT_TRANSACTIONS_ROWS_VALIDATING U!, TRANSACTIONS_COMMITTED_ALL_MEMBERS l!, LAST_CONFLICT_FREE_TRANSACTION t!, COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE U!, COUNT_TRANSACTIONS_REMOTE_APPLIED U!, COUNT_TRANSACTIONS_LOCAL_PROPOSED U!, COUNT_TRANSACTIONS_LOCAL_ROLLBACK U!";
    "performance_schema" "replication_group_members" none: "CHANNEL_NAME h64!, MEMBER_ID h36!, MEMBER_HOST h255!, MEMBER_PORT i, MEMBER_STATE h64!, MEMBER_ROLE h64!, MEMBER_VERSION h64!, MEMBER_COMMUNICATION_STACK h64!";
    "performance_schema" "rwlock_instances" none: "NAME v128!, OBJECT_INSTANCE_BEGIN U!, WRITE_LOCKED_BY_THREAD_ID U, READ_LOCKED_BY_COUNT u!";
    "performance_schema" "socket_instances" none: "EVENT_NAME v128!, OBJECT_INSTANCE_BEGIN U!, THREAD_ID U, SOCKET_ID i!, IP v64!, PORT i!, STATE eIDLE/ACTIVE!";
    "performance_schema" "socket_summary_by_event_name" none: concat!("EVENT_NAME v128!, ", transfers!());
    "performance_schema" "socket_summary_by_instance" none: concat!("EVENT_NAME v128!, OBJECT_INSTANCE_BEGIN U!, ", transfers!());
    "performance_schema" "table_handles" none: "OBJECT_TYPE v64!, OBJECT_SCHEMA v64!, OBJECT_NAME v64!, OBJECT_INSTANCE_BEGIN U!, OWNER_THREAD_ID U, OWNER_EVENT_ID U, INTERNAL_LOCK v64, EXTERNAL_LOCK v64";
    "performance_schema" "table_lock_waits_summary_by_table" none: concat!("OBJECT_TYPE v64, OBJECT_SCHEMA v64, OBJECT_NAME v64, ", waits!(), ", ", counted!("READ"), ", ", counted!("WRITE"), ", ", counted!("READ_NORMAL"), ", ", counted!("READ_WITH_SHARED_LOCKS"), ", ", counted!("READ_HIGH_PRIORITY"), ", ", counted!("READ_NO_INSERT"), ", ", counted!("READ_EXTERNAL"), ", ", counted!("WRITE_ALLOW_WRITE"), ", ", counted!("WRITE_CONCURRENT_INSERT"), ", ", counted!("WRITE_LOW_PRIORITY"), ", ", counted!("WRITE_NORMAL"), ", ", counted!("WRITE_EXTERNAL"));
    "performance_schema" "user_defined_functions" none: "UDF_NAME v64!, UDF_RETURN_TYPE v20!, UDF_TYPE v20!, UDF_LIBRARY v1024, UDF_USAGE_COUNT b";
}
