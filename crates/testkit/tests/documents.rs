//! What documents say of tests is true: a test that `docs/reliability.md` names is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The sources below a folder, one after the other.
fn append_sources(folder: &Path, text: &mut String) {
    let entries: Vec<PathBuf> =
        folder.read_dir().expect("a folder of sources").map(|entry| entry.expect("an entry").path()).collect();
    for path in entries {
        if path.is_dir() && !path.ends_with("target") {
            append_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source file"));
        }
    }
}

/// Last parts of paths between backquotes that look like a test's: `module::the_sentence_it_is_named_by`.
fn named_tests(document: &str) -> BTreeSet<&str> {
    let quoted = document.split('`').skip(1).step_by(2);
    let names = quoted.filter_map(|text| text.rsplit_once("::")).map(|(_, name)| name);
    names.filter(|name| name.matches('_').count() >= 3 && !name.ends_with('_')).collect()
}

#[test]
fn every_test_that_the_page_on_reliability_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/reliability.md")).expect("the page");
    let mut sources = String::new();
    append_sources(&root.join("crates"), &mut sources);
    let names = named_tests(&document);
    assert!(names.len() > 50, "the page names its tests in another way: {names:?}");
    let missing: Vec<&&str> = names.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "the page names tests that are not there: {missing:?}");
}
