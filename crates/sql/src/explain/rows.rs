//! The classic rows of EXPLAIN: one for each table of each query block.

use std::sync::Arc;

use shoal_expr::{EvalContext, Expr};
use shoal_txn::Transaction;
use shoal_types::IndexMethod;

use super::access;
use super::windows::{self, WindowFacts};
use crate::dml::{InsertSource, RowFinder};
use crate::plan::{
    Block, ConstantSubquery, Input, JoinKind, JoinStep, QueryBody, QueryPlan, Recursion, SetOperator, TableInput,
};
use crate::session::plans::{Plan, PlanKind};

/// One line.
#[derive(Clone, Debug, Default)]
pub struct ExplainRow {
    pub id: Option<u64>,
    pub select_type: String,
    pub table: Option<String>,
    pub partitions: Option<String>,
    pub access: Option<&'static str>,
    pub possible_keys: Option<String>,
    pub key: Option<String>,
    pub key_length: Option<String>,
    pub reference: Option<String>,
    pub rows: Option<u64>,
    /// Percent of the rows that conditions are guessed to leave; the planner keeps no statistics of values.
    pub filtered: Option<&'static str>,
    pub extra: Vec<String>,
    /// The condition that is tested on rows of this table.
    pub condition: Option<String>,
    /// Those of the block, at its first table.
    pub windows: Vec<WindowFacts>,
}

/// All of them, and one of them left by a condition of unknown effect (MySQL's guess for an inequality).
const ALL_PERCENT: &str = "100.00";
const SOME_PERCENT: &str = "33.33";

/// A query inside another one, to be explained after it: its plan, id and kind.
type Inner = (Arc<QueryPlan>, u64, &'static str);

struct Explainer<'a, 'e> {
    transaction: &'a Transaction,
    eval: &'a mut EvalContext<'e>,
    rows: Vec<ExplainRow>,
    last_id: u64,
}

/// The rows of a plan.
pub fn explain(transaction: &Transaction, eval: &mut EvalContext<'_>, plan: &Plan) -> Vec<ExplainRow> {
    let mut explainer = Explainer { transaction, eval, rows: Vec::new(), last_id: 1 };
    match &plan.kind {
        PlanKind::PointSelect { query, .. } | PlanKind::Select { query, .. } => explainer.outermost(query),
        PlanKind::Insert(insert) => {
            explainer.rows.push(ExplainRow {
                id: Some(1),
                select_type: if insert.replace { "REPLACE" } else { "INSERT" }.to_owned(),
                table: Some(insert.table.name().to_owned()),
                partitions: Some(access::all_partitions(transaction, &insert.table)),
                access: Some("ALL"),
                ..ExplainRow::default()
            });
            if let InsertSource::Query(query) = &insert.source {
                explainer.outermost(query);
            }
            explainer.constants(&insert.constants);
            for subquery in &insert.subqueries {
                let id = explainer.next_id();
                explainer.query(&subquery.plan, id, "DEPENDENT SUBQUERY");
            }
        }
        PlanKind::Update(update) => explainer.finder(&update.finder, "UPDATE"),
        PlanKind::Delete(delete) => explainer.finder(&delete.finder, "DELETE"),
        PlanKind::Multi(multi) => {
            explainer.outermost(&multi.query);
            let word = if multi.delete { "DELETE" } else { "UPDATE" };
            let changed = |row: &ExplainRow| {
                row.id == Some(1)
                    && multi.targets.iter().any(|target| Some(target.table.name()) == row.table.as_deref())
            };
            explainer.rows.iter_mut().filter(|row| changed(row)).for_each(|row| row.select_type = word.to_owned());
        }
    }
    explainer.rows
}

/// Whether there is more than one query block.
fn is_simple(query: &QueryPlan) -> bool {
    let QueryBody::Block(block) = &query.body else { return false };
    query.constants.is_empty()
        && block.subqueries.is_empty()
        && block.aggregation.as_ref().is_none_or(|aggregation| aggregation.subqueries.is_empty())
        && block.windowing.as_ref().is_none_or(|windowing| windowing.subqueries.is_empty())
        && !block.steps.iter().any(|step| matches!(step.input, Input::Derived(_) | Input::Lateral(_)))
}

impl Explainer<'_, '_> {
    fn outermost(&mut self, query: &QueryPlan) {
        let select_type = if is_simple(query) { "SIMPLE" } else { "PRIMARY" };
        self.query(query, 1, select_type);
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn query(&mut self, query: &QueryPlan, id: u64, select_type: &str) {
        let mut inner = Vec::new();
        match &query.body {
            QueryBody::Block(block) => self.block(block, id, select_type, &mut inner),
            QueryBody::Recursion(recursion) => self.recursion(recursion, id, select_type),
            // What a function does is not the statement's.
            QueryBody::Call(_) => {}
            QueryBody::SetOperation(operation) => {
                self.query(&operation.first, id, select_type);
                let mut ids = vec![id];
                let mut distinct = false;
                let mut word = "UNION";
                for term in &operation.rest {
                    word = match term.operator {
                        SetOperator::Union => "UNION",
                        SetOperator::Intersect => "INTERSECT",
                        SetOperator::Except => "EXCEPT",
                    };
                    distinct |= term.distinct;
                    let id = self.next_id();
                    ids.push(id);
                    let dependent = select_type.starts_with("DEPENDENT");
                    self.query(&term.query, id, &format!("{}{word}", if dependent { "DEPENDENT " } else { "" }));
                }
                if distinct || !operation.order.is_empty() {
                    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
                    let mut extra = vec!["Using temporary".to_owned()];
                    if !operation.order.is_empty() {
                        extra.push("Using filesort".to_owned());
                    }
                    self.rows.push(ExplainRow {
                        select_type: format!("{word} RESULT"),
                        table: Some(format!("<{}{}>", word.to_lowercase(), ids.join(","))),
                        access: Some("ALL"),
                        extra,
                        ..ExplainRow::default()
                    });
                }
            }
        }
        for (plan, id, select_type) in inner {
            self.query(&plan, id, select_type);
        }
        self.constants(&query.constants);
    }

    /// The parts of a recursive table: MySQL shows those that read it like others, with a word.
    fn recursion(&mut self, recursion: &Recursion, id: u64, select_type: &str) {
        for (place, part) in recursion.seeds.iter().chain(&recursion.members).enumerate() {
            let (id, select_type) = if place == 0 { (id, select_type) } else { (self.next_id(), "UNION") };
            self.query(&part.query, id, select_type);
        }
    }

    fn constants(&mut self, constants: &[ConstantSubquery]) {
        for constant in constants {
            let id = self.next_id();
            self.query(&constant.plan, id, "SUBQUERY");
        }
    }

    fn block(&mut self, block: &Block, id: u64, select_type: &str, inner: &mut Vec<Inner>) {
        let first = self.rows.len();
        if block.steps.is_empty() || block.impossible {
            let text = if block.impossible { "Impossible WHERE" } else { "No tables used" };
            self.rows.push(ExplainRow {
                id: Some(id),
                select_type: select_type.to_owned(),
                extra: vec![text.to_owned()],
                ..ExplainRow::default()
            });
        } else {
            for (position, step) in block.steps.iter().enumerate() {
                let row = self.step(step, position, inner);
                self.rows.push(ExplainRow { id: Some(id), select_type: select_type.to_owned(), ..row });
            }
            self.block_extras(block, first);
        }
        let late = block.aggregation.iter().flat_map(|aggregation| &aggregation.subqueries);
        let last = block.windowing.iter().flat_map(|windowing| &windowing.subqueries);
        for subquery in block.subqueries.iter().chain(late).chain(last) {
            let kind = if subquery.outer.is_empty() { "SUBQUERY" } else { "DEPENDENT SUBQUERY" };
            let id = self.next_id();
            inner.push((Arc::clone(&subquery.plan), id, kind));
        }
    }

    /// What concerns the block as a whole stands at its first table; conditions on complete rows at its last.
    fn block_extras(&mut self, block: &Block, first: usize) {
        let filters: Vec<String> =
            block.filter.iter().chain(&block.late_filter).map(ToString::to_string).collect();
        if let Some(last) = self.rows[first..].last_mut()
            && !filters.is_empty()
        {
            note_condition(last, &filters);
            last.filtered = Some(SOME_PERCENT);
        }
        let grouped = block.aggregation.as_ref().is_some_and(|aggregation| aggregation.grouped);
        if let Some(row) = self.rows.get_mut(first) {
            row.windows = block.windowing.as_deref().map(windows::facts).unwrap_or_default();
            let sorts_windows = row.windows.iter().any(|window| !window.sort_keys.is_empty());
            if grouped || block.distinct || !row.windows.is_empty() {
                row.extra.push("Using temporary".to_owned());
            }
            if !block.order.is_empty() || sorts_windows {
                row.extra.push("Using filesort".to_owned());
            }
        }
    }

    fn step(&mut self, step: &JoinStep, position: usize, inner: &mut Vec<Inner>) -> ExplainRow {
        let conditions: Vec<String> = step.condition.iter().chain(&step.filter).map(ToString::to_string).collect();
        let mut row = match &step.input {
            Input::Table(input) => self.table(input, &step.name, &step.possible_keys),
            Input::Working => ExplainRow {
                table: Some(step.name.clone()),
                access: Some("ALL"),
                filtered: Some(ALL_PERCENT),
                extra: vec!["Recursive".to_owned()],
                ..ExplainRow::default()
            },
            Input::Lateral(lateral) => {
                let id = self.next_id();
                inner.push((Arc::clone(&lateral.plan), id, "DEPENDENT DERIVED"));
                ExplainRow {
                    table: Some(format!("<derived{id}>")),
                    access: Some("ALL"),
                    filtered: Some(ALL_PERCENT),
                    extra: vec!["Rematerialize for each row".to_owned()],
                    ..ExplainRow::default()
                }
            }
            Input::JsonTable(_) => ExplainRow {
                table: Some(step.name.clone()),
                access: Some("ALL"),
                filtered: Some(ALL_PERCENT),
                extra: vec!["Table function: json_table".to_owned(), "Using temporary".to_owned()],
                ..ExplainRow::default()
            },
            Input::Derived(plan) => {
                let id = self.next_id();
                inner.push((Arc::clone(plan), id, "DERIVED"));
                ExplainRow {
                    table: Some(format!("<derived{id}>")),
                    access: Some("ALL"),
                    filtered: Some(ALL_PERCENT),
                    ..ExplainRow::default()
                }
            }
            Input::Virtual(_) => ExplainRow {
                table: Some(step.name.clone()),
                access: Some("ALL"),
                filtered: Some(ALL_PERCENT),
                ..ExplainRow::default()
            },
            Input::Rows(rows) => ExplainRow {
                table: Some(step.name.clone()),
                access: Some("ALL"),
                rows: Some(rows.len() as u64),
                filtered: Some(ALL_PERCENT),
                ..ExplainRow::default()
            },
        };
        if !conditions.is_empty() {
            note_condition(&mut row, &conditions);
        }
        row.filtered = Some(share(step));
        let depends = step.input.depends_on_row();
        if position > 0 && !depends && row.access != Some("const") {
            let outer = if step.kind == JoinKind::LeftOuter && step.hash_keys.is_empty() {
                "outer loop"
            } else {
                "hash join"
            };
            row.extra.push(format!("Using join buffer ({outer})"));
        }
        row
    }

    fn table(&mut self, input: &TableInput, name: &str, possible: &[usize]) -> ExplainRow {
        let facts = access::facts(self.transaction, self.eval, input);
        let indexes = &input.table.schema.indexes;
        let hidden = |position: usize| position == 0 && input.table.schema.has_hidden_key();
        let names = possible.iter().filter(|&&position| !hidden(position));
        let mut possible: Vec<&str> =
            names.filter_map(|&position| indexes.get(position)).map(|index| index.name.as_str()).collect();
        if let Some(key) = &facts.key
            && facts.kind != "index"
            && !possible.contains(&key.as_str())
        {
            possible.push(key);
        }
        let possible_keys = (!possible.is_empty()).then(|| possible.join(","));
        let mut row = ExplainRow {
            table: Some(name.to_owned()),
            partitions: Some(facts.partitions),
            access: Some(facts.kind),
            possible_keys,
            key: facts.key,
            key_length: facts.key_length,
            reference: facts.reference,
            rows: Some(facts.rows),
            filtered: Some(ALL_PERCENT),
            ..ExplainRow::default()
        };
        if facts.impossible {
            row.extra.push("no matching row in const table".to_owned());
        }
        if let Some(filter) = &input.filter {
            note_condition(&mut row, &[filter.to_string()]);
        } else if facts.kind == "range" {
            row.extra.push("Using where".to_owned());
        }
        if input.access.descending {
            row.extra.push("Backward index scan".to_owned());
        }
        if input.access.is_full() && indexes[input.access.index].method == IndexMethod::Hash {
            // MySQL has no table whose rows are in no order: there is no word of its own for it.
            row.extra.push("Unordered scan".to_owned());
        }
        row
    }

    /// UPDATE and DELETE of one table.
    fn finder(&mut self, finder: &RowFinder, select_type: &str) {
        let name = finder.input.table.name().to_owned();
        let mut row = match finder.impossible {
            true => ExplainRow { extra: vec!["Impossible WHERE".to_owned()], ..ExplainRow::default() },
            false => self.table(&finder.input, &name, &[]),
        };
        if !finder.order.is_empty() {
            row.extra.push("Using filesort".to_owned());
        }
        self.rows.push(ExplainRow { id: Some(1), select_type: select_type.to_owned(), ..row });
        self.constants(&finder.constants);
    }
}

/// The share of a step's rows that its conditions leave. The access path has decided as many of them as it has parts, and
/// hash keys decide one each.
fn share(step: &JoinStep) -> &'static str {
    let count = |expression: &Expr| shoal_expr::analysis::conjuncts(expression).len();
    let tested: usize = step.condition.iter().chain(&step.filter).map(count).sum();
    let (own, decided) = match &step.input {
        Input::Table(input) => (input.filter.as_ref().map_or(0, count), input.access.parts.len()),
        _ => (0, 0),
    };
    if own + tested <= decided + step.hash_keys.len() { ALL_PERCENT } else { SOME_PERCENT }
}

fn note_condition(row: &mut ExplainRow, conditions: &[String]) {
    let text = conditions.join(" and ");
    row.condition = Some(match row.condition.take() {
        Some(known) => format!("{known} and {text}"),
        None => text,
    });
    if !row.extra.iter().any(|text| text == "Using where") {
        row.extra.insert(0, "Using where".to_owned());
    }
}
