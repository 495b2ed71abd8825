//! Values go to variables.

use shoal_expr::SessionValues;
use shoal_types::{Collation, Result, SqlType, Value};

use super::code::Compiled;
use super::frame::Frame;
use super::host::Host;
use super::place::Target;

/// Gives a value to where it goes. `sql_type`: that of the value, if it is not to be told from it.
pub fn assign<H: Host>(
    target: &Target,
    (value, collation): (Value, Collation),
    sql_type: Option<&SqlType>,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    match target {
        Target::Slot(slot) => frame.assign(compiled, *slot, (value, collation), host)?,
        // `call` has told of it.
        Target::Parameter(_) => {}
        Target::User(name) => {
            let sql_type = match sql_type {
                Some(sql_type) => sql_type.clone(),
                None => shoal_expr::build::parameter_type(&value, collation),
            };
            host.state().set_user_variable(name, value, sql_type);
        }
    }
    Ok(())
}
