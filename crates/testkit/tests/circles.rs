//! Files of a crate do not use each other in circles: checked in the sources of all crates.
//!
//! What counts is what a file names of its crate (`use`, and paths within the text), through re-exports too; tests are not looked at.
//! That a file shows or calls its own parts, which use what is around them, is no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module by its names below the crate.
type Module = Vec<String>;

#[derive(Default)]
struct Sources {
    texts: BTreeMap<Module, String>,
    /// What a module shows under its own name: name to module.
    shown: BTreeMap<Module, BTreeMap<String, Module>>,
}

/// A text without comments and without the tests at its end. A declaration of tests that lie elsewhere ends nothing.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The names of the items that a text defines at its left edge for others.
fn defined(text: &str) -> impl Iterator<Item = String> {
    let kinds = ["struct", "enum", "union", "trait", "type", "fn", "const", "static"];
    text.lines().filter(|line| line.starts_with("pub")).filter_map(move |line| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.find(|word| kinds.contains(word))?;
        words.find(|word| !kinds.contains(word) && !word.is_empty()).map(str::to_owned)
    })
}

/// The paths of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths_of(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let names = |text: &str| -> Vec<String> {
        let name = |part: &str| part.split(" as ").next().unwrap_or_default().trim().to_owned();
        text.split("::").map(name).filter(|name| !name.is_empty()).collect()
    };
    let mut head = prefix.to_vec();
    let Some((before, rest)) = tree.split_once('{') else {
        head.extend(names(tree));
        paths.push(head);
        return;
    };
    head.extend(names(before));
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start) = (0, 0);
    for (at, byte) in inner.bytes().enumerate().chain([(inner.len(), b',')]) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                if !inner[start..at].trim().is_empty() {
                    paths_of(&inner[start..at], &head, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The use trees of a text, each with whether others see what it names; and the rest of the text.
fn uses(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut trees, mut rest, mut left) = (Vec::new(), String::new(), text);
    while let Some((before, from)) = left.split_once("use ") {
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        rest.push_str(before);
        match from.split_once(';').filter(|_| line.is_empty() || line.starts_with("pub")) {
            Some((tree, after)) => {
                trees.push((line.starts_with("pub"), tree.replace('\n', " ")));
                left = after;
            }
            None => left = from,
        }
    }
    rest.push_str(left);
    (trees, rest)
}

impl Sources {
    fn read(directory: &Path) -> Sources {
        let mut sources = Sources::default();
        sources.read_folder(directory, &[]);
        // What a module shows may be what another one shows, which is known a round later.
        while sources.read_shown() {}
        sources
    }

    /// Reads what modules show of others; whether that is more than was known.
    fn read_shown(&mut self) -> bool {
        let mut all_shown = BTreeMap::new();
        for module in self.texts.keys() {
            let mut paths = Vec::new();
            for (_, tree) in uses(&self.texts[module]).0.iter().filter(|(is_shown, _)| *is_shown) {
                paths_of(tree, &[], &mut paths);
            }
            let mut shown = BTreeMap::new();
            for path in paths {
                let (Some((target, taken)), Some(name)) = (self.resolve(module, &path), path.last()) else {
                    continue;
                };
                if name == "*" {
                    shown.extend(self.shown.get(&target).cloned().unwrap_or_default());
                    shown.extend(defined(&self.texts[&target]).map(|name| (name, target.clone())));
                } else {
                    let through = path.get(taken).and_then(|name| self.shown.get(&target)?.get(name)).cloned();
                    shown.insert(name.clone(), through.unwrap_or(target));
                }
            }
            all_shown.insert(module.clone(), shown);
        }
        let is_more = self.shown != all_shown;
        self.shown = all_shown;
        is_more
    }

    fn read_folder(&mut self, folder: &Path, names: &[String]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if stem == "tests" {
                continue;
            }
            let mut module = names.to_vec();
            if path.is_dir() {
                module.push(stem);
                self.read_folder(&path, &module);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                if !["lib", "main", "mod"].contains(&stem.as_str()) {
                    module.push(stem);
                }
                // `lib.rs` and `main.rs` are one module here.
                let text = self.texts.entry(module).or_default();
                text.push_str(&code(&std::fs::read_to_string(&path).unwrap()));
                text.push('\n');
            }
        }
    }

    /// The module that a path leads to, and how many of its names that takes. `None`: it leads out of the crate.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<(Module, usize)> {
        let below = |module: &Module, name: &String| {
            let below: Module = module.iter().chain([name]).cloned().collect();
            self.texts.contains_key(&below).then_some(below)
        };
        let (mut module, mut at) = match path.first()?.as_str() {
            "crate" => (Module::new(), 1),
            "self" => (from.clone(), 1),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                (from[..from.len().checked_sub(up)?].to_vec(), up)
            }
            _ => (below(from, path.first()?)?, 1),
        };
        while let Some(deeper) = path.get(at).and_then(|name| below(&module, name)) {
            module = deeper;
            at += 1;
        }
        self.texts.contains_key(&module).then_some((module, at))
    }

    /// The modules that one uses.
    fn used_by(&self, module: &Module) -> BTreeSet<Module> {
        let (trees, rest) = uses(&self.texts[module]);
        let mut paths = Vec::new();
        for (_, tree) in trees {
            paths_of(&tree, &[], &mut paths);
        }
        paths.retain(|path| ["crate", "super", "self"].contains(&path[0].as_str()));
        for start in ["crate::", "super::"] {
            for (at, _) in rest.match_indices(start) {
                let path = rest[at..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
                let names = path.unwrap_or_default().split("::").map(str::to_owned);
                paths.push(names.filter(|name| !name.is_empty()).collect());
            }
        }
        let mut used = BTreeSet::new();
        for path in paths {
            let Some((target, taken)) = self.resolve(module, &path) else { continue };
            let shown = self.shown.get(&target);
            if path.last().is_some_and(|name| name == "*") {
                let others =
                    shown.into_iter().flat_map(BTreeMap::values).filter(|other| !other.starts_with(module));
                used.extend(others.cloned());
            }
            let shown = path.get(taken).and_then(|name| shown?.get(name));
            used.insert(shown.cloned().unwrap_or(target));
        }
        used.remove(module);
        used
    }

    /// A circle, if there is one: each file uses the next, and the last one the first.
    fn circle(&self) -> Option<Vec<Module>> {
        let mut done = BTreeSet::new();
        self.texts.keys().find_map(|module| self.follow(module, &mut Vec::new(), &mut done))
    }

    /// Follows what files use, depth first: what leads back to where it came from closes a circle.
    fn follow(&self, module: &Module, path: &mut Vec<Module>, done: &mut BTreeSet<Module>) -> Option<Vec<Module>> {
        if let Some(start) = path.iter().position(|before| before == module) {
            return Some(path[start..].to_vec());
        }
        if !done.insert(module.clone()) {
            return None;
        }
        path.push(module.clone());
        let circle = self.used_by(module).iter().find_map(|used| self.follow(used, path, done));
        path.pop();
        circle
    }
}

#[test]
fn no_files_of_a_crate_use_each_other_in_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.join("src").is_dir()).collect();
    assert!(folders.iter().any(|folder| folder.ends_with("parser")), "the crates were not found");
    for folder in folders {
        let sources = Sources::read(&folder.join("src"));
        assert!(!sources.texts.is_empty(), "the sources of {} were not found", folder.display());
        if let Some(circle) = sources.circle() {
            let files: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            panic!("{}: files in a circle: {}", folder.display(), files.join(" -> "));
        }
    }
}

#[test]
fn circles_are_found_directly_around_corners_and_through_what_others_show() {
    let has_circle = |files: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Sources::read(folder.path()).circle().is_some()
    };
    assert!(!has_circle(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b::{C, D};"), ("b.rs", "")]));
    assert!(has_circle(&[("a.rs", "use crate::b::C;"), ("b.rs", "fn d() { crate::a::e() }")]));
    assert!(!has_circle(&[("a.rs", "use crate::b::C; // and"), ("b.rs", "// crate::a::e")]));
    let corner = [
        ("a.rs", "use crate::{\n    b::C,\n    e,\n};"),
        ("b.rs", "use super::d::E;"),
        ("d.rs", "use std::mem;\n\nuse crate::a::F;"),
    ];
    assert!(has_circle(&corner));
    assert!(!has_circle(&corner[..2]));
    let shown =
        [("lib.rs", "mod a;\nmod b;\npub use a::A;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::A;")];
    assert!(has_circle(&shown));
    let all_shown = [
        ("lib.rs", "mod a;\nmod b;\npub use a::*;\npub use b::*;"),
        ("a.rs", "mod inner;\npub use inner::*;\n"),
        ("a/inner.rs", "use crate::B;\npub struct A;"),
        ("b.rs", "use crate::A;\n\npub enum B {}"),
    ];
    assert!(has_circle(&all_shown));
    assert!(!has_circle(&all_shown[..3]));
    let all_used = [all_shown[0], ("a.rs", "use super::*;"), ("b.rs", "use crate::a::A;\npub fn b() {}")];
    assert!(has_circle(&all_used));
    let tests = [("a.rs", "use crate::b::B;"), ("b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }")];
    assert!(!has_circle(&tests));
    let tests_elsewhere = [("a.rs", "#[cfg(test)]\nmod tests;\n\nuse crate::b::B;"), ("b.rs", "use crate::a::A;")];
    assert!(has_circle(&tests_elsewhere));
    let part_and_whole = [("a.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use super::A;")];
    assert!(!has_circle(&part_and_whole));
}
