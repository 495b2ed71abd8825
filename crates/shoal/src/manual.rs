//! `shoal completions` and `shoal man`: what shells and `man` know of the command line, made from it.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    shoal completions bash > ~/.local/share/bash-completion/completions/shoal\n  \
    shoal completions zsh > ~/.zfunc/_shoal\n  \
    shoal completions fish > ~/.config/fish/completions/shoal.fish")]
pub struct CompletionArguments {
    /// For which shell
    shell: Shell,
}

#[derive(Args)]
#[command(after_help = "Example:\n  shoal man | man -l -")]
pub struct ManArguments {
    /// Write a page for each command into this directory, instead of the first page to the standard output
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Prints what the shell reads.
pub fn completions(arguments: &CompletionArguments, mut command: Command) -> Result<(), String> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    print(&script)
}

/// Prints or writes pages in the format of man(1).
pub fn man(arguments: &ManArguments, command: Command) -> Result<(), String> {
    let Some(directory) = &arguments.directory else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        return rendered.map_err(|error| error.to_string()).and_then(|()| print(&page));
    };
    write_pages(command, directory).map_err(|error| format!("cannot write to {}: {error}", directory.display()))
}

fn write_pages(command: Command, directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    // `help` is in every page already.
    clap_mangen::generate_to(command.disable_help_subcommand(true), directory)
}

/// A reader that stops early, such as `head`, is no mistake.
fn print(bytes: &[u8]) -> Result<(), String> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}
