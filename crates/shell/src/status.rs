//! What the client tells of itself and its connection.

use shoal_mysql_client::Client;

use crate::session::{Failure, Session};

/// What can be typed beside statements.
pub const HELP: &str = "\
A statement ends with ; and may have several lines. With \\G in place of ; each value gets a line.
  \\q  quit, exit         end                     \\u  use DB        choose a database
  \\s  status             where one is connected  \\.  source FILE   carry out the statements of a file
  \\c                     forget what was typed   \\h  help          this list
Ctrl-C ends the statement that runs. SHOW WARNINGS tells what the last statement warned of.
";

/// A short page about the connection.
pub fn page(session: &mut Session) -> Result<String, Failure> {
    let (host, port) = (session.login().host.clone(), session.port());
    let client = session.client()?;
    let account = client.text("SELECT CURRENT_USER(), IFNULL(DATABASE(), '-'), @@version_comment")?;
    let mut words = account.first().map(String::as_str).unwrap_or_default().splitn(3, ',');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (account, database, comment) = (word(), word(), word());
    let cipher = status_variable(client, "Ssl_cipher")?;
    let version = status_variable(client, "Ssl_version")?;
    let encryption = match cipher.is_empty() {
        true => "none".to_owned(),
        false => format!("{version}, {cipher}"),
    };
    let uptime_s = status_variable(client, "Uptime")?;
    let threads = status_variable(client, "Threads_connected")?;
    let questions = status_variable(client, "Questions")?;
    Ok(format!(
        "Connection:       {} at {host}:{port}\nServer version:   {} {comment}\nAccount:          {account}\n\
         Database:         {database}\nTLS:              {encryption}\nUptime:           {uptime_s} s\n\
         Connections:      {threads}\nStatements:       {questions}\n",
        client.connection_id(),
        client.server_version(),
    ))
}

fn status_variable(client: &mut Client, name: &str) -> Result<String, Failure> {
    let rows = client.query(&format!("SHOW STATUS LIKE '{name}'"))?;
    Ok(rows.rows.first().and_then(|row| row.get(1)).map(ToString::to_string).unwrap_or_default())
}
