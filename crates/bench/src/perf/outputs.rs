//! Where figures go beside the terminal.

use std::path::{Path, PathBuf};

use clap::Args;

#[derive(Args, Clone, Debug)]
pub(crate) struct Outputs {
    /// Write the figures into this file too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a page with plots into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Outputs {
    pub fn write(&self, figures: &serde_json::Value, page: impl FnOnce() -> String) -> Result<(), String> {
        if let Some(path) = &self.json {
            write(path, &format!("{figures:#}\n"))?;
        }
        self.html.as_ref().map_or(Ok(()), |path| write(path, &page()))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
