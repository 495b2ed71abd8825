//! Client programs run to their end, with input, a deadline and all their output.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How a program ended and what it said.
#[derive(Clone, Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Output {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs `command` with `input` on its standard input. A program that outlives the deadline, or `give_up` turning
/// true, is killed and is an error.
pub fn run(
    mut command: Command,
    input: &[u8],
    deadline: Duration,
    give_up: impl Fn() -> bool,
) -> io::Result<Output> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| {
            let name = command.get_program().to_string_lossy().into_owned();
            io::Error::new(error.kind(), format!("cannot start {name}: {error}"))
        })?;
    let writer = feed(child.stdin.take(), input.to_vec());
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait(&mut child, deadline, give_up);
    let stdout = stdout.join().unwrap_or_default();
    let stderr = stderr.join().unwrap_or_default();
    let _ = writer.join();
    let status = status.map_err(|error| {
        let said = String::from_utf8_lossy(&stderr).into_owned();
        io::Error::other(format!("{error}; it said: {said}"))
    })?;
    Ok(Output { status, stdout, stderr })
}

fn wait(child: &mut Child, deadline: Duration, give_up: impl Fn() -> bool) -> io::Result<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let reason = if give_up() {
            "interrupted"
        } else if started.elapsed() > deadline {
            "did not end in time"
        } else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        child.kill()?;
        child.wait()?;
        return Err(io::Error::other(reason));
    }
}

/// A program that ends without reading its input is no error.
fn feed(pipe: Option<impl Write + Send + 'static>, input: Vec<u8>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        if let Some(mut pipe) = pipe {
            let _ = pipe.write_all(&input);
        }
    })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_and_both_outputs_are_carried() {
        let output = run(shell("cat; echo no >&2; exit 4"), b"yes", Duration::from_secs(10), || false);
        let output = output.unwrap();
        assert_eq!((output.text().as_str(), output.errors().as_str()), ("yes", "no\n"));
        assert_eq!(output.status.code(), Some(4));
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let deadline = Duration::from_millis(20);
        let error = run(shell("exec sleep 60"), b"", deadline, || false).unwrap_err();
        assert!(error.to_string().contains("did not end in time"), "{error}");
    }
}
