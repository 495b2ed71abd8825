//! From window calls to the plan of a block's windows: what a window row consists of, and which windows share a sort.

use shoal_expr::Expr;
use shoal_types::Result;

use super::scope::{WINDOW_BASE, WINDOW_SUBQUERY_BASE};
use super::window::{Window, WindowCall};
use super::{Clause, Resolver};
use crate::plan::windows::{self, Frame, WindowStage, Windowing};
use crate::plan::{SortKey, SubqueryColumn};

/// An expression that is computed for each row before the windows are, and where it was written.
pub struct WindowInput {
    pub expression: Expr,
    pub clause: Clause,
    pub item: usize,
}

/// What a window row consists of, while that is found out.
#[derive(Default)]
struct Inputs {
    list: Vec<WindowInput>,
    clause: Clause,
    item: usize,
}

impl Inputs {
    /// The expression as a column of the window row.
    fn column(&mut self, expression: Expr) -> Expr {
        let known = |input: &WindowInput| input.expression == expression && expression.is_deterministic();
        let position = self.list.iter().position(known);
        let name = expression.to_string();
        let (sql_type, nullable) = (expression.sql_type().clone(), expression.nullable());
        let position = position.unwrap_or_else(|| {
            self.list.push(WindowInput { expression, clause: self.clause, item: self.item });
            self.list.len() - 1
        });
        Expr::column(position, sql_type, nullable, &name)
    }

    /// The expression over the window row: what no window function is part of is computed before. Results of windows keep
    /// their virtual positions until all inputs are known.
    fn over_window_row(&mut self, expression: Expr) -> Expr {
        if !reads_window(&expression) {
            return if expression.is_constant() { expression } else { self.column(expression) };
        }
        match expression {
            Expr::Call(mut call) => {
                let arguments = std::mem::take(&mut call.arguments);
                call.arguments = arguments.into_iter().map(|argument| self.over_window_row(argument)).collect();
                Expr::Call(call)
            }
            column => column,
        }
    }

    fn replace(&mut self, expression: &mut Expr) {
        let present = std::mem::replace(expression, Expr::null());
        *expression = self.over_window_row(present);
    }

    /// A sort key; `None`: it is the same for all rows.
    fn key(&mut self, expression: &Expr, descending: bool) -> Option<SortKey> {
        if expression.is_constant() {
            return None;
        }
        let sql_type = expression.sql_type().clone();
        let position = self.column(expression.clone()).as_column()?;
        Some(SortKey { position, descending, sql_type })
    }
}

/// Some window function is part of it.
pub fn reads_window(expression: &Expr) -> bool {
    expression.columns_used().last().is_some_and(|&position| position >= WINDOW_BASE)
}

impl Resolver<'_> {
    /// The plan of a block's windows, and what is computed for each row before; `projection` becomes one over window rows.
    /// `order`: of the block, which the last stage may give already.
    pub(super) fn windowing(
        &mut self,
        (calls, mut subqueries): (Vec<WindowCall>, Vec<SubqueryColumn>),
        projection: &mut [Expr],
        visible: usize,
        order: &[SortKey],
    ) -> Result<(Windowing, Vec<WindowInput>)> {
        let mut inputs = Inputs::default();
        for (position, expression) in projection.iter_mut().enumerate() {
            let is_visible = position < visible;
            inputs.clause = if is_visible { Clause::FieldList } else { Clause::OrderBy };
            inputs.item = if is_visible { position + 1 } else { position + 1 - visible };
            inputs.replace(expression);
        }
        let mut stages = Vec::new();
        for (number, call) in calls.into_iter().enumerate() {
            add_call(&mut stages, &mut inputs, number, call);
        }
        for subquery in &mut subqueries {
            subquery.visit_row_expressions(&mut |expression| inputs.replace(expression));
        }
        let first_result = inputs.list.len();
        let count = stages.iter().flat_map(|stage: &WindowStage| &stage.windows);
        let count: usize = count.map(|window| window.functions.len()).sum();
        for window in stages.iter_mut().flat_map(|stage| &mut stage.windows) {
            window.functions.iter_mut().for_each(|call| call.position += first_result);
        }
        let mut place = |expression: &mut Expr| {
            let present = std::mem::replace(expression, Expr::null());
            *expression = present.map_columns(&mut |position| match position {
                WINDOW_SUBQUERY_BASE.. => first_result + count + position - WINDOW_SUBQUERY_BASE,
                WINDOW_BASE.. => first_result + position - WINDOW_BASE,
                _ => position,
            });
        };
        projection.iter_mut().for_each(&mut place);
        for (number, subquery) in subqueries.iter_mut().enumerate() {
            subquery.position = first_result + count + number;
            subquery.visit_row_expressions(&mut place);
        }
        if let Some(place) = stages.iter().position(|stage| gives_order(stage, projection, order)) {
            let last = stages.remove(place);
            stages.push(last);
        }
        let width = first_result + count + subqueries.len();
        Ok((Windowing { inputs: Vec::new(), width, stages, subqueries }, inputs.list))
    }
}

/// Adds a call to the window that it is over, and that to a stage.
fn add_call(stages: &mut Vec<WindowStage>, inputs: &mut Inputs, number: usize, call: WindowCall) {
    let WindowCall { mut function, window } = call;
    function.visit_arguments(&mut |argument| inputs.replace(argument));
    let call = windows::WindowCall { function, position: number };
    let frame = planned_frame(&window, inputs);
    let mut keys: Vec<SortKey> = window.partition.iter().filter_map(|key| inputs.key(key, false)).collect();
    let partition_keys = keys.len();
    keys.extend(window.order.iter().filter_map(|(key, descending)| inputs.key(key, *descending)));
    let peer_keys = keys.len();
    let stage =
        match stages.iter().position(|stage| begins_with(&stage.keys, &keys) || begins_with(&keys, &stage.keys)) {
            Some(place) => &mut stages[place],
            None => {
                stages.push(WindowStage { keys: Vec::new(), windows: Vec::new() });
                let last = stages.len() - 1;
                &mut stages[last]
            }
        };
    if keys.len() > stage.keys.len() {
        stage.keys = keys;
    }
    let is_same = |known: &&mut windows::Window| {
        (known.partition_keys, known.peer_keys) == (partition_keys, peer_keys)
            && known.frame == frame
            && known.name == window.name
    };
    match stage.windows.iter_mut().find(is_same) {
        Some(known) => known.functions.push(call),
        None => stage.windows.push(windows::Window {
            name: window.name,
            partition_keys,
            peer_keys,
            frame,
            functions: vec![call],
        }),
    }
}

fn planned_frame(window: &Window, inputs: &mut Inputs) -> Frame {
    let mut frame = window.frame();
    for range in frame.offsets_mut().filter_map(|offset| offset.range.as_mut()) {
        for part in [&mut range.key, &mut range.bound] {
            let present = std::mem::replace(part, Expr::null());
            *part = inputs.column(present);
        }
    }
    frame
}

fn begins_with(keys: &[SortKey], first: &[SortKey]) -> bool {
    let same = |(left, right): (&SortKey, &SortKey)| {
        left.position == right.position && left.descending == right.descending
    };
    keys.len() >= first.len() && keys.iter().zip(first).all(same)
}

/// Behind the stage the rows lie in this order of the projection.
pub fn gives_order(stage: &WindowStage, projection: &[Expr], order: &[SortKey]) -> bool {
    let same = |(key, wanted): (&SortKey, &SortKey)| {
        projection[wanted.position].as_column() == Some(key.position) && key.descending == wanted.descending
    };
    !order.is_empty() && stage.keys.len() >= order.len() && stage.keys.iter().zip(order).all(same)
}
