//! Views that rows are written through.

use std::sync::Arc;

use shoal_cluster::View;
use shoal_types::{Error, ErrorCode};

/// One of them: its columns' names, with the columns of the table that they are.
#[derive(Clone, Debug)]
pub struct WrittenView {
    pub view: Arc<View>,
    pub columns: Vec<(String, usize)>,
}

/// Error 1356.
pub fn invalid_view(view: &View) -> Error {
    let message = format!(
        "View '{}.{}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to \
         use them",
        view.database, view.name
    );
    Error::new(ErrorCode::ViewInvalid, message)
}
