//! The golden SQL scripts of `crates/system-tests/golden/`, all in one server, each in a database of its own.
//!
//! `SHOAL_GOLDEN_ONLY=name,name` runs some of them.

use std::path::Path;

use shoal_system_tests::{TestServer, golden};

#[test]
fn golden_scripts_print_what_they_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let only = std::env::var("SHOAL_GOLDEN_ONLY").unwrap_or_default();
    let chosen = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy();
        only.is_empty() || only.split(',').any(|wanted| wanted == name)
    };
    let server = TestServer::start();
    let mut passed = 0;
    let mut failed = Vec::new();
    for path in golden::scripts(&folder).into_iter().filter(chosen) {
        let check = std::panic::AssertUnwindSafe(|| golden::check(&server, &path));
        match std::panic::catch_unwind(check) {
            Ok(None) => passed += 1,
            Ok(Some(difference)) => {
                println!("{difference}");
                failed.push(path);
            }
            Err(_) => failed.push(path),
        }
    }
    let names: Vec<_> = failed.iter().filter_map(|path| path.file_stem()).collect();
    assert!(failed.is_empty(), "{passed} passed, {} differ: {names:?}", names.len());
    assert!(passed > 0, "no script was found in {}", folder.display());
}
