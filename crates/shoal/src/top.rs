//! `shoal top`: what runs, and how fast, in a terminal.

use std::time::Duration;

use clap::Args;
use shoal_top::Options;

use crate::http::PORT_DEFAULT;

/// Keeps a password out of the list of processes.
const PASSWORD_VARIABLE: &str = "SHOAL_PASSWORD";

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    shoal top                                the server of this machine\n  \
    shoal top db1:8186 -u ops -p             a node of a cluster, which shows the whole cluster\n  \
    shoal top --once                         for scripts\n\n\
    Keys: arrows choose a statement, k ends it, q quits.")]
pub struct TopArguments {
    /// HTTP port of a node: HOST:PORT [default: that of `shoal dev` on this machine]
    #[arg(value_name = "HOST:PORT")]
    address: Option<String>,

    /// An account of the database
    #[arg(long, short, value_name = "NAME", default_value = "root")]
    user: String,

    /// Ask for the account's password; without this it is taken from SHOAL_PASSWORD, or there is none
    #[arg(long, short)]
    password: bool,

    /// Print the state as text and end
    #[arg(long)]
    once: bool,

    /// Print what is known as JSON and end
    #[arg(long)]
    json: bool,

    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
}

pub fn run(arguments: &TopArguments) -> Result<(), String> {
    let password = match arguments.password {
        true => shoal_top::ask_password(&format!("Password of {}: ", arguments.user))?,
        false => std::env::var(PASSWORD_VARIABLE).unwrap_or_default(),
    };
    shoal_top::run(&Options {
        address: arguments.address.clone().unwrap_or_else(|| format!("127.0.0.1:{PORT_DEFAULT}")),
        user: arguments.user.clone(),
        password,
        once: arguments.once,
        json: arguments.json,
        every: Duration::from_secs(arguments.every),
    })
}
