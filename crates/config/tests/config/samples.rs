//! Files as users write them, each with a golden file that says what is understood, or what is refused.
//!
//! `UPDATE_GOLDEN=1 cargo test -p shoal-config` writes the golden files; read the difference before committing it.

use std::path::{Path, PathBuf};

use shoal_config::ClusterConfig;

fn samples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let entries = std::fs::read_dir(directory).expect("the samples are part of the crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable directory").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ini"));
    files.sort();
    files
}

/// What a reader learns: the description with the partition map, or every mistake.
fn understood(path: &Path) -> String {
    match ClusterConfig::read(path) {
        Ok(config) => {
            let map = config.partition_map().into_iter().chain([config.meta_placement()]);
            let lines: Vec<String> = map.map(|placement| format!("partition {placement}\n")).collect();
            format!("{}{}", config.describe(), lines.concat())
        }
        Err(error) => format!("{error}\n"),
    }
}

#[test]
fn samples_are_understood_as_their_golden_files_say() {
    let samples = samples();
    assert!(samples.len() >= 7, "samples are missing: {samples:?}");
    let mut differing = Vec::new();
    for path in samples {
        let golden = path.with_extension("golden");
        let understood = understood(&path);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &understood).expect("the golden file can be written");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if expected != understood {
            differing.push(format!("--- {}\n{understood}", golden.display()));
        }
    }
    assert!(differing.is_empty(), "not as the golden files say:\n{}", differing.join("\n"));
}
