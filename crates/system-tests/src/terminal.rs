//! Programs that somebody watches and types to: in a terminal of `script`, 130 columns wide.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::wait_until;

/// Ends with its test: what runs in it is hung up.
pub struct Terminal {
    process: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Runs a shell's command.
    pub fn start(command: &str, environment: &[(&str, &str)]) -> Terminal {
        let sized = format!("stty cols 130 rows 40; exec {command}");
        let mut process = Command::new("script")
            .args(["-qec", &sized, "/dev/null"])
            .env("TERM", "xterm")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`script` is there");
        let keys = process.stdin.take().expect("the input is a pipe");
        let mut output = process.stdout.take().expect("the output is a pipe");
        let seen = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Terminal { process, keys, seen, reader: Some(reader) }
    }

    /// Everything that was shown, with what moves the cursor.
    pub fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until something is shown.
    pub fn sees(&self, what: &str) {
        wait_until(what, || self.seen.lock().unwrap().contains(what));
    }

    /// Waits until something is shown behind everything that was shown before, and returns what that was.
    pub fn sees_next(&self, before: usize, what: &str) -> String {
        wait_until(what, || self.seen.lock().unwrap().get(before..).is_some_and(|new| new.contains(what)));
        self.seen()[before..].to_owned()
    }

    pub fn press(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end.
    pub fn finish(mut self) -> (ExitStatus, String) {
        let status = self.process.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        (status, self.seen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            eprintln!("--- the terminal showed:\n{}\n---", self.seen());
        }
    }
}
