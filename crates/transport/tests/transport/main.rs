//! The transport between real sockets on loopback.

mod common;
mod cut;
mod cut_off;
mod encryption;
mod failures;
mod links;
mod raw;
mod strangers;

/// Everything above once more over the other transporters, in processes of their own.
#[test]
fn the_same_holds_over_unix_sockets_tcp_and_tls() {
    if std::env::var_os(common::TRANSPORTER).is_some() {
        return;
    }
    for transporter in ["unix", "tcp", "tls"] {
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program).env(common::TRANSPORTER, transporter).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "over {transporter}: {told}");
    }
}
