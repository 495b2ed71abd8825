//! FORMAT=TREE: the steps of the plan as indented lines, outermost first.

use shoal_expr::EvalContext;
use shoal_txn::Transaction;

use super::{access, windows};
use crate::dml::{InsertSource, RowFinder};
use crate::plan::{
    Block, ConstantSubquery, Input, JoinKind, JoinStep, Limit, QueryBody, QueryPlan, SetOperator, SortKey,
    TableInput,
};
use crate::session::plans::{Plan, PlanKind};

struct Tree<'a, 'e> {
    transaction: &'a Transaction,
    eval: &'a mut EvalContext<'e>,
    text: String,
}

/// The whole text; every line begins with an arrow.
pub fn text(transaction: &Transaction, eval: &mut EvalContext<'_>, plan: &Plan) -> String {
    let mut tree = Tree { transaction, eval, text: String::new() };
    match &plan.kind {
        PlanKind::PointSelect { query, .. } | PlanKind::Select { query, .. } => tree.query(query, 0),
        PlanKind::Insert(insert) => {
            tree.line(0, &format!("Insert into {}", insert.table.name()));
            match &insert.source {
                InsertSource::Query(query) => tree.query(query, 1),
                InsertSource::Values(rows) => {
                    tree.line(1, &format!("Rows fetched before execution (rows={})", rows.len()))
                }
            }
            tree.constants(&insert.constants, 1);
            for subquery in &insert.subqueries {
                tree.line(1, "Select (subquery; dependent)");
                tree.query(&subquery.plan, 2);
            }
        }
        PlanKind::Update(update) => tree.finder(&update.finder, "Update"),
        PlanKind::Delete(delete) => tree.finder(&delete.finder, "Delete from"),
        PlanKind::Multi(multi) => {
            let names: Vec<&str> = multi.targets.iter().map(|target| target.table.name()).collect();
            let word = if multi.delete { "Delete from" } else { "Update" };
            tree.line(0, &format!("{word} {}", names.join(", ")));
            tree.query(&multi.query, 1);
        }
    }
    tree.text
}

fn limit_text(limit: &Limit) -> String {
    match &limit.offset {
        Some(offset) => format!("Limit/Offset: {}/{offset} row(s)", limit.count),
        None => format!("Limit: {} row(s)", limit.count),
    }
}

impl Tree<'_, '_> {
    fn line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str("-> ");
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn query(&mut self, query: &QueryPlan, depth: usize) {
        match &query.body {
            QueryBody::Block(block) => self.block(block, depth),
            QueryBody::Recursion(recursion) => {
                if let Some(limit) = &recursion.limit {
                    self.line(depth, &limit_text(limit));
                }
                self.line(depth, &format!("Recursive union {}", recursion.name));
                for part in &recursion.seeds {
                    self.query(&part.query, depth + 1);
                }
                for part in &recursion.members {
                    self.line(depth + 1, "Repeat until convergence");
                    self.query(&part.query, depth + 2);
                }
            }
            QueryBody::Call(call) => {
                self.line(depth, &format!("Call of {}.{}()", call.function.database, call.function.name));
            }
            QueryBody::SetOperation(operation) => {
                let mut depth = depth;
                if let Some(limit) = &operation.limit {
                    self.line(depth, &limit_text(limit));
                    depth += 1;
                }
                if !operation.order.is_empty() {
                    self.line(depth, "Sort");
                    depth += 1;
                }
                self.line(depth, "Set operation");
                self.query(&operation.first, depth + 1);
                for term in &operation.rest {
                    let word = match term.operator {
                        SetOperator::Union => "Union",
                        SetOperator::Intersect => "Intersect",
                        SetOperator::Except => "Except",
                    };
                    let kind = if term.distinct { "without duplicates" } else { "all" };
                    self.line(depth + 1, &format!("{word} {kind}"));
                    self.query(&term.query, depth + 2);
                }
            }
        }
        self.constants(&query.constants, depth);
    }

    fn constants(&mut self, constants: &[ConstantSubquery], depth: usize) {
        for constant in constants {
            self.line(depth, "Select (subquery; run only once)");
            self.query(&constant.plan, depth + 1);
        }
    }

    fn block(&mut self, block: &Block, depth: usize) {
        let mut inner = depth;
        let mut lines = Vec::new();
        lines.extend(block.limit.as_ref().map(limit_text));
        if !block.order.is_empty() {
            let key = |key: &SortKey| {
                let expression = block.projection.get(key.position).map(ToString::to_string).unwrap_or_default();
                format!("{expression}{}", if key.descending { " DESC" } else { "" })
            };
            let keys: Vec<String> = block.order.iter().map(key).collect();
            lines.push(format!("Sort: {}", keys.join(", ")));
        }
        if block.distinct {
            lines.push("Remove duplicates".to_owned());
        }
        lines.extend(block.windowing.as_deref().map(windows::lines).unwrap_or_default());
        if let Some(aggregation) = &block.aggregation {
            lines.extend(aggregation.having.as_ref().map(|having| format!("Filter: {having}")));
            let keys: Vec<String> = aggregation.keys.iter().map(ToString::to_string).collect();
            lines.push(match keys.is_empty() {
                true => "Aggregate".to_owned(),
                false => format!("Group by {} in a hash table", keys.join(", ")),
            });
        }
        lines.extend(block.late_filter.iter().chain(&block.filter).map(|filter| format!("Filter: {filter}")));
        for text in &lines {
            self.line(inner, text);
            inner += 1;
        }
        match (block.impossible, &block.steps[..]) {
            (true, _) => self.line(inner, "Zero rows (Impossible WHERE)"),
            (_, []) => self.line(inner, "Rows fetched before execution"),
            (_, steps) => self.joins(steps, inner),
        }
        let late = block.aggregation.iter().flat_map(|aggregation| &aggregation.subqueries);
        let last = block.windowing.iter().flat_map(|windowing| &windowing.subqueries);
        for subquery in block.subqueries.iter().chain(late).chain(last) {
            let kind = if subquery.outer.is_empty() { "run only once" } else { "dependent" };
            self.line(depth, &format!("Select (subquery; {kind})"));
            self.query(&subquery.plan, depth + 1);
        }
    }

    /// Joins associate to the left: the last one is the outermost line.
    fn joins(&mut self, steps: &[JoinStep], depth: usize) {
        let joins = steps.len() - 1;
        for (below, step) in steps.iter().skip(1).rev().enumerate() {
            let method = match &step.input {
                _ if step.is_lateral() => "Nested loop, ",
                input if input.depends_on_row() => "Batched key lookups, ",
                _ => "Hash join, ",
            };
            let kind = if step.kind == JoinKind::LeftOuter { "left" } else { "inner" };
            let keys: Vec<String> =
                step.hash_keys.iter().map(|(outer, inner)| format!("({outer} = {inner})")).collect();
            self.line(depth + below, format!("{method}{kind} {}", keys.join(", ")).trim_end());
        }
        for (position, step) in steps.iter().enumerate() {
            self.step(step, depth + joins - position.saturating_sub(1));
        }
    }

    fn step(&mut self, step: &JoinStep, depth: usize) {
        let mut depth = depth;
        for condition in step.filter.iter().chain(&step.condition) {
            self.line(depth, &format!("Filter: {condition}"));
            depth += 1;
        }
        match &step.input {
            Input::Table(input) => self.table(input, &step.name, depth),
            Input::Derived(plan) => {
                self.line(depth, &format!("Materialize {}", step.name));
                self.query(plan, depth + 1);
            }
            Input::Working => self.line(depth, &format!("Scan new records on {}", step.name)),
            Input::Lateral(lateral) => {
                let read: Vec<String> = lateral.outer.iter().map(|(_, read)| read.to_string()).collect();
                self.line(depth, &format!("Materialize {} for each row ({})", step.name, read.join(", ")));
                self.query(&lateral.plan, depth + 1);
            }
            Input::JsonTable(table) => {
                self.line(depth, &format!("Materialize table function {} ({})", step.name, table.document));
            }
            Input::Virtual(_) => self.line(depth, &format!("Fill information schema table {}", step.name)),
            Input::Rows(rows) => self.line(depth, &format!("Rows fetched before execution (rows={})", rows.len())),
        }
    }

    fn table(&mut self, input: &TableInput, name: &str, depth: usize) {
        let mut depth = depth;
        if let Some(filter) = &input.filter {
            self.line(depth, &format!("Filter: {filter}"));
            depth += 1;
        }
        let facts = access::facts(self.transaction, self.eval, input);
        let key = facts.key.as_deref().unwrap_or("PRIMARY");
        let on = facts.reference.map(|reference| format!(" ({reference})")).unwrap_or_default();
        let way = match facts.kind {
            "const" | "eq_ref" => format!("Single-row index lookup on {name} using {key}{on}"),
            "ref" => format!("Index lookup on {name} using {key}{on}"),
            "range" => format!("Index range scan on {name} using {key}"),
            "index" => format!("Index scan on {name} using {key}"),
            _ => format!("Table scan on {name}"),
        };
        let backwards = if input.access.descending { " (reverse)" } else { "" };
        self.line(depth, &format!("{way}{backwards} (rows={}, partitions={})", facts.rows, facts.partitions));
    }

    fn finder(&mut self, finder: &RowFinder, word: &str) {
        self.line(0, &format!("{word} {}", finder.input.table.name()));
        let mut depth = 1;
        if let Some(limit) = &finder.limit {
            self.line(depth, &limit_text(limit));
            depth += 1;
        }
        if !finder.order.is_empty() {
            self.line(depth, "Sort");
            depth += 1;
        }
        match finder.impossible {
            true => self.line(depth, "Zero rows (Impossible WHERE)"),
            false => {
                let name = finder.input.table.name().to_owned();
                self.table(&finder.input, &name, depth);
            }
        }
        self.constants(&finder.constants, 1);
    }
}
