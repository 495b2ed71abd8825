//! `shoal config` as people call it.

use std::path::Path;
use std::process::{Command, Output};

use shoal_system_tests::shoal_binary;

fn shoal(arguments: &[&str]) -> Output {
    Command::new(shoal_binary()).arg("config").args(arguments).output().expect("shoal runs")
}

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/samples").join(name);
    path.to_str().expect("a readable path").to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_good_file_is_described_and_the_status_is_0() {
    let output = shoal(&["check", &sample("two_data_one_mgm_two_sql.ini")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let described = text(&output.stdout);
    assert!(described.starts_with("cluster shoal: 2 data nodes, 2 replicas"), "{described}");
    assert!(described.contains("node 2 leads 0 2 and follows 1 3"), "{described}");
}

#[test]
fn all_mistakes_are_listed_with_their_lines_and_the_status_is_1() {
    let output = shoal(&["check", &sample("mistakes.ini")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let told = text(&output.stderr);
    assert!(
        told.contains("line 6: unknown parameter DataMemmory in [ndbd default]; did you mean DataMemory?"),
        "{told}"
    );
    assert!(told.contains("line 46: unknown section [frobnicator]"), "{told}");
    let mistakes = told.lines().filter(|line| line.starts_with("line ")).count();
    assert!(mistakes > 20, "{mistakes} in\n{told}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = shoal(&["check", "no/such/file.ini"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot read no/such/file.ini"), "{}", text(&output.stderr));
}

#[test]
fn a_generated_file_passes_the_check() {
    let output = shoal(&["generate", "--hosts", "a, b", "--memory", "8G", "--mgm-hosts", "m", "--name", "shop"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("config.ini");
    std::fs::write(&file, &output.stdout).expect("a file");
    let checked = shoal(&["check", file.to_str().expect("a readable path")]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    let described = text(&checked.stdout);
    assert!(described.starts_with("cluster shop: 2 data nodes, 2 replicas"), "{described}");
    assert!(!described.contains("note"), "{described}");

    let refused = shoal(&["generate", "--hosts", "a,b,c", "--memory", "8G", "--replicas", "2"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("name 4 hosts"), "{}", text(&refused.stderr));
}
