//! The one semantic layer below everything: values, column types, collations, row and key codecs, ids, errors.
//!
//! Every node and every interface (SQL, HandlerSocket, native client) shares these definitions, so a value means the
//! same thing wherever it is looked at. Nothing here knows of tables at rest, sockets, sessions or the clock.

#![warn(missing_docs)]

pub mod array_elements;
mod bytes;
pub mod charset;
pub mod codec;
pub mod collation;
pub mod datum_format;
pub mod decimal;
pub mod error;
pub mod ids;
pub mod json;
pub mod key;
pub mod number;
pub mod password;
pub mod row;
pub mod schema;
pub mod sql_type;
pub mod store;
pub mod temporal;
pub mod truth;
pub mod value;

pub use charset::Charset;
pub use collation::{Coercibility, Collation, StringAttributes};
pub use decimal::Decimal;
pub use error::{Error, ErrorCode, Outcome, Result, Signalled, Transient};
pub use ids::*;
pub use json::Json;
pub use number::Converted;
pub use schema::{
    CheckConstraint, Column, ColumnDefault, ForeignKey, Index, IndexColumn, IndexMethod, PastColumn, PastRows,
    ReferentialAction, TableSchema,
};
pub use sql_type::{BaseType, SqlType};
pub use store::{StoreOptions, StoreTarget, Warning, WarningLevel, store_value};
pub use temporal::{Date, DateRules, DateTime, Interval, IntervalUnit, TemporalContext, Time, TimeZone};
pub use truth::Comparison;
pub use value::{EnumValue, SetValue, Value};
