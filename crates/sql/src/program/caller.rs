//! A host in which programs call programs.

use std::rc::Rc;

use shoal_expr::Warnings;
use shoal_types::Result;

use super::cache::ProgramCache;
use super::frame::Invocation;
use super::host::Host;
use crate::execute::LocalFuture;

/// See the module.
pub trait Caller: Host {
    fn programs(&self) -> &Rc<ProgramCache>;

    /// Conditions that an expression with calls of functions has raised so far; `None`: no such expression is computed.
    fn raised(&mut self) -> &mut Option<Warnings>;

    /// Conditions that are kept: max_error_count.
    fn conditions_max(&self) -> usize;

    /// Runs a program on, as far as it comes without waiting. `false`: it has to wait.
    fn advance(&mut self, invocation: &mut Invocation) -> Result<bool>;

    /// Runs a program to its end.
    fn finish<'f>(&'f mut self, invocation: &'f mut Invocation) -> LocalFuture<'f, Result<()>>;
}
