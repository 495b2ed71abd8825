//! What somebody who has started a server at a terminal wants to know next. Programs read the ready lines on the standard output.

use std::io::IsTerminal;

/// Tells on the terminal, if there is one, where to connect, where the page for operators is, and how to stop.
pub fn tell(mysql: &str, page: Option<&str>) {
    if !std::io::stderr().is_terminal() || shoal_error_log::is_json_on_stderr() {
        return;
    }
    if let Some((host, port)) = mysql.rsplit_once(':') {
        // A server that listens on every address is reached by the loopback one.
        let host = if host == "0.0.0.0" { "127.0.0.1" } else { host };
        let sql = if port == "3306" { "shoal sql".to_owned() } else { format!("shoal sql -P {port}") };
        eprintln!("connect with: {sql}, or: mariadb -h {host} -P {port} -u root (no password)");
    }
    if let Some(page) = page {
        eprintln!("look at it:   http://{page}/ (log in as root), or: shoal top {page}");
    }
    eprintln!("stop it:      Ctrl-C");
}
