//! The programs of `system::applications` at one node of a cluster; another one dumps and loads what they made.

use shoal_system_tests::applications::run_applications;

#[test]
fn peewee_knex_and_golang_migrate_work_on_two_data_nodes_and_their_dumps_load_again() {
    run_applications(&["--cluster"]);
}
