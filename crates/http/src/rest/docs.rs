//! What describes the interface: `/openapi.json` for programs, `/api-docs` for people. Both tell of no data, so nobody logs in for them.

use super::Rest;
use crate::dashboard::file;
use crate::reply::{JSON, Reply};

const OPENAPI: &str = include_str!("openapi.json");
const HTML: &str = include_str!("api-docs.html");

/// The page at a path; none while REST is off.
pub fn page(rest: &Rest, path: &str) -> Option<Reply> {
    match path {
        _ if !rest.is_on() => None,
        "/openapi.json" => Some(file(JSON, OPENAPI)),
        "/api-docs" => Some(file("text/html; charset=utf-8", HTML)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::request::{OPERATIONS_MAX, Target, Verb, operations};
    use super::*;

    fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                document.pointer(reference.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("{reference}"))
            }
            None => value,
        }
    }

    #[test]
    fn the_description_has_the_paths_that_there_are_and_its_examples_are_understood() {
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let mut verbs = Vec::new();
        for (path, item) in paths {
            let real = path.replace("{database}", "shop").replace("{table}", "fish");
            let target = Target::of_path(&real).unwrap_or_else(|problem| panic!("{path}: {problem:?}"));
            let content = &item["post"]["requestBody"]["content"]["application/json"];
            assert!(resolved(&document, &content["schema"])["properties"].is_object(), "{path}");
            let example = content["example"].to_string();
            let found =
                operations(target, example.as_bytes()).unwrap_or_else(|problem| panic!("{path}: {problem:?}"));
            verbs.extend(found.list.iter().filter(|_| !found.is_batch).map(|operation| operation.verb));
            for status in item["post"]["responses"].as_object().unwrap().values() {
                assert!(resolved(&document, status)["description"].is_string(), "{path}");
            }
        }
        for verb in [Verb::Read, Verb::Insert, Verb::Update, Verb::Upsert, Verb::Delete] {
            assert!(verbs.contains(&verb) && HTML.contains(verb.name()), "{}", verb.name());
        }
        assert!(paths.contains_key("/0.1.0/batch"));
        assert_eq!(
            document["components"]["schemas"]["Batch"]["properties"]["operations"]["maxItems"],
            OPERATIONS_MAX
        );
        assert_eq!(document["info"]["version"], "0.1.0");
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        for foreign in ["http:", "https:", "src=\"//", "<script", "<style", "style=\"", "onclick"] {
            assert!(!HTML.contains(foreign), "{foreign}");
        }
    }
}
