//! Programs of `scripts/applications`, those whose packages `scripts/client-packages` fetches. All of them run by `make test-applications`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use shoal_testkit::program;

use crate::harness::{clients_folder, shoal_binary, skip, target_is_mariadb};

/// All programs together, with the start of a cluster.
const DEADLINE: Duration = Duration::from_secs(300);

/// Runs the programs on a server that the script starts, a cluster with `--cluster`, and dumps and loads what they made. Fails with what the script
/// tells; those whose packages are missing are skipped.
pub fn run_applications(options: &[&str]) {
    if target_is_mariadb() {
        return skip("the script starts Shoal");
    }
    let names: Vec<&str> = [
        ("peewee", has_peewee()),
        ("knex", has("node/node_modules/knex")),
        ("migrate", has("go-programs/migrate_shop")),
    ]
    .into_iter()
    .filter_map(|(name, is_there)| {
        if !is_there {
            skip(&format!("needs the packages of {name}: run `make test`, or scripts/client-packages"));
        }
        is_there.then_some(name)
    })
    .collect();
    if names.is_empty() {
        return;
    }
    let mut command = Command::new(script());
    command.arg("--installed").arg("--folder").arg(clients_folder()).arg("--shoal-binary").arg(shoal_binary());
    command.args(options).args(&names);
    let output = program::run(command, b"", DEADLINE, || false).unwrap_or_else(|error| panic!("{error}"));
    assert!(output.status.success(), "{}{}", output.text(), output.errors());
    for name in names {
        assert!(
            output.text().lines().any(|line| line.starts_with(name) && line.contains(" ok: ")),
            "{name}: {}",
            output.text()
        );
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/applications/run")
}

fn has(name: &str) -> bool {
    clients_folder().join(name).exists()
}

fn has_peewee() -> bool {
    let imported =
        Command::new(clients_folder().join("python/bin/python")).args(["-c", "import peewee, pymysql"]).output();
    imported.is_ok_and(|output| output.status.success())
}
