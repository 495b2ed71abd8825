//! Checks the arrows between the layers of this crate, and between the files of a layer, in its own sources.
//!
//! A layer knows those beneath it and none above; the files of a layer do not know each other in circles. Tests are not looked at:
//! they may use whole nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The layers with what each may know besides itself, the lowest first.
const LAYERS: [(&str, &[&str]); 7] = [
    ("base", &[]),
    ("membership", &["base"]),
    ("storage", &["base"]),
    ("replication", &["base", "membership", "storage"]),
    ("dictionary", &["base", "membership", "storage", "replication"]),
    ("management", &["base", "membership", "storage", "replication", "dictionary"]),
    ("node", &["base", "membership", "storage", "replication", "dictionary", "management"]),
];

/// Sources by their paths within `src`.
type Sources = BTreeMap<String, String>;

/// What a file names of the crate: modules as `layer` or `layer/file`.
fn named(path: &str, source: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let layer = path.split(['/', '.']).next().unwrap_or_default();
    for line in source.lines() {
        let code = line.split("//").next().unwrap_or_default();
        for (start, _) in code.match_indices("crate::") {
            let mut names = code[start + "crate::".len()..].split("::");
            let module = |name: Option<&str>| {
                let name = name?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
                name.starts_with(char::is_lowercase).then(|| name.to_owned())
            };
            let first = module(names.next());
            // What the crate shows to others is for others.
            let Some(first) = first else {
                named.insert("lib".to_owned());
                continue;
            };
            match module(names.next()) {
                Some(second) => named.insert(format!("{first}/{second}")),
                None => named.insert(first),
            };
        }
        if path.contains('/') {
            for (start, _) in code.match_indices("super::") {
                let name =
                    code[start + "super::".len()..].split(|c: char| !c.is_alphanumeric() && c != '_').next();
                if let Some(name) = name.filter(|name| name.starts_with(char::is_lowercase)) {
                    named.insert(format!("{layer}/{name}"));
                }
            }
        }
    }
    named
}

/// What is wrong, a sentence each.
fn faults(sources: &Sources) -> Vec<String> {
    let mut faults = Vec::new();
    // Arrows between the files of the layers.
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, source) in sources {
        let file = path.trim_end_matches(".rs");
        let layer = file.split('/').next().unwrap_or_default();
        let Some((_, below)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            faults.push(format!("{path} belongs to no layer"));
            continue;
        };
        // A file below a file is a part of that.
        let file: String = file.split('/').take(2).collect::<Vec<_>>().join("/");
        for other in named(path, production_code(source)) {
            let other_layer = other.split('/').next().unwrap_or_default();
            if other_layer != layer && !below.contains(&other_layer) {
                faults.push(format!("{path} names {other}, and `{layer}` must not know `{other_layer}`"));
            }
            let is_file = other.contains('/') && sources.contains_key(&format!("{other}.rs"));
            if other_layer == layer && is_file && file.contains('/') && other != file {
                arrows.entry(file.clone()).or_default().insert(other);
            }
        }
    }
    let mut done = BTreeSet::new();
    for file in arrows.keys() {
        follow(file, &arrows, &mut Vec::new(), &mut done, &mut faults);
    }
    faults
}

/// A file without its tests, which are its end.
fn production_code(source: &str) -> &str {
    let ends = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\npub(crate) mod tests"];
    ends.iter().filter_map(|end| source.find(end)).min().map_or(source, |end| &source[..end])
}

/// Follows the arrows from a file, depth first: one that leads back to where it came from closes a circle. `done`: files that were
/// followed already.
fn follow(
    file: &str,
    arrows: &BTreeMap<String, BTreeSet<String>>,
    path: &mut Vec<String>,
    done: &mut BTreeSet<String>,
    faults: &mut Vec<String>,
) {
    if let Some(start) = path.iter().position(|before| before == file) {
        faults.push(format!("files in a circle: {} -> {file}", path[start..].join(" -> ")));
        return;
    }
    if !done.insert(file.to_owned()) {
        return;
    }
    path.push(file.to_owned());
    for other in arrows.get(file).into_iter().flatten() {
        follow(other, arrows, path, done, faults);
    }
    path.pop();
}

fn read_sources(directory: &Path, prefix: &str, sources: &mut Sources) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            read_sources(&entry.path(), &format!("{prefix}{name}/"), sources);
        } else if !name.ends_with("tests.rs")
            && !["lib.rs", "layers.rs"].contains(&format!("{prefix}{name}").as_str())
        {
            sources.insert(format!("{prefix}{name}"), std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

fn sources(files: &[(&str, &str)]) -> Sources {
    files.iter().map(|&(path, source)| (path.to_owned(), source.to_owned())).collect()
}

#[test]
fn every_layer_knows_only_those_beneath_it_and_no_files_know_each_other_in_circles() {
    let mut sources = Sources::new();
    read_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    assert!(sources.len() > 50, "the sources were not found: {}", sources.len());
    let faults = faults(&sources);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn arrows_upward_and_circles_are_found() {
    let is_wrong = |files: &[(&str, &str)]| !faults(&sources(files)).is_empty();
    assert!(!is_wrong(&[
        ("storage.rs", "pub mod log;\nuse crate::storage::log::Log;"),
        ("storage/log.rs", "use crate::base::clock::Clock;\nuse crate::storage::Storage;"),
        ("node.rs", "use crate::storage::Storage; // not crate::nowhere::at_all"),
        ("base/clock.rs", "#[cfg(test)]\nmod tests { use crate::node::Node; }"),
    ]));
    assert!(is_wrong(&[("storage/log.rs", "use crate::node::Node;")]));
    assert!(is_wrong(&[("storage/log.rs", "fn stop(node: &crate::management::view::View) {}")]));
    assert!(is_wrong(&[("storage/log.rs", "use crate::membership::peers::Peer;")]));
    assert!(is_wrong(&[("storage/log.rs", "use crate::{base, node};")]), "groups hide what they name");
    assert!(is_wrong(&[("storage/log.rs", "use crate::Node;")]));
    // As the folder was when it was flat.
    assert!(is_wrong(&[("commit.rs", "use crate::node::Node;"), ("node.rs", "use crate::commit::Sequencer;")]));
    let circle = [
        ("storage/log.rs", "use crate::storage::slices::Slices;"),
        ("storage/slices.rs", "use super::snapshot::Snapshots;"),
        ("storage/snapshot.rs", "use crate::base::clock::Clock;\nuse crate::storage::log::Log;"),
    ];
    assert!(is_wrong(&circle));
    assert!(!is_wrong(&circle[..2]));
}
