//! Which tables of `ndbinfo` there are, with NDB's columns and types.

use super::super::definitions::{Definition, Maker};
use super::{activity, config, fragments, links, locks, memory, nodes, threads};

macro_rules! tables {
    ($($name:literal $maker:expr, $columns:literal;)*) => {
        pub const DEFINITIONS: &[Definition] = &[
            $(Definition { database: "ndbinfo", name: $name, columns: $columns, rows: $maker },)*
        ];
    };
}

tables! {
    "arbitrator_validity_detail" Maker::Of("membership", nodes::arbitrator_detail), "node_id u, arbitrator u, arb_ticket v512, arb_connected v3, arb_state v12";
    "arbitrator_validity_summary" Maker::Of("membership", nodes::arbitrator_summary), "arbitrator u, arb_ticket v512, arb_connected v3, consensus_count U";
    "cluster_locks" Maker::Nodes(locks::locks), "node_id u, block_instance u, tableid u, fragmentid u, rowid U, transid U, mode v1, state v1, detail v1, op v9, duration_millis u, lock_num u, waiting_for u";
    "cluster_operations" Maker::Nodes(locks::operations), "node_id u, block_instance u, transid U, operation_type v9, state v256, tableid u, fragmentid u, client_node_id u, client_block_ref u, tc_node_id u, tc_block_no u, tc_block_instance u";
    "cluster_transactions" Maker::Nodes(activity::transactions), "node_id u, block_instance u, transid U, state v256, count_operations u, outstanding_operations u, inactive_seconds u, client_node_id u, client_block_ref u";
    "config_nodes" Maker::Here(nodes::config_nodes), "node_id u, node_type v3, node_hostname v512";
    "config_params" Maker::Here(config::parameters), "param_number u, param_name v512, param_description v512, param_type v512, param_default v512, param_min v512, param_max v512, param_mandatory u, param_status v512";
    "config_values" Maker::Nodes(config::values), "node_id u, config_param u, config_value v512";
    "counters" Maker::Nodes(activity::counters), "node_id u, block_name v512, block_instance u, counter_id u, counter_name v38, val U";
    "dict_obj_info" Maker::Here(fragments::objects), "type u, id u, version u, state u, parent_obj_type u, parent_obj_id u, fq_name v512";
    "dict_obj_types" Maker::Here(fragments::object_types), "type_id u, type_name v512";
    "locks_per_fragment" Maker::Nodes(locks::locks_per_fragment), "fq_name v512, parent_fq_name v512, type v512, table_id u, node_id u, block_instance u, fragment_num u, ex_req U, ex_imm_ok U, ex_wait_ok U, ex_wait_fail U, sh_req U, sh_imm_ok U, sh_wait_ok U, sh_wait_fail U, wait_ok_millis U, wait_fail_millis U";
    "logbuffers" Maker::Nodes(memory::logbuffers), "node_id u, log_type v11, log_id u, log_part u, total U, used U";
    "logspaces" Maker::Nodes(memory::logspaces), "node_id u, log_type v7, log_id u, log_part u, total U, used U";
    "membership" Maker::Nodes(nodes::membership), "node_id u, group_id u, left_node u, right_node u, president u, successor u, succession_order u, Conf_HB_order u, arbitrator u, arb_ticket v512, arb_state v12, arb_connected v3, connected_rank1_arbs v512, connected_rank2_arbs v512";
    "memory_per_fragment" Maker::Nodes(memory::memory_per_fragment), "fq_name v512, parent_fq_name v512, type v512, table_id u, node_id u, block_instance u, fragment_num u, fixed_elem_alloc_bytes U, fixed_elem_free_bytes U, fixed_elem_size_bytes u, fixed_elem_count U, fixed_elem_free_count U, var_elem_alloc_bytes U, var_elem_free_bytes U, var_elem_count U, tuple_l2pmap_alloc_bytes U, hash_index_l2pmap_alloc_bytes U, hash_index_alloc_bytes U";
    "memoryusage" Maker::Nodes(memory::memoryusage), "node_id u, memory_type v512, used U, used_pages U, total U, total_pages U";
    "nodes" Maker::Nodes(nodes::nodes), "node_id u, uptime U, status v10, start_phase u, config_generation u";
    "operations_per_fragment" Maker::Nodes(fragments::operations_per_fragment), "fq_name v512, parent_fq_name v512, type v512, table_id u, node_id u, block_instance u, fragment_num u, tot_key_reads U, tot_key_inserts U, tot_key_updates U, tot_key_writes U, tot_key_deletes U, tot_key_refs U, tot_key_attrinfo_bytes U, tot_key_keyinfo_bytes U, tot_key_prog_bytes U, tot_key_inst_exec U, tot_key_bytes_returned U, tot_frag_scans U, tot_scan_rows_examined U, tot_scan_rows_returned U, tot_scan_bytes_returned U, tot_scan_prog_bytes U, tot_scan_bound_bytes U, tot_scan_inst_exec U, tot_qd_frag_scans U, conc_frag_scans u, conc_qd_frag_scans u, tot_commits U";
    "processes" Maker::Nodes(nodes::processes), "node_id u, node_type v3, node_version v64, process_id u, angel_process_id u, process_name v64, service_URI v128";
    "restart_info" Maker::Nodes(nodes::restart_info), "node_id u, node_restart_status v256, node_restart_status_int u, secs_to_complete_node_failure u, secs_to_allocate_node_id u, secs_to_include_in_heartbeat_protocol u, secs_until_wait_for_ndbcntr_master u, secs_wait_for_ndbcntr_master u, secs_to_get_start_permitted u, secs_to_wait_for_lcp_for_copy_meta_data u, secs_to_copy_meta_data u, secs_to_include_node u, secs_starting_node_to_request_local_recovery u, secs_for_local_recovery u, secs_restore_fragments u, secs_undo_disk_data u, secs_exec_redo_log u, secs_index_rebuild u, secs_to_synchronize_starting_node u, secs_wait_lcp_for_restart u, secs_wait_subscription_handover u, total_restart_secs u";
    "server_locks" Maker::Of("cluster_locks", locks::locks_of_sessions), "mysql_connection_id U, node_id u, block_instance u, tableid u, fragmentid u, rowid U, transid U, mode v1, state v1, detail v1, op v9, duration_millis u, lock_num u, waiting_for u";
    "server_operations" Maker::Of("cluster_operations", locks::operations_of_sessions), "mysql_connection_id U, node_id u, block_instance u, transid U, operation_type v9, state v256, tableid u, fragmentid u, client_node_id u, client_block_ref u, tc_node_id u, tc_block_no u, tc_block_instance u";
    "server_transactions" Maker::Of("cluster_transactions", activity::of_this_server), "mysql_connection_id U, node_id u, block_instance u, transid U, state v256, count_operations u, outstanding_operations u, inactive_seconds u, client_node_id u, client_block_ref u";
    "table_distribution_status" Maker::Here(fragments::distribution_status), "node_id u, table_id u, tab_copy_status v28, tab_update_status v28, tab_lcp_status v28, tab_status v28, tab_storage v28, tab_partitions u, tab_fragments u, current_scan_count u, scan_count_wait u, is_reorg_ongoing u";
    "table_fragments" Maker::Here(fragments::table_fragments), "node_id u, table_id u, partition_id u, fragment_id u, partition_order u, log_part_id u, no_of_replicas u, current_primary u, preferred_primary u, current_first_backup u, current_second_backup u, current_third_backup u, num_alive_replicas u, num_dead_replicas u, num_lcp_replicas u";
    "table_info" Maker::Here(fragments::table_info), "table_id u, logged_table u, row_contains_gci u, row_contains_checksum u, read_backup u, fully_replicated u, storage_type v13, hashmap_id u, partition_balance v17, create_gci u";
    "table_replicas" Maker::Here(fragments::table_replicas), "node_id u, table_id u, fragment_id u, initial_gci u, replica_node_id u, is_lcp_ongoing u, num_crashed_replicas u, last_max_gci_started u, last_max_gci_completed u, last_lcp_id u, prev_lcp_id u, prev_max_gci_started u, prev_max_gci_completed u, last_create_gci u, last_replica_gci u, is_replica_alive u";
    "threads" Maker::Nodes(threads::threads), "node_id u, thr_no u, thread_name v512, thread_description v512";
    "threadstat" Maker::Nodes(threads::threadstat), "node_id u, thr_no u, thr_nm v512, c_loop U, c_exec U, c_wait U, c_l_sent_prioa U, c_l_sent_priob U, c_r_sent_prioa U, c_r_sent_priob U, os_tid U, os_now U, os_ru_utime U, os_ru_stime U, os_ru_minflt U, os_ru_majflt U, os_ru_nvcsw U, os_ru_nivcsw U";
    "transporter_details" Maker::Nodes(links::details), "node_id u, block_instance u, trp_id u, remote_node_id u, status v13, remote_address v512, bytes_sent U, bytes_received U, connect_count u, overloaded u, overload_count u, slowdown u, slowdown_count u, encrypted u, sendbuffer_used_bytes U, sendbuffer_max_used_bytes U, sendbuffer_alloc_bytes U, sendbuffer_max_alloc_bytes U";
    "transporters" Maker::Nodes(links::transporters), "node_id u, remote_node_id u, status v13, remote_address v512, bytes_sent U, bytes_received U, connect_count u, overloaded u, overload_count u, slowdown u, slowdown_count u, encrypted u";
}
