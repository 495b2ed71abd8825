//! A disk that is full when a test wants it to be, and one that answers with errors.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A small file system of its own, unmounted at the end.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where that is not permitted.
    pub fn mount(mebibytes: u64) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}M"), "tmpfs"]).arg(folder.path());
        let mounted = command.output().is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills the disk with a file that can be removed, up to about `left` bytes: the server may use some meanwhile.
    pub fn fill(&self, left: u64) -> PathBuf {
        let path = self.path().join("ballast");
        let mut ballast = fs::File::create(&path).unwrap();
        loop {
            // Once a round: the server writes, too.
            let chunk = vec![1; self.available().saturating_sub(left).min(1 << 20) as usize];
            if chunk.is_empty() || ballast.write_all(&chunk).is_err() {
                break;
            }
        }
        path
    }

    pub fn available(&self) -> u64 {
        let output = Command::new("df").args(["-B1", "--output=avail"]).arg(self.path()).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.lines().last().unwrap().trim().parse().unwrap()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

/// From some moment on all that a process writes ends in EIO, as on a disk that has died: `strace` answers in the place of
/// the kernel. Goes on until the process ends.
pub struct DyingDisk {
    tracer: Child,
}

impl DyingDisk {
    /// # Errors
    /// This is not possible here.
    pub fn of(process: u32) -> Result<DyingDisk, String> {
        let mut command = Command::new("strace");
        command.args([
            "--follow-forks",
            "--quiet=all",
            "--output=/dev/null",
            "--trace=pwrite64,pwritev,fdatasync,fsync",
        ]);
        command.args(["--inject=pwrite64,pwritev,fdatasync,fsync:error=EIO", "--attach", &process.to_string()]);
        let tracer = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(DyingDisk { tracer: tracer.map_err(|error| format!("strace: {error}"))? })
    }
}

impl Drop for DyingDisk {
    fn drop(&mut self) {
        let _ = self.tracer.kill();
        let _ = self.tracer.wait();
    }
}
