//! A disk that is full when a test wants it to be.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        while self.available() > left {
            let chunk = vec![1; (self.available() - left).min(1 << 20) as usize];
            if ballast.write_all(&chunk).is_err() {
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
