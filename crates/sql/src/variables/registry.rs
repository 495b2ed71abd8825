//! All system variables: name, scope, kind, default.

use std::borrow::Cow;

use shoal_parser::ast::SystemVariable;
use shoal_types::{Error, ErrorCode, Result};

use super::optimizer_switch;
use crate::ddl::engine::{self, DEFAULT_ENGINE};

/// Where a variable has values, and whether SET may change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
    /// Global, fixed while the server runs (some at all).
    ReadOnly,
}

/// What values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ON and OFF.
    Switch,
    /// Least and greatest; values outside are clamped, as MySQL does.
    Integer(u64, u64),
    /// One of these words; numbers choose by position.
    Word(&'static [&'static str]),
    /// Some of these words, with commas between them.
    Words(&'static [&'static str]),
    Text,
    /// A storage engine's name.
    Engine,
    /// A number with decimals.
    Real,
}

/// One variable.
#[derive(Debug)]
pub struct Definition {
    /// In lower case.
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub default: &'static str,
}

impl Definition {
    pub fn in_session(&self) -> bool {
        matches!(self.scope, Scope::Session | Scope::Both)
    }

    pub fn is_global(&self) -> bool {
        !matches!(self.scope, Scope::Session)
    }

    /// A value in its canonical text. Errors: 1231, 1232.
    pub fn check(&self, text: &str) -> Result<String> {
        match self.kind {
            Kind::Switch => match text.to_ascii_uppercase().as_str() {
                "ON" | "1" | "TRUE" | "YES" => Ok("ON".to_owned()),
                "OFF" | "0" | "FALSE" | "NO" => Ok("OFF".to_owned()),
                _ => Err(self.wrong_value(text)),
            },
            Kind::Integer(least, greatest) => match text.trim().parse::<i128>() {
                Ok(number) => Ok(number.clamp(i128::from(least), i128::from(greatest)).to_string()),
                Err(_) => {
                    let message = format!("Incorrect argument type to variable '{}'", self.name);
                    Err(Error::new(ErrorCode::WrongTypeForVar, message))
                }
            },
            Kind::Word(words) => {
                let named = words.iter().find(|word| word.eq_ignore_ascii_case(text));
                let chosen = named.or_else(|| text.parse::<usize>().ok().and_then(|position| words.get(position)));
                chosen.map(|word| (*word).to_owned()).ok_or_else(|| self.wrong_value(text))
            }
            Kind::Words(words) => {
                let known = |word: &str| words.iter().find(|known| known.eq_ignore_ascii_case(word)).copied();
                let chosen: Option<Vec<_>> = text.split(',').map(|word| known(word.trim())).collect();
                chosen.map(|words| words.join(",")).ok_or_else(|| self.wrong_value(text))
            }
            Kind::Text if self.name == "optimizer_switch" => {
                optimizer_switch::changed(optimizer_switch::DEFAULT, text).ok_or_else(|| self.wrong_value(text))
            }
            Kind::Text if self.name == "sql_mode" => Ok(super::sql_mode::SqlModes::parse(text)?.text()),
            Kind::Text if self.name == "log_output" => {
                crate::query_log::settings::outputs(text).ok_or_else(|| self.wrong_value(text))
            }
            Kind::Text if self.name == "log_error_services" => {
                shoal_error_log::service_names(text).ok_or_else(|| self.wrong_value(text))
            }
            Kind::Text if self.name == "mandatory_roles" => match crate::account::mandatory_list::parse(text) {
                Some(_) => Ok(text.to_owned()),
                None => Err(self.wrong_value(text)),
            },
            Kind::Text => Ok(text.to_owned()),
            Kind::Engine => match engine::canonical(text) {
                Some(name) => Ok(name.to_owned()),
                None => Err(engine::unknown(text)),
            },
            Kind::Real => match text.trim().parse::<f64>() {
                Ok(number) if number.is_nan() => Err(self.wrong_value(text)),
                Ok(number) if self.name == "long_query_time" => {
                    Ok(format!("{:.6}", number.clamp(0.0, LONG_QUERY_TIME_MAX_S)))
                }
                Ok(number) => Ok(format!("{number:.6}")),
                Err(_) => Err(self.wrong_value(text)),
            },
        }
    }

    /// The text of a number with K, M, G or T behind it, written out; any other text as it is.
    pub fn without_suffix(&self, text: &str) -> String {
        let shift = match text.trim_end().as_bytes().last().map(u8::to_ascii_uppercase) {
            Some(b'K') => 10,
            Some(b'M') => 20,
            Some(b'G') => 30,
            Some(b'T') => 40,
            _ => 0,
        };
        let digits = text.trim().trim_end_matches(|last: char| last.is_ascii_alphabetic());
        match (&self.kind, digits.parse::<i128>()) {
            (Kind::Integer(..), Ok(number)) if shift > 0 && text.trim().len() == digits.len() + 1 => {
                number.saturating_mul(1 << shift).to_string()
            }
            _ => text.to_owned(),
        }
    }

    pub fn wrong_value(&self, text: &str) -> Error {
        let message = format!("Variable '{}' can't be set to the value of '{text}'", self.name);
        Error::new(ErrorCode::WrongValueForVar, message)
    }
}

/// The variable of this name, without regard to case.
pub fn find(name: &str) -> Option<&'static Definition> {
    let name = name.to_ascii_lowercase();
    ALL.binary_search_by(|definition| definition.name.cmp(name.as_str())).ok().map(|position| &ALL[position])
}

/// The same. Errors: 1193, with the nearest known name.
pub fn require(name: &str) -> Result<&'static Definition> {
    find(name).ok_or_else(|| {
        let hint = nearest(name).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        Error::new(ErrorCode::UnknownSystemVariable, format!("Unknown system variable '{name}'{hint}"))
    })
}

/// 1193 without a guess, as clients expect it in SQL.
pub fn unknown(name: &str) -> Error {
    Error::new(ErrorCode::UnknownSystemVariable, format!("Unknown system variable '{name}'"))
}

/// The name with the component that the variable is of. Key caches have none of their own.
pub fn full_name(variable: &SystemVariable) -> Cow<'_, str> {
    const COMPONENT: &str = "validate_password";
    match &variable.component {
        Some(component) if component.value.eq_ignore_ascii_case(COMPONENT) => {
            Cow::Owned(format!("{COMPONENT}.{}", variable.name.value))
        }
        _ => Cow::Borrowed(variable.name.value.as_str()),
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let best = ALL.iter().map(|definition| (distance(&name, definition.name), definition.name)).min()?;
    (best.0 <= name.len() / 3).then_some(best.1)
}

/// Levenshtein's.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

const I32: u64 = i32::MAX as u64;
const U32: u64 = u32::MAX as u64;
/// A year.
const LONG_QUERY_TIME_MAX_S: f64 = 31_536_000.0;
const U64: u64 = u64::MAX;
const DEFAULT_MODES: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
const ISOLATION: Kind = Kind::Word(&["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]);
const DURABILITY: Kind = Kind::Word(&["disk", "replicated"]);

/// Of AES_ENCRYPT and AES_DECRYPT.
#[rustfmt::skip]
const BLOCK_ENCRYPTION_MODES: &[&str] = &[
    "aes-128-ecb", "aes-192-ecb", "aes-256-ecb", "aes-128-cbc", "aes-192-cbc", "aes-256-cbc",
    "aes-128-cfb1", "aes-192-cfb1", "aes-256-cfb1", "aes-128-cfb8", "aes-192-cfb8", "aes-256-cfb8",
    "aes-128-cfb128", "aes-192-cfb128", "aes-256-cfb128", "aes-128-ofb", "aes-192-ofb", "aes-256-ofb",
];

macro_rules! variables {
    ($($name:literal $scope:ident $kind:expr, $default:expr;)*) => {
        /// In the order of names.
        pub static ALL: &[Definition] = &[
            $(Definition { name: $name, scope: Scope::$scope, kind: $kind, default: $default },)*
        ];
    };
}

variables! {
    "activate_all_roles_on_login" Global Kind::Switch, "OFF";
    "admin_address" ReadOnly Kind::Text, "";
    "admin_port" ReadOnly Kind::Integer(0, 65_535), "33062";
    "audit_log" Global Kind::Switch, "OFF";
    "audit_log_file" Global Kind::Text, "";
    "audit_log_rotate_on_size" Global Kind::Integer(0, U64), "0";
    "audit_log_statements" Global Kind::Switch, "OFF";
    "auto_increment_increment" Both Kind::Integer(1, 65_535), "1";
    "auto_increment_offset" Both Kind::Integer(1, 65_535), "1";
    "autocommit" Both Kind::Switch, "ON";
    "automatic_sp_privileges" Global Kind::Switch, "ON";
    "back_log" ReadOnly Kind::Integer(1, 65_535), "4096";
    "basedir" ReadOnly Kind::Text, "/usr/";
    "big_tables" Both Kind::Switch, "OFF";
    "binlog_format" Both Kind::Word(&["MIXED", "STATEMENT", "ROW"]), "ROW";
    "block_encryption_mode" Both Kind::Word(BLOCK_ENCRYPTION_MODES), "aes-128-ecb";
    "bulk_insert_buffer_size" Both Kind::Integer(0, U64), "8388608";
    "caching_sha2_password_auto_generate_rsa_keys" ReadOnly Kind::Switch, "ON";
    "caching_sha2_password_digest_rounds" ReadOnly Kind::Integer(5000, 4_095_000), "5000";
    "caching_sha2_password_private_key_path" ReadOnly Kind::Text, "private_key.pem";
    "caching_sha2_password_public_key_path" ReadOnly Kind::Text, "public_key.pem";
    "character_set_client" Both Kind::Text, "utf8mb4";
    "character_set_connection" Both Kind::Text, "utf8mb4";
    "character_set_database" Both Kind::Text, "utf8mb4";
    "character_set_filesystem" Both Kind::Text, "binary";
    "character_set_results" Both Kind::Text, "utf8mb4";
    "character_set_server" Both Kind::Text, "utf8mb4";
    "character_set_system" ReadOnly Kind::Text, "utf8mb3";
    "character_sets_dir" ReadOnly Kind::Text, "";
    "check_proxy_users" Global Kind::Switch, "OFF";
    "collation_connection" Both Kind::Text, "utf8mb4_0900_ai_ci";
    "collation_database" Both Kind::Text, "utf8mb4_0900_ai_ci";
    "collation_server" Both Kind::Text, "utf8mb4_0900_ai_ci";
    "commit_durability" Global DURABILITY, "disk";
    "completion_type" Both Kind::Word(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN";
    "concurrent_insert" Global Kind::Word(&["NEVER", "AUTO", "ALWAYS"]), "AUTO";
    "connect_timeout" Global Kind::Integer(2, 31_536_000), "10";
    "connection_memory_chunk_size" Both Kind::Integer(0, 512 << 20), "8192";
    "connection_memory_limit" Both Kind::Integer(2 << 20, U64), "18446744073709551615";
    "cte_max_recursion_depth" Both Kind::Integer(0, U32), "1000";
    "data_memory" ReadOnly Kind::Integer(0, U64), "0";
    "datadir" ReadOnly Kind::Text, "";
    "default_collation_for_utf8mb4" Both Kind::Text, "utf8mb4_0900_ai_ci";
    "default_password_lifetime" Global Kind::Integer(0, 65_535), "0";
    "default_storage_engine" Both Kind::Engine, DEFAULT_ENGINE;
    "default_tmp_storage_engine" Both Kind::Engine, DEFAULT_ENGINE;
    "default_week_format" Both Kind::Integer(0, 7), "0";
    "disconnect_on_expired_password" ReadOnly Kind::Switch, "ON";
    "div_precision_increment" Both Kind::Integer(0, 30), "4";
    "error_count" ReadOnly Kind::Integer(0, U64), "0";
    "event_scheduler" Global Kind::Word(&["OFF", "ON", "DISABLED"]), "ON";
    "explicit_defaults_for_timestamp" Both Kind::Switch, "ON";
    "external_user" ReadOnly Kind::Text, "NULL";
    "flush" Global Kind::Switch, "OFF";
    "foreign_key_checks" Both Kind::Switch, "ON";
    "general_log" Global Kind::Switch, "OFF";
    "general_log_file" Global Kind::Text, "";
    "generated_random_password_length" Both Kind::Integer(5, 255), "20";
    "global_connection_memory_limit" Global Kind::Integer(16 << 20, U64), "18446744073709551615";
    "global_connection_memory_tracking" Both Kind::Switch, "OFF";
    "group_concat_max_len" Both Kind::Integer(4, U64), "1024";
    "gtid_mode" ReadOnly Kind::Text, "OFF";
    "handlersocket_accept_balance" ReadOnly Kind::Integer(0, 10_000), "0";
    "handlersocket_account" ReadOnly Kind::Text, "root@localhost";
    "handlersocket_account_wr" ReadOnly Kind::Text, "root@localhost";
    "handlersocket_address" ReadOnly Kind::Text, "127.0.0.1";
    "handlersocket_backlog" ReadOnly Kind::Integer(5, 1_000_000), "32768";
    "handlersocket_epoll" ReadOnly Kind::Integer(0, 1), "1";
    "handlersocket_max_connections" ReadOnly Kind::Integer(1, 1_000_000), "10000";
    "handlersocket_plain_secret" ReadOnly Kind::Text, "";
    "handlersocket_plain_secret_wr" ReadOnly Kind::Text, "";
    "handlersocket_port" ReadOnly Kind::Text, "";
    "handlersocket_port_wr" ReadOnly Kind::Text, "";
    "handlersocket_rcvbuf" ReadOnly Kind::Integer(0, 16_777_216), "0";
    "handlersocket_readsize" ReadOnly Kind::Integer(0, 16_777_216), "0";
    "handlersocket_sndbuf" ReadOnly Kind::Integer(0, 16_777_216), "0";
    "handlersocket_threads" ReadOnly Kind::Integer(1, 3000), "16";
    "handlersocket_threads_wr" ReadOnly Kind::Integer(1, 3000), "1";
    "handlersocket_timeout" ReadOnly Kind::Integer(1, 3600), "300";
    "handlersocket_tls" ReadOnly Kind::Switch, "OFF";
    "handlersocket_verbose" Global Kind::Integer(0, 10_000), "10";
    "handlersocket_wrlock_timeout" ReadOnly Kind::Integer(0, 3600), "12";
    "have_compress" ReadOnly Kind::Text, "YES";
    "have_openssl" ReadOnly Kind::Text, "DISABLED";
    "have_ssl" ReadOnly Kind::Text, "DISABLED";
    "hostname" ReadOnly Kind::Text, "localhost";
    "http_profiles" ReadOnly Kind::Switch, "OFF";
    "http_rest" ReadOnly Kind::Switch, "OFF";
    "http_tls" ReadOnly Kind::Switch, "OFF";
    "identity" Session Kind::Integer(0, U64), "0";
    "init_connect" Global Kind::Text, "";
    "innodb_autoinc_lock_mode" ReadOnly Kind::Integer(0, 2), "2";
    "innodb_buffer_pool_size" Global Kind::Integer(0, U64), "134217728";
    "innodb_file_per_table" Global Kind::Switch, "ON";
    "innodb_flush_log_at_trx_commit" Global Kind::Integer(0, 2), "1";
    "innodb_lock_wait_timeout" Both Kind::Integer(1, 1_073_741_824), "50";
    "innodb_read_only" ReadOnly Kind::Switch, "OFF";
    "innodb_rollback_on_timeout" ReadOnly Kind::Switch, "OFF";
    "innodb_stats_on_metadata" Global Kind::Switch, "OFF";
    "innodb_strict_mode" Both Kind::Switch, "ON";
    "innodb_version" ReadOnly Kind::Text, "8.4.0";
    "insert_id" Session Kind::Integer(0, U64), "0";
    "interactive_timeout" Both Kind::Integer(1, 31_536_000), "28800";
    "join_buffer_size" Both Kind::Integer(128, U64), "262144";
    "key_buffer_size" Global Kind::Integer(0, U64), "8388608";
    "last_insert_id" Session Kind::Integer(0, U64), "0";
    "lc_messages" Both Kind::Text, "en_US";
    "lc_time_names" Both Kind::Text, "en_US";
    "license" ReadOnly Kind::Text, "Apache-2.0";
    "local_infile" Global Kind::Switch, "OFF";
    "lock_wait_timeout" Both Kind::Integer(1, 31_536_000), "31536000";
    "log_bin" ReadOnly Kind::Switch, "OFF";
    "log_bin_trust_function_creators" Global Kind::Switch, "OFF";
    "log_error" ReadOnly Kind::Text, "stderr";
    "log_error_services" Global Kind::Text, "log_filter_internal; log_sink_internal";
    "log_error_verbosity" Global Kind::Integer(1, 3), "2";
    "log_output" Global Kind::Text, "FILE";
    "log_queries_not_using_indexes" Global Kind::Switch, "OFF";
    "log_slow_admin_statements" Global Kind::Switch, "OFF";
    "log_slow_extra" Global Kind::Switch, "OFF";
    "log_trace_context" Global Kind::Switch, "OFF";
    "long_query_time" Both Kind::Real, "10.000000";
    "low_priority_updates" Both Kind::Switch, "OFF";
    "lower_case_file_system" ReadOnly Kind::Switch, "OFF";
    "lower_case_table_names" ReadOnly Kind::Integer(0, 2), "0";
    "mandatory_roles" Global Kind::Text, "";
    "max_allowed_packet" Both Kind::Integer(1024, 1 << 30), "67108864";
    "max_connect_errors" Global Kind::Integer(1, U64), "100";
    "max_connections" Global Kind::Integer(1, 100_000), "10000";
    "max_error_count" Both Kind::Integer(0, 65_535), "1024";
    "max_execution_time" Both Kind::Integer(0, U32), "0";
    "max_heap_table_size" Both Kind::Integer(16_384, U64), "16777216";
    "max_join_size" Both Kind::Integer(1, U64), "18446744073709551615";
    "max_length_for_sort_data" Both Kind::Integer(4, 8_388_608), "4096";
    "max_prepared_stmt_count" Global Kind::Integer(0, 4_194_304), "16382";
    "max_sort_length" Both Kind::Integer(4, 8_388_608), "1024";
    "max_sp_recursion_depth" Both Kind::Integer(0, 255), "0";
    "max_user_connections" Both Kind::Integer(0, U32), "0";
    "min_examined_row_limit" Both Kind::Integer(0, U64), "0";
    "mysql_native_password_proxy_users" Global Kind::Switch, "OFF";
    "ndb_autoincrement_prefetch_sz" Both Kind::Integer(1, 65_536), "512";
    "ndb_batch_size" Both Kind::Integer(0, U32), "32768";
    "ndb_force_send" Both Kind::Switch, "ON";
    "ndb_index_stat_enable" Both Kind::Switch, "ON";
    "ndb_join_pushdown" Both Kind::Switch, "ON";
    "ndb_optimized_node_selection" Global Kind::Integer(0, 3), "3";
    "ndb_read_backup" Global Kind::Switch, "ON";
    "ndb_table_no_logging" Session Kind::Switch, "OFF";
    "ndb_use_exact_count" Both Kind::Switch, "OFF";
    "ndb_use_transactions" Both Kind::Switch, "ON";
    "ndb_version_string" ReadOnly Kind::Text, "ndb-8.4.0";
    "net_buffer_length" Both Kind::Integer(1024, 1_048_576), "16384";
    "net_read_timeout" Both Kind::Integer(1, 31_536_000), "30";
    "net_retry_count" Both Kind::Integer(1, U64), "10";
    "net_write_timeout" Both Kind::Integer(1, 31_536_000), "60";
    "new" Both Kind::Switch, "OFF";
    "old_alter_table" Both Kind::Switch, "OFF";
    "optimizer_prune_level" Both Kind::Integer(0, 1), "1";
    "optimizer_search_depth" Both Kind::Integer(0, 62), "62";
    "optimizer_switch" Both Kind::Text, optimizer_switch::DEFAULT;
    "password_history" Global Kind::Integer(0, U32), "0";
    "password_require_current" Global Kind::Switch, "OFF";
    "password_reuse_interval" Global Kind::Integer(0, U32), "0";
    "performance_schema" ReadOnly Kind::Switch, "ON";
    "performance_schema_digests_size" ReadOnly Kind::Integer(0, 1_048_576), "10000";
    "pid_file" ReadOnly Kind::Text, "";
    "port" ReadOnly Kind::Integer(0, 65_535), "3306";
    "profiling" Both Kind::Switch, "OFF";
    "profiling_history_size" Both Kind::Integer(0, 100), "15";
    "protocol_compression_algorithms" Global Kind::Words(&["zlib", "zstd", "uncompressed"]), "zlib,zstd,uncompressed";
    "protocol_version" ReadOnly Kind::Integer(10, 10), "10";
    "proxy_protocol_networks" ReadOnly Kind::Text, "";
    "proxy_user" ReadOnly Kind::Text, "NULL";
    "query_alloc_block_size" Both Kind::Integer(1024, U32), "8192";
    "query_cache_size" ReadOnly Kind::Integer(0, U64), "0";
    "query_cache_type" ReadOnly Kind::Text, "OFF";
    "rand_seed1" Session Kind::Integer(0, U64), "0";
    "rand_seed2" Session Kind::Integer(0, U64), "0";
    "read_buffer_size" Both Kind::Integer(8192, U32), "131072";
    "read_only" Global Kind::Switch, "OFF";
    "read_rnd_buffer_size" Both Kind::Integer(1, U32), "262144";
    "require_secure_transport" Global Kind::Switch, "OFF";
    "secure_file_priv" ReadOnly Kind::Text, "NULL";
    "server_id" Global Kind::Integer(0, U32), "1";
    "server_uuid" ReadOnly Kind::Text, "00000000-0000-0000-0000-000000000001";
    "session_track_gtids" Both Kind::Word(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF";
    "session_track_schema" Both Kind::Switch, "ON";
    "session_track_state_change" Both Kind::Switch, "OFF";
    "session_track_system_variables" Both Kind::Text, "time_zone,autocommit,character_set_client,character_set_results,character_set_connection";
    "session_track_transaction_info" Both Kind::Word(&["OFF", "STATE", "CHARACTERISTICS"]), "OFF";
    "sha256_password_proxy_users" Global Kind::Switch, "OFF";
    "show_create_table_verbosity" Both Kind::Switch, "OFF";
    "show_gipk_in_create_table_and_information_schema" Both Kind::Switch, "ON";
    "skip_external_locking" ReadOnly Kind::Switch, "ON";
    "skip_name_resolve" ReadOnly Kind::Switch, "ON";
    "skip_networking" ReadOnly Kind::Switch, "OFF";
    "slow_query_log" Global Kind::Switch, "OFF";
    "slow_query_log_file" Global Kind::Text, "";
    "socket" ReadOnly Kind::Text, "";
    "sort_buffer_size" Both Kind::Integer(32_768, U64), "262144";
    "sql_auto_is_null" Both Kind::Switch, "OFF";
    "sql_big_selects" Both Kind::Switch, "ON";
    "sql_buffer_result" Both Kind::Switch, "OFF";
    "sql_generate_invisible_primary_key" Both Kind::Switch, "OFF";
    "sql_log_bin" Session Kind::Switch, "ON";
    "sql_log_off" Both Kind::Switch, "OFF";
    "sql_mode" Both Kind::Text, DEFAULT_MODES;
    "sql_notes" Both Kind::Switch, "ON";
    "sql_quote_show_create" Both Kind::Switch, "ON";
    "sql_require_primary_key" Both Kind::Switch, "OFF";
    "sql_safe_updates" Both Kind::Switch, "OFF";
    "sql_select_limit" Both Kind::Integer(0, U64), "18446744073709551615";
    "sql_warnings" Both Kind::Switch, "OFF";
    "ssl_ca" ReadOnly Kind::Text, "";
    "ssl_cert" ReadOnly Kind::Text, "";
    "ssl_key" ReadOnly Kind::Text, "";
    "super_read_only" Global Kind::Switch, "OFF";
    "system_time_zone" ReadOnly Kind::Text, "UTC";
    "table_definition_cache" Global Kind::Integer(0, U64), "2000";
    "table_open_cache" Global Kind::Integer(1, U64), "4000";
    "tcp_keepalive_interval" ReadOnly Kind::Integer(0, 31_536_000), "0";
    "tcp_keepalive_probes" ReadOnly Kind::Integer(0, 2_147_483_647), "0";
    "tcp_keepalive_time" ReadOnly Kind::Integer(0, 31_536_000), "0";
    "thread_cache_size" Global Kind::Integer(0, 16_384), "0";
    "thread_handling" ReadOnly Kind::Text, "worker-per-core";
    "time_zone" Both Kind::Text, "SYSTEM";
    "timestamp" Session Kind::Real, "0";
    "tls_version" ReadOnly Kind::Text, "TLSv1.2,TLSv1.3";
    "tmp_table_size" Both Kind::Integer(1024, U64), "16777216";
    "tmpdir" ReadOnly Kind::Text, "/tmp";
    "transaction_alloc_block_size" Both Kind::Integer(1024, 131_072), "8192";
    "transaction_allow_batching" Session Kind::Switch, "OFF";
    "transaction_isolation" Both ISOLATION, "REPEATABLE-READ";
    "transaction_read_only" Both Kind::Switch, "OFF";
    "tx_isolation" Both ISOLATION, "REPEATABLE-READ";
    "tx_read_only" Both Kind::Switch, "OFF";
    "unique_checks" Both Kind::Switch, "ON";
    "updatable_views_with_limit" Both Kind::Switch, "ON";
    "use_secondary_engine" Session Kind::Text, "OFF";
    "validate_password.check_user_name" Global Kind::Switch, "ON";
    "validate_password.length" Global Kind::Integer(0, I32), "8";
    "validate_password.mixed_case_count" Global Kind::Integer(0, I32), "1";
    "validate_password.number_count" Global Kind::Integer(0, I32), "1";
    "validate_password.policy" Global Kind::Word(&["LOW", "MEDIUM", "STRONG"]), "MEDIUM";
    "validate_password.special_char_count" Global Kind::Integer(0, I32), "1";
    "version" ReadOnly Kind::Text, crate::server::VERSION;
    "version_comment" ReadOnly Kind::Text, "Shoal";
    "version_compile_machine" ReadOnly Kind::Text, std::env::consts::ARCH;
    "version_compile_os" ReadOnly Kind::Text, std::env::consts::OS;
    "wait_timeout" Both Kind::Integer(1, 31_536_000), "28800";
    "warning_count" ReadOnly Kind::Integer(0, U64), "0";
    "windowing_use_high_precision" Both Kind::Switch, "ON";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_so_that_they_can_be_found() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn every_default_is_a_value_that_the_variable_takes() {
        for definition in ALL {
            assert!(definition.check(definition.default).is_ok(), "{}", definition.name);
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        assert!(require("max_conections").unwrap_err().message().contains("'max_connections'"));
        assert!(!require("zzzzzz").unwrap_err().message().contains("did you mean"));
    }

    #[test]
    fn sizes_of_the_command_line_may_have_suffixes() {
        let packet = require("max_allowed_packet").unwrap();
        assert_eq!(packet.without_suffix("1G"), (1u64 << 30).to_string());
        assert_eq!(packet.without_suffix(" 16m "), (16u64 << 20).to_string());
        for text in ["16", "G", "1GG", "1 G", "-x", ""] {
            assert_eq!(packet.without_suffix(text), text);
        }
        let word = require("character_set_server").unwrap();
        assert_eq!(word.without_suffix("5k"), "5k");
    }
}
