//! Programs that people write against MySQL, a few small ones of `make test-applications`.

use shoal_system_tests::applications::run_applications;

#[test]
fn peewee_knex_and_golang_migrate_work_and_their_dumps_load_again() {
    run_applications(&[]);
}
