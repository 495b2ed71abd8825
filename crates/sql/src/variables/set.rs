//! SET.

use shoal_expr::SessionValues;
use shoal_parser::ast;
use shoal_types::{Error, Result};

use crate::session::Session;

pub async fn run(session: &mut Session, assignments: &[ast::SetAssignment]) -> Result<()> {
    for assignment in assignments {
        match assignment {
            ast::SetAssignment::UserVariable { name, value } => {
                let values = session.evaluate(std::slice::from_ref(value)).await?;
                for (value, sql_type) in values {
                    session.state.set_user_variable(name, value, sql_type);
                }
            }
            ast::SetAssignment::Names { .. }
            | ast::SetAssignment::CharacterSet(_)
            | ast::SetAssignment::Variable { .. } => {}
            ast::SetAssignment::NewColumn { .. } => return Err(Error::unsupported("SET NEW.column")),
        }
    }
    Ok(())
}

pub fn transaction(_session: &mut Session, _set: &ast::SetTransaction) -> Result<()> {
    Ok(())
}
