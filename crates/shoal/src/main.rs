//! The command line: wires roles together, nothing else.

// The life of a session is one future in which all that a statement may wait for is nested.
#![recursion_limit = "256"]

mod allocator;
mod clients;
mod config;
mod configuration;
mod dev;
mod dev_cluster;
mod error_log;
mod handlersocket;
mod hints;
mod http;
mod manual;
mod mgm;
mod node_tls;
mod process;
mod settings;
mod sql;
mod start;
mod system;
mod tls;
mod top;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// A MySQL-compatible, in-memory-first database.
///
/// `shoal dev` starts a durable server on loopback with nothing else to install; any MySQL client connects to it as user
/// root without a password.
#[derive(Parser)]
#[command(
    name = "shoal",
    version,
    arg_required_else_help = true,
    after_help = "First steps:\n  \
        shoal dev                  start a server; its data stay in shoal-data/\n  \
        shoal sql                  in a second terminal: CREATE DATABASE pond;\n  \
        shoal dev --data-nodes 2   the same as a cluster\n\n\
        `shoal COMMAND --help` has examples for each command."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every role in one process on loopback: for laptops, tests and single machines
    Dev(dev::DevArguments),
    /// Run one node of a cluster, as config.ini has it
    Start(start::StartArguments),
    /// Type SQL statements, or carry them out from a script
    Sql(sql::SqlArguments),
    /// Look after a running cluster: SHOW, STATUS, STOP, RESTART, CLUSTERLOG and more
    Mgm(mgm::MgmArguments),
    /// Check a cluster's config.ini, or make one
    Config(config::ConfigArguments),
    /// Show what runs, how fast, and what is wrong, in a terminal
    Top(top::TopArguments),
    /// Measure how fast a cluster is for native clients
    Bench(shoal_bench::perf::BenchArguments),
    /// Print what makes a shell complete this command line
    Completions(manual::CompletionArguments),
    /// Print the manual page, or write the pages of all commands
    Man(manual::ManArguments),
}

fn main() -> ExitCode {
    allocator::use_small_pages();
    shoal_cluster::report_panics();
    let command = CommandLine::parse().command;
    if matches!(command, Command::Dev(_) | Command::Start(_)) {
        shoal_error_log::install();
    }
    let outcome = match command {
        Command::Dev(arguments) => dev::run(&arguments),
        Command::Start(arguments) => start::run(&arguments),
        Command::Sql(arguments) => sql::run(&arguments),
        Command::Mgm(arguments) => mgm::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Bench(arguments) => shoal_bench::perf::run(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments, CommandLine::command()),
        Command::Man(arguments) => manual::man(&arguments, CommandLine::command()),
    };
    error_log::end(&outcome);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("shoal: {reason}");
            ExitCode::FAILURE
        }
    }
}
