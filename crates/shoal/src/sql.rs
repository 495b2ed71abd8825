//! `shoal sql`: a MySQL client.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use shoal_shell::{COLLATION_UTF8MB4_0900_AI_CI, Encryption, Format, Login, Options};
use shoal_tls::ClientTls;

/// Keep a password out of the list of processes: ours, and that of MySQL's clients.
const PASSWORD_VARIABLES: [&str; 2] = ["SHOAL_PASSWORD", "MYSQL_PWD"];

#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  \
        shoal sql                                        type statements\n  \
        shoal sql pond -e 'SELECT COUNT(*) FROM fish'    one statement, in the database pond\n  \
        shoal sql < dump.sql                             a file of them"
)]
pub struct SqlArguments {
    /// The database to begin in
    #[arg(value_name = "DATABASE")]
    database: Option<String>,

    /// Name or address of the server
    #[arg(long, short = 'h', value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// Its port for MySQL clients
    #[arg(long, short = 'P', value_name = "PORT", default_value_t = 3306)]
    port: u16,

    /// An account of the database
    #[arg(long, short, value_name = "NAME", default_value = "root")]
    user: String,

    /// Ask for the account's password; without this it is taken from SHOAL_PASSWORD or MYSQL_PWD, or there is none
    #[arg(long, short)]
    password: bool,

    /// The database to begin in
    #[arg(long = "database", short = 'D', value_name = "DATABASE", conflicts_with = "database")]
    database_option: Option<String>,

    /// Carry out statements and end; may be given several times. The exit status is 1 when one fails
    #[arg(long, short, value_name = "STATEMENTS")]
    execute: Vec<String>,

    /// Rows as tab-separated lines, for programs [default: when the output is no terminal]
    #[arg(long, short = 'B', group = "format")]
    batch: bool,

    /// Rows as tables [default: on a terminal]
    #[arg(long, short, group = "format")]
    table: bool,

    /// A line for each value, as with \G at the end of a statement
    #[arg(long, short = 'E', group = "format")]
    vertical: bool,

    /// No line with the columns' names
    #[arg(long, short = 'N')]
    skip_column_names: bool,

    /// Go on with the next statement after an error
    #[arg(long, short)]
    force: bool,

    /// TLS: never, where the server offers it, or insist on it
    #[arg(long, value_name = "MODE", value_enum, default_value_t = SslMode::Preferred, ignore_case = true)]
    ssl_mode: SslMode,

    /// Authorities, as PEM: the server has to show a certificate of theirs for the name of --host
    #[arg(long, value_name = "FILE")]
    ssl_ca: Option<PathBuf>,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SslMode {
    Disabled,
    Preferred,
    Required,
}

pub fn run(arguments: &SqlArguments) -> Result<(), String> {
    let password = match arguments.password {
        true => shoal_top::ask_password(&format!("Password of {}: ", arguments.user))?,
        false => PASSWORD_VARIABLES.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default(),
    };
    let database = arguments.database.as_ref().or(arguments.database_option.as_ref());
    let login = Login {
        host: arguments.host.clone(),
        user: arguments.user.clone(),
        password,
        database: database.cloned().unwrap_or_default(),
        // A server could ask for any file: LOAD DATA LOCAL is for clients that know which one was meant.
        local_infile: false,
        collation: COLLATION_UTF8MB4_0900_AI_CI,
        encryption: encryption(arguments)?,
        ..Login::default()
    };
    shoal_shell::run(Options {
        port: arguments.port,
        login,
        execute: arguments.execute.clone(),
        format: format(arguments),
        skip_column_names: arguments.skip_column_names,
        force: arguments.force,
    })
}

fn format(arguments: &SqlArguments) -> Option<Format> {
    match (arguments.batch, arguments.table, arguments.vertical) {
        (true, ..) => Some(Format::TabSeparated),
        (_, true, _) => Some(Format::Table),
        (.., true) => Some(Format::Vertical),
        _ => None,
    }
}

fn encryption(arguments: &SqlArguments) -> Result<Encryption, String> {
    let failed = |error: shoal_tls::TlsError| error.to_string();
    match (arguments.ssl_mode, &arguments.ssl_ca) {
        (SslMode::Disabled, Some(_)) => {
            Err("--ssl-ca and --ssl-mode=disabled contradict each other; leave one of them out".to_owned())
        }
        (SslMode::Disabled, None) => Ok(Encryption::None),
        (_, Some(ca)) => Ok(Encryption::Required(ClientTls::of_authority(ca).map_err(failed)?)),
        (SslMode::Preferred, None) => Ok(Encryption::IfOffered(ClientTls::of_any_server().map_err(failed)?)),
        (SslMode::Required, None) => Ok(Encryption::Required(ClientTls::of_any_server().map_err(failed)?)),
    }
}
