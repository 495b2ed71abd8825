//! Keys of a draft as indexes: names, parts, prefixes, lengths, order.

use shoal_types::{
    BaseType, Error, ErrorCode, Index, IndexColumn, IndexId, IndexMethod, Result, SqlType, Warning, WarningLevel,
};

use super::draft::{DraftKey, DraftKeyKind, NAME_LENGTH_MAX, PRIMARY, TableDraft};
use super::{engine, errors};

/// The primary key among them.
const KEYS_MAX: usize = 64;
const KEY_PARTS_MAX: usize = 16;
/// Bytes of a key.
const KEY_BYTES_MAX: u64 = 3072;

/// An index and what is known of it.
#[derive(Debug)]
pub struct BuiltKey {
    pub index: Index,
    pub origin: Option<usize>,
    /// Some part may be NULL.
    nullable: bool,
    primary: bool,
}

impl BuiltKey {
    /// The rows can be stored by it: every row has a key and no two have the same, compared as wholes.
    pub fn can_store_rows(&self) -> bool {
        let whole = self.index.columns.iter().all(|part| part.prefix_length == 0);
        self.primary || (self.index.unique && !self.nullable && whole)
    }

    /// One of them would do.
    fn does_the_same(&self, other: &BuiltKey) -> bool {
        let is_alike = self.index.unique == other.index.unique && self.index.method == other.index.method;
        // A unique key of the primary key's columns is no duplicate of it.
        is_alike && !other.primary && self.index.columns == other.index.columns
    }

    /// MySQL's order of keys.
    fn rank(&self) -> u8 {
        let prefixed = self.index.columns.iter().any(|part| part.prefix_length > 0);
        match (self.primary, self.index.unique, self.nullable) {
            (true, ..) => 0,
            (false, true, false) if !prefixed => 1,
            (false, true, false) => 2,
            (false, true, true) => 3,
            (false, false, _) => 4,
        }
    }
}

/// The primary key first, unique keys before others, NOT NULL ones before those with NULLs; else as written.
pub fn sort(keys: &mut [BuiltKey]) {
    keys.sort_by_key(BuiltKey::rank);
}

/// An index as the draft's keys make them.
fn index(name: &str, columns: Vec<IndexColumn>, unique: bool, method: IndexMethod) -> Index {
    Index {
        id: IndexId(0),
        name: name.to_owned(),
        columns,
        unique,
        method,
        invisible: false,
        building: false,
        comment: String::new(),
        unique_table: None,
    }
}

/// The key of a table that declares none that could store its rows.
pub fn hidden_key(column: usize) -> BuiltKey {
    let part = IndexColumn { column, prefix_length: 0, descending: false };
    BuiltKey {
        index: index(PRIMARY, vec![part], true, IndexMethod::BTree),
        origin: None,
        nullable: false,
        primary: false,
    }
}

/// All keys of a draft, in their order there.
pub fn build_keys(draft: &TableDraft, notes: &mut Vec<Warning>) -> Result<Vec<BuiltKey>> {
    if draft.keys.len() > KEYS_MAX {
        let message = format!("Too many keys specified; max {KEYS_MAX} keys allowed");
        return Err(Error::new(ErrorCode::TooManyKeys, message));
    }
    let mut built: Vec<BuiltKey> = Vec::with_capacity(draft.keys.len());
    for key in &draft.keys {
        let name = key_name(key, &built)?;
        let key = build_key(draft, key, &name, notes)?;
        // The index that a foreign key has made gives way to one of the user's own in MySQL.
        let columns: Vec<&str> = key
            .index
            .columns
            .iter()
            .filter_map(|part| draft.columns.get(part.column))
            .map(|column| column.column.name.as_str())
            .collect();
        let is_of_parent = draft.foreign_keys.iter().any(|foreign| foreign.columns == columns);
        if key.origin.is_none() && !is_of_parent && built.iter().any(|other| key.does_the_same(other)) {
            notes.push(duplicate_index(draft, &name));
        }
        built.push(key);
    }
    Ok(built)
}

fn duplicate_index(draft: &TableDraft, name: &str) -> Warning {
    let message = format!(
        "Duplicate index '{name}' defined on the table '{}.{}'. This is deprecated and will be disallowed in a future \
         release.",
        draft.database, draft.name
    );
    Warning { level: WarningLevel::Warning, code: ErrorCode::DupIndex, message }
}

/// The key's name: as written, or its first column's, with a number if that is taken. Errors: 1061, 1280, 1059.
fn key_name(key: &DraftKey, before: &[BuiltKey]) -> Result<String> {
    let taken = |name: &str| before.iter().any(|built| built.index.name.eq_ignore_ascii_case(name));
    if key.kind == DraftKeyKind::Primary {
        return Ok(PRIMARY.to_owned());
    }
    if let Some(name) = &key.name {
        if name.chars().count() > NAME_LENGTH_MAX {
            return Err(errors::too_long_identifier(name));
        }
        if name.is_empty() || name.ends_with(' ') || name.eq_ignore_ascii_case(PRIMARY) {
            return Err(Error::new(ErrorCode::WrongNameForIndex, format!("Incorrect index name '{name}'")));
        }
        if taken(name) {
            return Err(errors::duplicate_key(name));
        }
        return Ok(name.clone());
    }
    let column = key.parts.first().map_or("key", |part| part.column.as_str());
    if !taken(column) && !column.eq_ignore_ascii_case(PRIMARY) {
        return Ok(column.to_owned());
    }
    let numbered = (2..).map(|number| format!("{column}_{number}")).find(|name| !taken(name));
    Ok(numbered.unwrap_or_default())
}

fn build_key(draft: &TableDraft, key: &DraftKey, name: &str, notes: &mut Vec<Warning>) -> Result<BuiltKey> {
    if key.parts.len() > KEY_PARTS_MAX {
        let message = format!("Too many key parts specified; max {KEY_PARTS_MAX} parts allowed");
        return Err(Error::new(ErrorCode::TooManyKeyParts, message));
    }
    let mut parts: Vec<IndexColumn> = Vec::with_capacity(key.parts.len());
    let mut bytes = 0;
    let mut nullable = false;
    for part in &key.parts {
        let Some(column) = draft.column_position(&part.column) else {
            let message = format!("Key column '{}' doesn't exist in table", part.column);
            return Err(Error::new(ErrorCode::KeyColumnDoesNotExist, message));
        };
        if parts.iter().any(|known| known.column == column) {
            return Err(errors::duplicate_column(&part.column));
        }
        let definition = &draft.columns[column].column;
        let sql_type = definition.array_of.as_ref().unwrap_or(&definition.sql_type);
        let prefix_length = prefix_length(sql_type, &definition.name, part.prefix_length)?;
        bytes += part_bytes(sql_type, prefix_length);
        nullable |= definition.nullable;
        parts.push(IndexColumn { column, prefix_length, descending: part.descending });
    }
    if bytes > KEY_BYTES_MAX {
        return Err(errors::key_too_long(KEY_BYTES_MAX));
    }
    let primary = key.kind == DraftKeyKind::Primary;
    if primary && key.invisible {
        return Err(Error::new(ErrorCode::PkIndexCantBeInvisible, "A primary key index cannot be invisible"));
    }
    let method = method(draft, key, notes);
    let mut index = index(name, parts, key.kind != DraftKeyKind::Index, method);
    index.invisible = key.invisible;
    index.building = key.building;
    index.comment = key.comment.clone();
    Ok(BuiltKey { index, origin: key.origin, nullable, primary })
}

/// HASH is for keys that are unique, in tables of engines that know it; elsewhere it is a wish.
fn method(draft: &TableDraft, key: &DraftKey, notes: &mut Vec<Warning>) -> IndexMethod {
    if key.method != Some(IndexMethod::Hash) {
        return IndexMethod::BTree;
    }
    if key.origin.is_some() || (key.kind != DraftKeyKind::Index && engine::has_hash_keys(&draft.options.engine)) {
        return IndexMethod::Hash;
    }
    let message =
        "This storage engine does not support the HASH index algorithm, storage engine default was used instead.";
    notes.push(Warning {
        level: WarningLevel::Note,
        code: ErrorCode::UnsupportedIndexAlgorithm,
        message: message.to_owned(),
    });
    IndexMethod::BTree
}

/// The prefix of a key part that is kept: 0 if it is the whole column. Errors: 1089, 1170, 1391, 3152.
fn prefix_length(sql_type: &SqlType, name: &str, written: Option<u64>) -> Result<u32> {
    if sql_type.base == BaseType::Json {
        let message =
            format!("JSON column '{name}' supports indexing only via generated columns on a specified JSON path.");
        return Err(Error::new(ErrorCode::JsonUsedAsKey, message));
    }
    let text = matches!(sql_type.base, BaseType::Char | BaseType::VarChar | BaseType::Text);
    let Some(length) = written else {
        if sql_type.is_blob() {
            let message = format!("BLOB/TEXT column '{name}' used in key specification without a key length");
            return Err(Error::new(ErrorCode::BlobKeyWithoutLength, message));
        }
        return Ok(0);
    };
    if length == 0 {
        return Err(Error::new(ErrorCode::KeyPart0, format!("Key part '{name}' length cannot be 0")));
    }
    let characters = match sql_type.base {
        BaseType::Text => u64::from(sql_type.length) / sql_type.collation.charset().char_bytes_max() as u64,
        _ => u64::from(sql_type.length),
    };
    if !text || (length > characters && sql_type.base != BaseType::Text) {
        let message = "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key \
                       part, or the storage engine doesn't support unique prefix keys";
        return Err(Error::new(ErrorCode::WrongSubKey, message));
    }
    if sql_type.base != BaseType::Text && length == characters {
        return Ok(0);
    }
    if length > KEY_BYTES_MAX {
        return Err(errors::key_too_long(KEY_BYTES_MAX));
    }
    Ok(length as u32)
}

/// Bytes of a key part as MySQL counts them.
fn part_bytes(sql_type: &SqlType, prefix_length: u32) -> u64 {
    match sql_type.base {
        BaseType::Char | BaseType::VarChar | BaseType::Text => {
            let characters = if prefix_length > 0 { prefix_length } else { sql_type.length };
            u64::from(characters) * sql_type.collation.charset().char_bytes_max() as u64
        }
        _ => shoal_types::row::fixed_width(sql_type).unwrap_or(0) as u64,
    }
}
