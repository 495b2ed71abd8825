//! Walks over the tree: what an expression depends on, which columns and parameters it reads, and rebuilding it.

use crate::expr::Expr;

impl Expr {
    /// Yields the same value for every row of one execution: no columns, nothing random, no side effects.
    /// Parameters count as constant.
    pub fn is_constant(&self) -> bool {
        self.all(&mut |expr| match expr {
            Expr::Column(_) => false,
            Expr::Call(call) => call.operation.is_stable(),
            _ => true,
        })
    }

    /// Yields the same value whenever and wherever it is evaluated: constant, and free of parameters, the clock, the
    /// time zone and the session. Such an expression is folded when it is built.
    pub fn is_foldable(&self) -> bool {
        self.all(&mut |expr| match expr {
            Expr::Column(_) | Expr::Parameter(_) => false,
            Expr::Call(call) => call.operation.is_pure(),
            Expr::Literal(_) => true,
        })
    }

    /// Gives the same value for the same row within one execution, so it can be evaluated once, later or elsewhere.
    pub fn is_deterministic(&self) -> bool {
        self.all(&mut |expr| match expr {
            Expr::Call(call) => call.operation.is_stable(),
            _ => true,
        })
    }

    /// Needs `EvalContext::session` (user variables, DATABASE(), SLEEP(), RAND() ...): not to be sent to a data node.
    pub fn needs_session(&self) -> bool {
        !self.all(&mut |expr| match expr {
            Expr::Call(call) => !call.operation.needs_session(),
            _ => true,
        })
    }

    /// `test` holds for this expression and everything below it.
    pub fn all(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        test(self) && self.arguments().iter().all(|argument| argument.all(test))
    }

    /// Calls `visit` for this expression and everything below it, parents first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        for argument in self.arguments() {
            argument.walk(visit);
        }
    }

    /// Rebuilds the tree from the leaves up: `change` sees each expression after its arguments were changed. The
    /// replacement of an expression must have its type.
    pub fn transform(self, change: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        match self {
            Expr::Call(mut call) => {
                call.arguments =
                    std::mem::take(&mut call.arguments).into_iter().map(|arg| arg.transform(change)).collect();
                change(Expr::Call(call))
            }
            leaf => change(leaf),
        }
    }

    /// Moves every column to the position that `position` gives for its present one.
    pub fn map_columns(self, position: &mut dyn FnMut(usize) -> usize) -> Expr {
        self.transform(&mut |expr| match expr {
            Expr::Column(mut column) => {
                column.position = position(column.position);
                Expr::Column(column)
            }
            other => other,
        })
    }

    /// The positions of the columns it reads, ascending, each once.
    pub fn columns_used(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Column(column) = expr {
                columns.push(column.position);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The parameter slots it reads, ascending, each once.
    pub fn parameters_used(&self) -> Vec<usize> {
        let mut parameters = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Parameter(parameter) = expr {
                parameters.push(parameter.index);
            }
        });
        parameters.sort_unstable();
        parameters.dedup();
        parameters
    }
}
