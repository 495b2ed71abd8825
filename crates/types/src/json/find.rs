//! The parts of a document that a path names.
//!
//! An array leg that means the first element also takes a value that is no array as an array of that one value.

use std::collections::HashSet;

use super::path::append_member;
use super::{ArrayIndex, DEPTH_MAX, JsonPath, JsonRef, PathLeg};
use crate::number::append_u64;

impl PathLeg {
    /// Means the only element of a one-element array, too.
    pub(super) fn takes_non_array(&self) -> bool {
        match self {
            PathLeg::Element(index) => index.index == 0,
            PathLeg::Range(from, to) => range_positions(*from, *to, 1).contains(&0),
            _ => false,
        }
    }
}

/// The positions that a range means in an array of `length` elements.
fn range_positions(from: ArrayIndex, to: ArrayIndex, length: usize) -> std::ops::Range<usize> {
    let start = from.position(length).unwrap_or(0);
    let end = to.position(length).map_or(0, |last| last.saturating_add(1).min(length));
    start.min(end)..end
}

/// Receives every part found, with its own path when that was asked for; stops the walk with `false`.
type Visitor<'v, 'a> = dyn FnMut(JsonRef<'a>, Option<&[u8]>) -> bool + 'v;

struct Walk<'v, 'a> {
    visit: &'v mut Visitor<'v, 'a>,
    /// The text of the path to the current part; `None` when nobody wants it.
    path: Option<Vec<u8>>,
}

impl<'a> Walk<'_, 'a> {
    fn step(&mut self, part: JsonRef<'a>, legs: &[PathLeg], depth: usize) -> bool {
        let Some((leg, rest)) = legs.split_first() else {
            return (self.visit)(part, self.path.as_deref());
        };
        match leg {
            PathLeg::Member(key) => match part.get(key) {
                Some(value) => self.step_to_member(key, value, rest, depth),
                None => true,
            },
            PathLeg::AnyMember => part.members().all(|(key, value)| self.step_to_member(key, value, rest, depth)),
            PathLeg::AnyDepth => self.everywhere(part, legs, depth),
            _ if !part.is_array() => !leg.takes_non_array() || self.step(part, rest, depth),
            PathLeg::Element(index) => match index.position(part.length()) {
                Some(position) => self.step_to_element(part, position, rest, depth),
                None => true,
            },
            PathLeg::AnyElement => (0..part.length()).all(|index| self.step_to_element(part, index, rest, depth)),
            PathLeg::Range(from, to) => range_positions(*from, *to, part.length())
                .all(|index| self.step_to_element(part, index, rest, depth)),
        }
    }

    /// The part itself and everything in it, depth first, for `legs` that begin with `**`.
    fn everywhere(&mut self, part: JsonRef<'a>, legs: &[PathLeg], depth: usize) -> bool {
        if depth > DEPTH_MAX {
            return true;
        }
        if !self.step(part, &legs[1..], depth) {
            return false;
        }
        if part.is_object() {
            part.members().all(|(key, value)| self.step_to_member(key, value, legs, depth + 1))
        } else {
            (0..part.element_count()).all(|index| self.step_to_element(part, index, legs, depth + 1))
        }
    }

    fn step_to_member(&mut self, key: &[u8], value: JsonRef<'a>, rest: &[PathLeg], depth: usize) -> bool {
        let length = self.path.as_ref().map_or(0, Vec::len);
        if let Some(path) = &mut self.path {
            append_member(key, path);
        }
        let goes_on = self.step(value, rest, depth);
        self.shorten(length);
        goes_on
    }

    fn step_to_element(&mut self, array: JsonRef<'a>, index: usize, rest: &[PathLeg], depth: usize) -> bool {
        let Some(element) = array.element(index) else {
            return true;
        };
        let length = self.path.as_ref().map_or(0, Vec::len);
        if let Some(path) = &mut self.path {
            path.push(b'[');
            append_u64(index as u64, path);
            path.push(b']');
        }
        let goes_on = self.step(element, rest, depth);
        self.shorten(length);
        goes_on
    }

    fn shorten(&mut self, length: usize) {
        if let Some(path) = &mut self.path {
            path.truncate(length);
        }
    }
}

impl<'a> JsonRef<'a> {
    /// Every part that the path names, in document order, each once.
    pub fn find(&self, path: &JsonPath) -> Vec<JsonRef<'a>> {
        // Only `**` can reach a part in two ways: as itself, and as the array that it is taken for.
        let may_repeat = path.legs.contains(&PathLeg::AnyDepth);
        let mut places = HashSet::new();
        let mut found = Vec::new();
        let mut visit = |part: JsonRef<'a>, _: Option<&[u8]>| {
            if !may_repeat || places.insert(part.bytes.as_ptr()) {
                found.push(part);
            }
            true
        };
        Walk { visit: &mut visit, path: None }.step(*self, &path.legs, 0);
        found
    }

    /// The first part that the path names.
    pub fn find_first(&self, path: &JsonPath) -> Option<JsonRef<'a>> {
        let mut found = None;
        let mut visit = |part: JsonRef<'a>, _: Option<&[u8]>| {
            found = Some(part);
            false
        };
        Walk { visit: &mut visit, path: None }.step(*self, &path.legs, 0);
        found
    }

    /// JSON_SEARCH: the paths of the strings below the parts that `path` names for which `matches` says true; only
    /// the first if so wanted. Every path is given once.
    pub fn search(
        &self,
        path: &JsonPath,
        only_first: bool,
        matches: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Vec<Vec<u8>> {
        let mut starts = Vec::new();
        let mut visit = |part: JsonRef<'a>, path: Option<&[u8]>| {
            starts.push((part, path.unwrap_or_default().to_vec()));
            true
        };
        Walk { visit: &mut visit, path: Some(b"$".to_vec()) }.step(*self, &path.legs, 0);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut seen = HashSet::new();
        for (start, start_path) in starts {
            let mut visit = |part: JsonRef<'a>, path: Option<&[u8]>| {
                let path = path.unwrap_or_default();
                if part.as_str().is_some_and(&mut *matches) && seen.insert(path.to_vec()) {
                    found.push(path.to_vec());
                }
                !only_first || found.is_empty()
            };
            // `**` with nothing after it: the part and everything in it.
            if !(Walk { visit: &mut visit, path: Some(start_path) }).step(start, &[PathLeg::AnyDepth], 0) {
                break;
            }
        }
        found
    }
}
