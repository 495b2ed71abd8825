//! Which virtual tables there are, with columns and types as MySQL 8.4 has them.

use shoal_types::{BaseType, Collation, SqlType, Value};

use super::{
    Rows, activity, error_log, keys, objects, profiles, programs, query_logs, roles, server_tables, statements,
};
use super::{data_locks, innodb_stats, innodb_tables, innodb_trx, lock_waits, metadata_locks};
use crate::frontend::{ColumnFlags, ResultColumn};
use crate::server::Server;

/// One virtual table.
pub struct Definition {
    pub database: &'static str,
    pub name: &'static str,
    /// `NAME type, ...`; see `types_of`.
    pub columns: &'static str,
    pub rows: Maker,
}

/// A node's rows of a table that all nodes have rows of.
pub type NodeRows = fn(&Server) -> Vec<Vec<Value>>;

/// Makes the rows of a table out of another one's.
pub type RetoldRows = fn(&Rows<'_>, Vec<Vec<Value>>) -> Vec<Vec<Value>>;

/// Who makes the rows of a table.
#[derive(Clone, Copy)]
pub enum Maker {
    /// The node whose session asks.
    Here(fn(&Rows<'_>) -> Vec<Vec<Value>>),
    /// Every node of the cluster its own.
    Nodes(NodeRows),
    /// The rows of another table of the database, told otherwise.
    Of(&'static str, RetoldRows),
}

impl Definition {
    /// What each node makes its rows with, if all nodes have some.
    pub fn made_by_nodes(&self) -> Option<NodeRows> {
        if let Maker::Nodes(make) = self.rows { Some(make) } else { None }
    }

    pub fn result_columns(&self) -> Vec<ResultColumn> {
        let mut columns = types_of(self.columns);
        for column in &mut columns {
            column.database = self.database.to_owned();
            column.table = self.name.to_owned();
            column.original_table = self.name.to_owned();
        }
        columns
    }
}

/// Columns from their short description. Types: `v64` VARCHAR(64), `n64` the same for names that are told apart by case,
/// `t` TEXT, `m` MEDIUMTEXT, `l` LONGTEXT, `i` INT, `u` INT UNSIGNED, `b` BIGINT, `U` BIGINT UNSIGNED, `d` DATETIME,
/// `s` TIMESTAMP, `S` TIMESTAMP(6), `T` TIME(6), `c` TIME, `f` DOUBLE, `x` LONGBLOB, `h64` CHAR(64), `j` JSON, `eYES/NO` ENUM('YES','NO'), where a
/// `+` is a blank; a `!` behind means NOT NULL.
pub(crate) fn types_of(text: &str) -> Vec<ResultColumn> {
    text.split(',')
        .filter_map(|item| item.trim().rsplit_once(' '))
        .map(|(name, kind)| column(name, kind))
        .collect()
}

fn column(name: &str, kind: &str) -> ResultColumn {
    let (kind, not_null) = match kind.strip_suffix('!') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let (letter, rest) = kind.split_at(1);
    let length = rest.parse().unwrap_or(0);
    let names = Collation::by_name("utf8mb3_bin").unwrap_or(Collation::UTF8MB3_GENERAL_CI);
    let words = Collation::UTF8MB3_GENERAL_CI;
    let text = |length| SqlType { length, collation: words, ..SqlType::new(BaseType::Text) };
    let number = |base, length, unsigned| SqlType { length, unsigned, ..SqlType::new(base) };
    let sql_type = match letter {
        "n" => SqlType::varchar(length, names),
        "v" => SqlType::varchar(length, words),
        "t" => text(65_535),
        "m" => text(16_777_215),
        "l" => text(u32::MAX),
        "x" => SqlType { length: u32::MAX, ..SqlType::new(BaseType::Text) },
        "i" => number(BaseType::Int, 11, false),
        "u" => number(BaseType::Int, 10, true),
        "b" => number(BaseType::BigInt, 20, false),
        "U" => number(BaseType::BigInt, 20, true),
        "d" => SqlType::datetime(0),
        "s" => SqlType::new(BaseType::Timestamp),
        "S" => SqlType { decimals: 6, ..SqlType::new(BaseType::Timestamp) },
        "c" => SqlType::new(BaseType::Time),
        "T" => SqlType { decimals: 6, ..SqlType::new(BaseType::Time) },
        "h" => SqlType { length, collation: names, ..SqlType::new(BaseType::Char) },
        "j" => SqlType::new(BaseType::Json),
        "e" => {
            let labels = rest.split('/').map(|label| label.replace('+', " ").into_bytes().into_boxed_slice());
            SqlType { collation: words, labels: Some(labels.collect()), ..SqlType::new(BaseType::Enum) }
        }
        _ => SqlType::double(),
    };
    ResultColumn {
        name: name.to_owned(),
        original_name: name.to_owned(),
        sql_type,
        flags: ColumnFlags { not_null, ..ColumnFlags::default() },
        ..ResultColumn::default()
    }
}

/// Tables that are always empty: Shoal has no such objects.
pub(super) fn none(_: &Rows<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

macro_rules! tables {
    ($($database:literal $name:literal $rows:path: $columns:expr;)*) => {
        pub const DEFINITIONS: &[Definition] = &[
            $(Definition { database: $database, name: $name, columns: $columns, rows: $crate::information_schema::definitions::Maker::Here($rows) },)*
        ];
    };
}
pub(super) use tables;

tables! {
    "information_schema" "ADMINISTRABLE_ROLE_AUTHORIZATIONS" roles::administrable: "USER v97, HOST v256, GRANTEE v97, GRANTEE_HOST v256, ROLE_NAME v255, ROLE_HOST v256, IS_GRANTABLE v3!, IS_DEFAULT v3, IS_MANDATORY v3!";
    "information_schema" "APPLICABLE_ROLES" roles::applicable: "USER v97, HOST v256, GRANTEE v97, GRANTEE_HOST v256, ROLE_NAME v255, ROLE_HOST v256, IS_GRANTABLE v3!, IS_DEFAULT v3, IS_MANDATORY v3!";
    "information_schema" "CHARACTER_SETS" server_tables::character_sets: "CHARACTER_SET_NAME v64!, DEFAULT_COLLATE_NAME v64!, DESCRIPTION v2048!, MAXLEN u!";
    "information_schema" "CHECK_CONSTRAINTS" keys::check_constraints: "CONSTRAINT_CATALOG n64!, CONSTRAINT_SCHEMA n64!, CONSTRAINT_NAME v64!, CHECK_CLAUSE l!";
    "information_schema" "COLLATIONS" server_tables::collations: "COLLATION_NAME v64!, CHARACTER_SET_NAME v64!, ID U!, IS_DEFAULT v3!, IS_COMPILED v3!, SORTLEN u!, PAD_ATTRIBUTE v9!";
    "information_schema" "COLLATION_CHARACTER_SET_APPLICABILITY" server_tables::applicability: "COLLATION_NAME v64!, CHARACTER_SET_NAME v64!";
    "information_schema" "COLUMNS" objects::columns: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, COLUMN_NAME v64, ORDINAL_POSITION u!, COLUMN_DEFAULT t, IS_NULLABLE v3!, DATA_TYPE l, CHARACTER_MAXIMUM_LENGTH b, CHARACTER_OCTET_LENGTH b, NUMERIC_PRECISION U, NUMERIC_SCALE U, DATETIME_PRECISION u, CHARACTER_SET_NAME v64, COLLATION_NAME v64, COLUMN_TYPE m!, COLUMN_KEY v3!, EXTRA v256, PRIVILEGES v154, COLUMN_COMMENT t!, GENERATION_EXPRESSION l!, SRS_ID u";
    "information_schema" "COLUMN_PRIVILEGES" activity::column_privileges: "GRANTEE v292!, TABLE_CATALOG v512!, TABLE_SCHEMA n64!, TABLE_NAME n64!, COLUMN_NAME v64!, PRIVILEGE_TYPE v64!, IS_GRANTABLE v3!";
    "information_schema" "COLUMN_STATISTICS" none: "SCHEMA_NAME n64!, TABLE_NAME n64!, COLUMN_NAME v64!, HISTOGRAM l!";
    "information_schema" "ENABLED_ROLES" roles::enabled: "ROLE_NAME v255, ROLE_HOST v255, IS_DEFAULT v3, IS_MANDATORY v3!";
    "information_schema" "ENGINES" server_tables::engines: "ENGINE v64!, SUPPORT v8!, COMMENT v80!, TRANSACTIONS v3, XA v3, SAVEPOINTS v3";
    "information_schema" "EVENTS" programs::events: "EVENT_CATALOG n64!, EVENT_SCHEMA n64!, EVENT_NAME v64!, DEFINER v288!, TIME_ZONE v64!, EVENT_BODY v3!, EVENT_DEFINITION l!, EVENT_TYPE v9!, EXECUTE_AT d, INTERVAL_VALUE v256, INTERVAL_FIELD v18, SQL_MODE v520!, STARTS d, ENDS d, STATUS v21!, ON_COMPLETION v12!, CREATED s!, LAST_ALTERED s!, LAST_EXECUTED d, EVENT_COMMENT v2048!, ORIGINATOR u!, CHARACTER_SET_CLIENT v64!, COLLATION_CONNECTION v64!, DATABASE_COLLATION v64!";
    "information_schema" "FILES" none: "FILE_ID b, FILE_NAME t, FILE_TYPE v256, TABLESPACE_NAME v268!, TABLE_CATALOG v0!, TABLE_SCHEMA v64, TABLE_NAME v64, LOGFILE_GROUP_NAME v256, LOGFILE_GROUP_NUMBER b, ENGINE v64!, FULLTEXT_KEYS v64, DELETED_ROWS b, UPDATE_COUNT b, FREE_EXTENTS b, TOTAL_EXTENTS b, EXTENT_SIZE b, INITIAL_SIZE b, MAXIMUM_SIZE b, AUTOEXTEND_SIZE b, CREATION_TIME d, LAST_UPDATE_TIME d, LAST_ACCESS_TIME d, RECOVER_TIME b, TRANSACTION_COUNTER b, VERSION b, ROW_FORMAT v256, TABLE_ROWS b, AVG_ROW_LENGTH b, DATA_LENGTH b, MAX_DATA_LENGTH b, INDEX_LENGTH b, DATA_FREE b, CREATE_TIME d, UPDATE_TIME d, CHECK_TIME d, CHECKSUM b, STATUS v256, EXTRA v256";
    "information_schema" "INNODB_BUFFER_PAGE" none: "POOL_ID U!, BLOCK_ID U!, SPACE U!, PAGE_NUMBER U!, PAGE_TYPE v64, FLUSH_TYPE U!, FIX_COUNT U!, IS_HASHED v3, NEWEST_MODIFICATION U!, OLDEST_MODIFICATION U!, ACCESS_TIME U!, TABLE_NAME v1024, INDEX_NAME v1024, NUMBER_RECORDS U!, DATA_SIZE U!, COMPRESSED_SIZE U!, PAGE_STATE v64, IO_FIX v64, IS_OLD v3, FREE_PAGE_CLOCK U!, IS_STALE v3";
    "information_schema" "INNODB_BUFFER_PAGE_LRU" none: "POOL_ID U!, LRU_POSITION U!, SPACE U!, PAGE_NUMBER U!, PAGE_TYPE v64, FLUSH_TYPE U!, FIX_COUNT U!, IS_HASHED v3, NEWEST_MODIFICATION U!, OLDEST_MODIFICATION U!, ACCESS_TIME U!, TABLE_NAME v1024, INDEX_NAME v1024, NUMBER_RECORDS U!, DATA_SIZE U!, COMPRESSED_SIZE U!, COMPRESSED v3, IO_FIX v64, IS_OLD v3, FREE_PAGE_CLOCK U!";
    "information_schema" "INNODB_BUFFER_POOL_STATS" innodb_tables::buffer_pool: "POOL_ID U!, POOL_SIZE U!, FREE_BUFFERS U!, DATABASE_PAGES U!, OLD_DATABASE_PAGES U!, MODIFIED_DATABASE_PAGES U!, PENDING_DECOMPRESS U!, PENDING_READS U!, PENDING_FLUSH_LRU U!, PENDING_FLUSH_LIST U!, PAGES_MADE_YOUNG U!, PAGES_NOT_MADE_YOUNG U!, PAGES_MADE_YOUNG_RATE f!, PAGES_MADE_NOT_YOUNG_RATE f!, NUMBER_PAGES_READ U!, NUMBER_PAGES_CREATED U!, NUMBER_PAGES_WRITTEN U!, PAGES_READ_RATE f!, PAGES_CREATE_RATE f!, PAGES_WRITTEN_RATE f!, NUMBER_PAGES_GET U!, HIT_RATE U!, YOUNG_MAKE_PER_THOUSAND_GETS U!, NOT_YOUNG_MAKE_PER_THOUSAND_GETS U!, NUMBER_PAGES_READ_AHEAD U!, NUMBER_READ_AHEAD_EVICTED U!, READ_AHEAD_RATE f!, READ_AHEAD_EVICTED_RATE f!, LRU_IO_TOTAL U!, LRU_IO_CURRENT U!, UNCOMPRESS_TOTAL U!, UNCOMPRESS_CURRENT U!";
    "information_schema" "INNODB_CACHED_INDEXES" none: "SPACE_ID u!, INDEX_ID U!, N_CACHED_PAGES U!";
    "information_schema" "INNODB_CMP" none: "page_size i!, compress_ops i!, compress_ops_ok i!, compress_time i!, uncompress_ops i!, uncompress_time i!";
    "information_schema" "INNODB_CMPMEM" none: "page_size i!, buffer_pool_instance i!, pages_used i!, pages_free i!, relocation_ops b!, relocation_time i!";
    "information_schema" "INNODB_CMPMEM_RESET" none: "page_size i!, buffer_pool_instance i!, pages_used i!, pages_free i!, relocation_ops b!, relocation_time i!";
    "information_schema" "INNODB_CMP_PER_INDEX" none: "database_name v192!, table_name v192!, index_name v192!, compress_ops i!, compress_ops_ok i!, compress_time i!, uncompress_ops i!, uncompress_time i!";
    "information_schema" "INNODB_CMP_PER_INDEX_RESET" none: "database_name v192!, table_name v192!, index_name v192!, compress_ops i!, compress_ops_ok i!, compress_time i!, uncompress_ops i!, uncompress_time i!";
    "information_schema" "INNODB_CMP_RESET" none: "page_size i!, compress_ops i!, compress_ops_ok i!, compress_time i!, uncompress_ops i!, uncompress_time i!";
    "information_schema" "INNODB_COLUMNS" innodb_tables::columns: "TABLE_ID U!, NAME v193!, POS U!, MTYPE i!, PRTYPE i!, LEN i!, HAS_DEFAULT i!, DEFAULT_VALUE t";
    "information_schema" "INNODB_DATAFILES" none: "SPACE v256, PATH v4000!";
    "information_schema" "INNODB_FIELDS" innodb_tables::fields: "INDEX_ID U!, NAME v64!, POS U!";
    "information_schema" "INNODB_FOREIGN" keys::innodb_foreign: "ID v129, FOR_NAME v129, REF_NAME v129, N_COLS b!, TYPE U!";
    "information_schema" "INNODB_FOREIGN_COLS" keys::innodb_foreign_cols: "ID v129, FOR_COL_NAME v64!, REF_COL_NAME v64!, POS u!";
    "information_schema" "INNODB_FT_BEING_DELETED" none: "DOC_ID U!";
    "information_schema" "INNODB_FT_CONFIG" none: "KEY v193!, VALUE v193!";
    "information_schema" "INNODB_FT_DEFAULT_STOPWORD" none: "value v18!";
    "information_schema" "INNODB_FT_DELETED" none: "DOC_ID U!";
    "information_schema" "INNODB_FT_INDEX_CACHE" none: "WORD v337!, FIRST_DOC_ID U!, LAST_DOC_ID U!, DOC_COUNT U!, DOC_ID U!, POSITION U!";
    "information_schema" "INNODB_FT_INDEX_TABLE" none: "WORD v337!, FIRST_DOC_ID U!, LAST_DOC_ID U!, DOC_COUNT U!, DOC_ID U!, POSITION U!";
    "information_schema" "INNODB_INDEXES" innodb_tables::indexes: "INDEX_ID U!, NAME v193!, TABLE_ID U!, TYPE i!, N_FIELDS i!, PAGE_NO i!, SPACE i!, MERGE_THRESHOLD i!";
    "information_schema" "INNODB_METRICS" innodb_tables::metrics: "NAME v193!, SUBSYSTEM v193!, COUNT b!, MAX_COUNT b, MIN_COUNT b, AVG_COUNT f, COUNT_RESET b!, MAX_COUNT_RESET b, MIN_COUNT_RESET b, AVG_COUNT_RESET f, TIME_ENABLED d, TIME_DISABLED d, TIME_ELAPSED b, TIME_RESET d, STATUS v193!, TYPE v193!, COMMENT v193!";
    "information_schema" "INNODB_SESSION_TEMP_TABLESPACES" none: "ID u!, SPACE u!, PATH v4001!, SIZE U!, STATE v192!, PURPOSE v192!";
    "information_schema" "INNODB_TABLES" innodb_tables::tables: "TABLE_ID U!, NAME v655!, FLAG i!, N_COLS i!, SPACE b!, ROW_FORMAT v12, ZIP_PAGE_SIZE u!, SPACE_TYPE v10, INSTANT_COLS i!, TOTAL_ROW_VERSIONS i!";
    "information_schema" "INNODB_TABLESPACES" none: "SPACE u!, NAME v655!, FLAG u!, ROW_FORMAT v22, PAGE_SIZE u!, ZIP_PAGE_SIZE u!, SPACE_TYPE v10, FS_BLOCK_SIZE u!, FILE_SIZE U!, ALLOCATED_SIZE U!, AUTOEXTEND_SIZE U!, SERVER_VERSION v10, SPACE_VERSION u!, ENCRYPTION v1, STATE v10";
    "information_schema" "INNODB_TABLESPACES_BRIEF" none: "SPACE v256, NAME v268!, PATH v4000!, FLAG v256, SPACE_TYPE v7!";
    "information_schema" "INNODB_TABLESTATS" innodb_tables::table_statistics: "TABLE_ID U!, NAME v193!, STATS_INITIALIZED v193!, NUM_ROWS U!, CLUST_INDEX_SIZE U!, OTHER_INDEX_SIZE U!, MODIFIED_COUNTER U!, AUTOINC U!, REF_COUNT i!";
    "information_schema" "INNODB_TEMP_TABLE_INFO" innodb_tables::temporary_tables: "TABLE_ID U!, NAME v64, N_COLS u!, SPACE u!";
    "information_schema" "INNODB_TRX" innodb_trx::transactions: "trx_id U!, trx_state v13!, trx_started d, trx_requested_lock_id v126, trx_wait_started d, trx_weight U!, trx_mysql_thread_id U!, trx_query v1024, trx_operation_state v64, trx_tables_in_use U!, trx_tables_locked U!, trx_lock_structs U!, trx_lock_memory_bytes U!, trx_rows_locked U!, trx_rows_modified U!, trx_concurrency_tickets U!, trx_isolation_level v16!, trx_unique_checks i!, trx_foreign_key_checks i!, trx_last_foreign_key_error v256, trx_adaptive_hash_latched i!, trx_adaptive_hash_timeout U!, trx_is_read_only i!, trx_autocommit_non_locking i!, trx_schedule_weight U";
    "information_schema" "INNODB_VIRTUAL" none: "TABLE_ID U!, POS u!, BASE_POS u!";
    "information_schema" "KEYWORDS" none: "WORD v128, RESERVED i";
    "information_schema" "KEY_COLUMN_USAGE" keys::key_column_usage: "CONSTRAINT_CATALOG n64!, CONSTRAINT_SCHEMA n64!, CONSTRAINT_NAME v64, TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, COLUMN_NAME v64, ORDINAL_POSITION u!, POSITION_IN_UNIQUE_CONSTRAINT u, REFERENCED_TABLE_SCHEMA n64, REFERENCED_TABLE_NAME n64, REFERENCED_COLUMN_NAME v64";
    "information_schema" "OPTIMIZER_TRACE" none: "QUERY l!, TRACE l!, MISSING_BYTES_BEYOND_MAX_MEM_SIZE i!, INSUFFICIENT_PRIVILEGES i!";
    "information_schema" "PARAMETERS" programs::parameters: "SPECIFIC_CATALOG n64!, SPECIFIC_SCHEMA n64!, SPECIFIC_NAME v64!, ORDINAL_POSITION U!, PARAMETER_MODE v5, PARAMETER_NAME v64, DATA_TYPE l, CHARACTER_MAXIMUM_LENGTH b, CHARACTER_OCTET_LENGTH b, NUMERIC_PRECISION u, NUMERIC_SCALE b, DATETIME_PRECISION u, CHARACTER_SET_NAME v64, COLLATION_NAME v64, DTD_IDENTIFIER m!, ROUTINE_TYPE v9!";
    "information_schema" "PARTITIONS" objects::partitions: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, PARTITION_NAME v64, SUBPARTITION_NAME v64, PARTITION_ORDINAL_POSITION u, SUBPARTITION_ORDINAL_POSITION u, PARTITION_METHOD v13, SUBPARTITION_METHOD v13, PARTITION_EXPRESSION v2048, SUBPARTITION_EXPRESSION v2048, PARTITION_DESCRIPTION t, TABLE_ROWS U, AVG_ROW_LENGTH U, DATA_LENGTH U, MAX_DATA_LENGTH U, INDEX_LENGTH U, DATA_FREE U, CREATE_TIME s!, UPDATE_TIME d, CHECK_TIME d, CHECKSUM b, PARTITION_COMMENT t!, NODEGROUP v256, TABLESPACE_NAME v268";
    "information_schema" "PLUGINS" server_tables::plugins: "PLUGIN_NAME v64!, PLUGIN_VERSION v20!, PLUGIN_STATUS v10!, PLUGIN_TYPE v80!, PLUGIN_TYPE_VERSION v20!, PLUGIN_LIBRARY v64, PLUGIN_LIBRARY_VERSION v20, PLUGIN_AUTHOR v64, PLUGIN_DESCRIPTION t, PLUGIN_LICENSE v80, LOAD_OPTION v64!";
    "information_schema" "PROCESSLIST" activity::processlist: "ID U!, USER v32!, HOST v261!, DB v64, COMMAND v16!, TIME i!, STATE v64, INFO l";
    "information_schema" "PROFILING" profiles::profiling: "QUERY_ID u!, SEQ u!, STATE v30!, DURATION f!, CPU_USER f, CPU_SYSTEM f, CONTEXT_VOLUNTARY u, CONTEXT_INVOLUNTARY u, BLOCK_OPS_IN u, BLOCK_OPS_OUT u, MESSAGES_SENT u, MESSAGES_RECEIVED u, PAGE_FAULTS_MAJOR u, PAGE_FAULTS_MINOR u, SWAPS u, SOURCE_FUNCTION v30, SOURCE_FILE v20, SOURCE_LINE u";
    "information_schema" "REFERENTIAL_CONSTRAINTS" keys::referential_constraints: "CONSTRAINT_CATALOG n64!, CONSTRAINT_SCHEMA n64!, CONSTRAINT_NAME v64, UNIQUE_CONSTRAINT_CATALOG n64!, UNIQUE_CONSTRAINT_SCHEMA n64!, UNIQUE_CONSTRAINT_NAME v64, MATCH_OPTION v7!, UPDATE_RULE v11!, DELETE_RULE v11!, TABLE_NAME n64!, REFERENCED_TABLE_NAME n64!";
    "information_schema" "RESOURCE_GROUPS" none: "RESOURCE_GROUP_NAME v64!, RESOURCE_GROUP_TYPE v6!, RESOURCE_GROUP_ENABLED i!, VCPU_IDS x, THREAD_PRIORITY i!";
    "information_schema" "ROLE_COLUMN_GRANTS" roles::column_grants: "GRANTOR v97, GRANTOR_HOST v256, GRANTEE v32!, GRANTEE_HOST v255!, TABLE_CATALOG v3!, TABLE_SCHEMA v64!, TABLE_NAME v64!, COLUMN_NAME v64!, PRIVILEGE_TYPE v31!, IS_GRANTABLE v3!";
    "information_schema" "ROLE_ROUTINE_GRANTS" none: "GRANTOR v97, GRANTOR_HOST v256, GRANTEE v32!, GRANTEE_HOST v255!, SPECIFIC_CATALOG v3!, SPECIFIC_SCHEMA v64!, SPECIFIC_NAME v64!, ROUTINE_CATALOG v3!, ROUTINE_SCHEMA v64!, ROUTINE_NAME v64!, PRIVILEGE_TYPE v27!, IS_GRANTABLE v3!";
    "information_schema" "ROLE_TABLE_GRANTS" roles::table_grants: "GRANTOR v97, GRANTOR_HOST v256, GRANTEE v32!, GRANTEE_HOST v255!, TABLE_CATALOG v3!, TABLE_SCHEMA v64!, TABLE_NAME v64!, PRIVILEGE_TYPE v98!, IS_GRANTABLE v3!";
    "information_schema" "ROUTINES" programs::routines: "SPECIFIC_NAME v64!, ROUTINE_CATALOG n64!, ROUTINE_SCHEMA n64!, ROUTINE_NAME v64!, ROUTINE_TYPE v9!, DATA_TYPE l, CHARACTER_MAXIMUM_LENGTH b, CHARACTER_OCTET_LENGTH b, NUMERIC_PRECISION u, NUMERIC_SCALE u, DATETIME_PRECISION u, CHARACTER_SET_NAME v64, COLLATION_NAME v64, DTD_IDENTIFIER l, ROUTINE_BODY v8!, ROUTINE_DEFINITION l, EXTERNAL_NAME v64, EXTERNAL_LANGUAGE v64!, PARAMETER_STYLE v3!, IS_DETERMINISTIC v3!, SQL_DATA_ACCESS v17!, SQL_PATH v64, SECURITY_TYPE v7!, CREATED s!, LAST_ALTERED s!, SQL_MODE v520!, ROUTINE_COMMENT t!, DEFINER v288!, CHARACTER_SET_CLIENT v64!, COLLATION_CONNECTION v64!, DATABASE_COLLATION v64!";
    "information_schema" "SCHEMATA" objects::schemata: "CATALOG_NAME n64!, SCHEMA_NAME n64!, DEFAULT_CHARACTER_SET_NAME v64!, DEFAULT_COLLATION_NAME v64!, SQL_PATH v64, DEFAULT_ENCRYPTION v3!";
    "information_schema" "SCHEMATA_EXTENSIONS" objects::schemata_extensions: "CATALOG_NAME n64!, SCHEMA_NAME n64!, OPTIONS v256";
    "information_schema" "SCHEMA_PRIVILEGES" activity::schema_privileges: "GRANTEE v292!, TABLE_CATALOG v512!, TABLE_SCHEMA n64!, PRIVILEGE_TYPE v64!, IS_GRANTABLE v3!";
    "information_schema" "STATISTICS" keys::statistics: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, NON_UNIQUE i!, INDEX_SCHEMA n64!, INDEX_NAME v64, SEQ_IN_INDEX u!, COLUMN_NAME v64, COLLATION v1, CARDINALITY b, SUB_PART b, PACKED v1, NULLABLE v3!, INDEX_TYPE v11!, COMMENT v8!, INDEX_COMMENT v2048!, IS_VISIBLE v3!, EXPRESSION l";
    "information_schema" "TABLES" objects::tables: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, TABLE_TYPE v11!, ENGINE v64, VERSION i, ROW_FORMAT v10, TABLE_ROWS U, AVG_ROW_LENGTH U, DATA_LENGTH U, MAX_DATA_LENGTH U, INDEX_LENGTH U, DATA_FREE U, AUTO_INCREMENT U, CREATE_TIME s!, UPDATE_TIME d, CHECK_TIME d, TABLE_COLLATION v64, CHECKSUM b, CREATE_OPTIONS v256, TABLE_COMMENT t";
    "information_schema" "TABLESPACES" none: "TABLESPACE_NAME v64!, ENGINE v64!, TABLESPACE_TYPE v64, LOGFILE_GROUP_NAME v64, EXTENT_SIZE U, AUTOEXTEND_SIZE U, MAXIMUM_SIZE U, NODEGROUP_ID U, TABLESPACE_COMMENT v2048";
    "information_schema" "TABLESPACES_EXTENSIONS" none: "TABLESPACE_NAME v268!, ENGINE_ATTRIBUTE l";
    "information_schema" "TABLES_EXTENSIONS" none: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, ENGINE_ATTRIBUTE l, SECONDARY_ENGINE_ATTRIBUTE l";
    "information_schema" "TABLE_CONSTRAINTS" keys::table_constraints: "CONSTRAINT_CATALOG n64!, CONSTRAINT_SCHEMA n64!, CONSTRAINT_NAME v64, TABLE_SCHEMA n64!, TABLE_NAME n64!, CONSTRAINT_TYPE v11!, ENFORCED v3!";
    "information_schema" "TABLE_PRIVILEGES" activity::table_privileges: "GRANTEE v292!, TABLE_CATALOG v512!, TABLE_SCHEMA n64!, TABLE_NAME n64!, PRIVILEGE_TYPE v64!, IS_GRANTABLE v3!";
    "information_schema" "TRIGGERS" programs::triggers: "TRIGGER_CATALOG n64!, TRIGGER_SCHEMA n64!, TRIGGER_NAME v64!, EVENT_MANIPULATION v6!, EVENT_OBJECT_CATALOG n64!, EVENT_OBJECT_SCHEMA n64!, EVENT_OBJECT_TABLE n64!, ACTION_ORDER u!, ACTION_CONDITION l, ACTION_STATEMENT l!, ACTION_ORIENTATION v3!, ACTION_TIMING v6!, ACTION_REFERENCE_OLD_TABLE v64, ACTION_REFERENCE_NEW_TABLE v64, ACTION_REFERENCE_OLD_ROW v3!, ACTION_REFERENCE_NEW_ROW v3!, CREATED s!, SQL_MODE v520!, DEFINER v288!, CHARACTER_SET_CLIENT v64!, COLLATION_CONNECTION v64!, DATABASE_COLLATION v64!";
    "information_schema" "USER_ATTRIBUTES" activity::user_attributes: "USER v32!, HOST v255!, ATTRIBUTE l";
    "information_schema" "USER_PRIVILEGES" activity::user_privileges: "GRANTEE v292!, TABLE_CATALOG v512!, PRIVILEGE_TYPE v64!, IS_GRANTABLE v3!";
    "information_schema" "VIEWS" objects::views: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, VIEW_DEFINITION l, CHECK_OPTION v8, IS_UPDATABLE v3, DEFINER v288, SECURITY_TYPE v7, CHARACTER_SET_CLIENT v64!, COLLATION_CONNECTION v64!";
    "information_schema" "VIEW_ROUTINE_USAGE" none: "TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!, SPECIFIC_CATALOG n64!, SPECIFIC_SCHEMA n64!, SPECIFIC_NAME v64!";
    "information_schema" "VIEW_TABLE_USAGE" none: "VIEW_CATALOG n64!, VIEW_SCHEMA n64!, VIEW_NAME n64!, TABLE_CATALOG n64!, TABLE_SCHEMA n64!, TABLE_NAME n64!";
    "information_schema" "GLOBAL_STATUS" activity::global_status: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "information_schema" "GLOBAL_VARIABLES" activity::global_variables: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "information_schema" "SESSION_STATUS" activity::session_status: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "information_schema" "SESSION_VARIABLES" activity::session_variables: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "mysql" "columns_priv" activity::mysql_columns_priv: "Host v255!, Db n64!, User v32!, Table_name n64!, Column_name v64!, Timestamp s, Column_priv v31!";
    "mysql" "component" activity::components: "component_id u!, component_group_id u!, component_urn t!";
    "mysql" "db" activity::mysql_db: "Host v255!, Db n64!, User v32!, Privileges t!";
    "mysql" "default_roles" roles::default_roles: "HOST v255!, USER v32!, DEFAULT_ROLE_HOST v255!, DEFAULT_ROLE_USER v32!";
    "mysql" "general_log" query_logs::general_log: "event_time S!, user_host m!, thread_id U!, server_id u!, command_type v64!, argument x!";
    "mysql" "global_grants" activity::mysql_global_grants: "USER v32!, HOST v255!, PRIV v32!, WITH_GRANT_OPTION v1!";
    "mysql" "innodb_index_stats" innodb_stats::index_stats: "database_name n64!, table_name n199!, index_name n64!, last_update s!, stat_name n64!, stat_value U!, sample_size U, stat_description n1024!";
    "mysql" "innodb_table_stats" innodb_stats::table_stats: "database_name n64!, table_name n199!, last_update s!, n_rows U!, clustered_index_size U!, sum_of_other_index_sizes U!";
    "mysql" "password_history" activity::password_history: "Host v255!, User v32!, Password_timestamp S!, Password t";
    "mysql" "procs_priv" activity::mysql_procs_priv: "Host v255!, Db n64!, User v32!, Routine_name n64!, Routine_type eFUNCTION/PROCEDURE!, Grantor v288!, Proc_priv v27!, Timestamp s";
    "mysql" "proxies_priv" activity::mysql_proxies_priv: "Host v255!, User v32!, Proxied_host v255!, Proxied_user v32!, With_grant u!, Grantor v288!, Timestamp s!";
    "mysql" "role_edges" roles::role_edges: "FROM_HOST v255!, FROM_USER v32!, TO_HOST v255!, TO_USER v32!, WITH_ADMIN_OPTION v1!";
    "mysql" "slow_log" query_logs::slow_log: "start_time S!, user_host m!, query_time T!, lock_time T!, rows_sent i!, rows_examined i!, db v512!, last_insert_id i!, insert_id i!, server_id u!, sql_text x!, thread_id U!";
    "mysql" "tables_priv" activity::mysql_tables_priv: "Host v255!, Db n64!, User v32!, Table_name n64!, Grantor v288!, Timestamp s, Table_priv v98!, Column_priv v31!";
    "mysql" "time_zone_name" none: "Name v64!, Time_zone_id u!";
    "mysql" "user" activity::mysql_user: "Host v255!, User v32!, Select_priv v1!, Insert_priv v1!, Update_priv v1!, Delete_priv v1!, Create_priv v1!, Drop_priv v1!, Reload_priv v1!, Shutdown_priv v1!, Process_priv v1!, File_priv v1!, Grant_priv v1!, References_priv v1!, Index_priv v1!, Alter_priv v1!, Show_db_priv v1!, Super_priv v1!, Create_tmp_table_priv v1!, Lock_tables_priv v1!, Execute_priv v1!, Repl_slave_priv v1!, Repl_client_priv v1!, Create_view_priv v1!, Show_view_priv v1!, Create_routine_priv v1!, Alter_routine_priv v1!, Create_user_priv v1!, Event_priv v1!, Trigger_priv v1!, Create_tablespace_priv v1!, ssl_type v9!, ssl_cipher t!, x509_issuer t!, x509_subject t!, max_questions u!, max_updates u!, max_connections u!, max_user_connections u!, plugin v64!, authentication_string t, password_expired v1!, password_last_changed s, password_lifetime u, account_locked v1!, Create_role_priv v1!, Drop_role_priv v1!, Password_reuse_history u, Password_reuse_time u, Password_require_current v1, User_attributes l";
    "performance_schema" "data_lock_waits" data_locks::data_lock_waits: "ENGINE v32!, REQUESTING_ENGINE_LOCK_ID v128!, REQUESTING_ENGINE_TRANSACTION_ID U, REQUESTING_THREAD_ID U, REQUESTING_EVENT_ID U, REQUESTING_OBJECT_INSTANCE_BEGIN U!, BLOCKING_ENGINE_LOCK_ID v128!, BLOCKING_ENGINE_TRANSACTION_ID U, BLOCKING_THREAD_ID U, BLOCKING_EVENT_ID U, BLOCKING_OBJECT_INSTANCE_BEGIN U!";
    "performance_schema" "data_locks" data_locks::data_locks: "ENGINE v32!, ENGINE_LOCK_ID v128!, ENGINE_TRANSACTION_ID U, THREAD_ID U, EVENT_ID U, OBJECT_SCHEMA v64, OBJECT_NAME v64, PARTITION_NAME v64, SUBPARTITION_NAME v64, INDEX_NAME v64, OBJECT_INSTANCE_BEGIN U!, LOCK_TYPE v32!, LOCK_MODE v32!, LOCK_STATUS v32!, LOCK_DATA v8192";
    "performance_schema" "error_log" error_log::error_log: "LOGGED S!, THREAD_ID U, PRIO v7!, ERROR_CODE v10, SUBSYSTEM v16, DATA t!";
    "performance_schema" "events_statements_summary_by_digest" statements::by_digest: "SCHEMA_NAME v64, DIGEST v64, DIGEST_TEXT l, COUNT_STAR U!, SUM_TIMER_WAIT U!, MIN_TIMER_WAIT U!, AVG_TIMER_WAIT U!, MAX_TIMER_WAIT U!, SUM_LOCK_TIME U!, SUM_ERRORS U!, SUM_WARNINGS U!, SUM_ROWS_AFFECTED U!, SUM_ROWS_SENT U!, SUM_ROWS_EXAMINED U!, SUM_CREATED_TMP_DISK_TABLES U!, SUM_CREATED_TMP_TABLES U!, SUM_SELECT_FULL_JOIN U!, SUM_SELECT_FULL_RANGE_JOIN U!, SUM_SELECT_RANGE U!, SUM_SELECT_RANGE_CHECK U!, SUM_SELECT_SCAN U!, SUM_SORT_MERGE_PASSES U!, SUM_SORT_RANGE U!, SUM_SORT_ROWS U!, SUM_SORT_SCAN U!, SUM_NO_INDEX_USED U!, SUM_NO_GOOD_INDEX_USED U!, SUM_CPU_TIME U!, MAX_CONTROLLED_MEMORY U!, MAX_TOTAL_MEMORY U!, COUNT_SECONDARY U!, FIRST_SEEN S!, LAST_SEEN S!, QUANTILE_95 U!, QUANTILE_99 U!, QUANTILE_999 U!, QUERY_SAMPLE_TEXT l, QUERY_SAMPLE_SEEN S!, QUERY_SAMPLE_TIMER_WAIT U!";
    "performance_schema" "global_status" activity::global_status: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "global_variables" activity::global_variables: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "host_cache" activity::host_cache: "IP v64!, HOST v255, HOST_VALIDATED v3!, SUM_CONNECT_ERRORS b!, COUNT_HOST_BLOCKED_ERRORS b!, COUNT_NAMEINFO_TRANSIENT_ERRORS b!, COUNT_NAMEINFO_PERMANENT_ERRORS b!, COUNT_FORMAT_ERRORS b!, COUNT_ADDRINFO_TRANSIENT_ERRORS b!, COUNT_ADDRINFO_PERMANENT_ERRORS b!, COUNT_FCRDNS_ERRORS b!, COUNT_HOST_ACL_ERRORS b!, COUNT_NO_AUTH_PLUGIN_ERRORS b!, COUNT_AUTH_PLUGIN_ERRORS b!, COUNT_HANDSHAKE_ERRORS b!, COUNT_PROXY_USER_ERRORS b!, COUNT_PROXY_USER_ACL_ERRORS b!, COUNT_AUTHENTICATION_ERRORS b!, COUNT_SSL_ERRORS b!, COUNT_MAX_USER_CONNECTIONS_ERRORS b!, COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS b!, COUNT_DEFAULT_DATABASE_ERRORS b!, COUNT_INIT_CONNECT_ERRORS b!, COUNT_LOCAL_ERRORS b!, COUNT_UNKNOWN_ERRORS b!, FIRST_SEEN s!, LAST_SEEN s!, FIRST_ERROR_SEEN s, LAST_ERROR_SEEN s";
    "performance_schema" "metadata_locks" metadata_locks::metadata_locks: "OBJECT_TYPE v64!, OBJECT_SCHEMA v64, OBJECT_NAME v64, COLUMN_NAME v64, OBJECT_INSTANCE_BEGIN U!, LOCK_TYPE v32!, LOCK_DURATION v32!, LOCK_STATUS v32!, SOURCE v64, OWNER_THREAD_ID U, OWNER_EVENT_ID U";
    "performance_schema" "persisted_variables" activity::persisted_variables: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "processlist" activity::performance_processlist: "ID U!, USER v32, HOST v261, DB v64, COMMAND v16, TIME b, STATE v64, INFO l, EXECUTION_ENGINE ePRIMARY/SECONDARY";
    "performance_schema" "session_status" activity::session_status: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "performance_schema" "session_variables" activity::session_variables: "VARIABLE_NAME v64!, VARIABLE_VALUE v1024";
    "sys" "innodb_lock_waits" lock_waits::lock_waits: "wait_started d, wait_age c, wait_age_secs b, locked_table l, locked_table_schema v64, locked_table_name v64, locked_table_partition v64, locked_table_subpartition v64, locked_index v64, locked_type v32!, waiting_trx_id U!, waiting_trx_started d, waiting_trx_age c, waiting_trx_rows_locked U!, waiting_trx_rows_modified U!, waiting_pid U!, waiting_query l, waiting_lock_id v128!, waiting_lock_mode v32!, blocking_trx_id U!, blocking_pid U!, blocking_query l, blocking_lock_id v128!, blocking_lock_mode v32!, blocking_trx_started d, blocking_trx_age c, blocking_trx_rows_locked U!, blocking_trx_rows_modified U!, sql_kill_blocking_query v32, sql_kill_blocking_connection v26";
    "sys" "schema_table_lock_waits" metadata_locks::table_lock_waits: "object_schema v64, object_name v64, waiting_thread_id U!, waiting_pid U, waiting_account t, waiting_lock_type v32!, waiting_lock_duration v32!, waiting_query l, waiting_query_secs b, waiting_query_rows_affected U, waiting_query_rows_examined U, blocking_thread_id U!, blocking_pid U, blocking_account t, blocking_lock_type v32!, blocking_lock_duration v32!, sql_kill_blocking_query v31, sql_kill_blocking_connection v26";
    "sys" "statement_analysis" statements::analysis: "query l, db v64, full_scan v1!, exec_count U!, err_count U!, warn_count U!, total_latency v11, max_latency v11, avg_latency v11, lock_latency v11, cpu_latency v11, rows_sent U!, rows_sent_avg U!, rows_examined U!, rows_examined_avg U!, rows_affected U!, rows_affected_avg U!, tmp_tables U!, tmp_disk_tables U!, rows_sorted U!, sort_merge_passes U!, max_controlled_memory v11, max_total_memory v11, digest v64, first_seen S!, last_seen S!";
    "sys" "x$innodb_lock_waits" lock_waits::raw_lock_waits: "wait_started d, wait_age c, wait_age_secs b, locked_table l, locked_table_schema v64, locked_table_name v64, locked_table_partition v64, locked_table_subpartition v64, locked_index v64, locked_type v32!, waiting_trx_id U!, waiting_trx_started d, waiting_trx_age c, waiting_trx_rows_locked U!, waiting_trx_rows_modified U!, waiting_pid U!, waiting_query l, waiting_lock_id v128!, waiting_lock_mode v32!, blocking_trx_id U!, blocking_pid U!, blocking_query l, blocking_lock_id v128!, blocking_lock_mode v32!, blocking_trx_started d, blocking_trx_age c, blocking_trx_rows_locked U!, blocking_trx_rows_modified U!, sql_kill_blocking_query v32, sql_kill_blocking_connection v26";
    "sys" "x$schema_table_lock_waits" metadata_locks::raw_table_lock_waits: "object_schema v64, object_name v64, waiting_thread_id U!, waiting_pid U, waiting_account t, waiting_lock_type v32!, waiting_lock_duration v32!, waiting_query l, waiting_query_secs b, waiting_query_rows_affected U, waiting_query_rows_examined U, blocking_thread_id U!, blocking_pid U, blocking_account t, blocking_lock_type v32!, blocking_lock_duration v32!, sql_kill_blocking_query v31, sql_kill_blocking_connection v26";
    "sys" "x$statement_analysis" statements::raw_analysis: "query l, db v64, full_scan v1!, exec_count U!, err_count U!, warn_count U!, total_latency U!, max_latency U!, avg_latency U!, lock_latency U!, cpu_latency U!, rows_sent U!, rows_sent_avg U!, rows_examined U!, rows_examined_avg U!, rows_affected U!, rows_affected_avg U!, tmp_tables U!, tmp_disk_tables U!, rows_sorted U!, sort_merge_passes U!, max_controlled_memory U!, max_total_memory U!, digest v64, first_seen S!, last_seen S!";
}
