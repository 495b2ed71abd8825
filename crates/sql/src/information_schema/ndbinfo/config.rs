//! The configuration: which parameters there are, and what nodes have them set to.

use shoal_types::Value;

use super::super::Rows;
use super::super::cell::row;
use super::this_node::me;
use crate::server::Server;

pub(crate) fn parameters(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let Some(configuration) = rows.server.configuration() else { return Vec::new() };
    let make = |(number, parameter): (usize, &crate::server::Parameter)| {
        row![
            number + 1,
            &parameter.name,
            &parameter.description,
            parameter.kind,
            &parameter.default,
            parameter.range.map(|(least, _)| least.to_string()),
            parameter.range.map(|(_, greatest)| greatest.to_string()),
            0_u64,
            parameter.status
        ]
    };
    configuration.parameters.iter().enumerate().map(make).collect()
}

pub(super) fn values(server: &Server) -> Vec<Vec<Value>> {
    let Some(configuration) = server.configuration() else { return Vec::new() };
    let node = me(server);
    let number_of = |name: &str| configuration.parameters.iter().position(|parameter| parameter.name == name);
    let make = |(name, value): &(String, String)| Some(row![node, number_of(name)? + 1, value]);
    configuration.values.iter().filter_map(make).collect()
}
