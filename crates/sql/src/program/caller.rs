//! A host in which programs call programs.

use std::rc::Rc;

use shoal_types::Result;

use super::cache::ProgramCache;
use super::code::{Argument, Compiled};
use super::frame::Frame;
use super::host::Host;
use crate::execute::LocalFuture;

/// See the module.
pub trait Caller: Host {
    fn programs(&self) -> &Rc<ProgramCache>;

    /// CALL, with arguments of a program that runs.
    fn call_procedure<'f>(
        &'f mut self,
        named: (Option<&'f str>, &'f str),
        arguments: &'f [Argument],
        caller: &'f Rc<Compiled>,
        frame: &'f mut Frame,
    ) -> LocalFuture<'f, Result<()>>;
}
