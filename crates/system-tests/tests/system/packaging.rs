//! What is in the Debian package, the units of systemd, and the container's file: built and looked at, with the program under test.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use shoal_system_tests::{TestServer, server::find_program, shoal_binary, skip, target_is_mariadb};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {}{}", text(&stdout), text(&stderr));
    text(&stdout)
}

/// Files and folders below one, without it.
fn listing(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            found.insert(path.strip_prefix(folder).unwrap().display().to_string());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

#[test]
fn the_debian_package_has_all_that_a_server_needs_and_starts_nothing() {
    if target_is_mariadb() || find_program("dpkg-deb").is_none() {
        return skip("needs dpkg-deb");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut build = Command::new(root().join("scripts/build-deb"));
    build.arg(shoal_binary()).arg(folder.path()).env("SHOAL_DEB_COMPRESSION", "none");
    let package = done(&mut build).trim().to_owned();
    let (files, control) = (folder.path().join("files"), folder.path().join("control"));
    done(Command::new("dpkg-deb").args(["--extract", &package]).arg(&files));
    done(Command::new("dpkg-deb").args(["--control", &package]).arg(&control));

    let found = listing(&files);
    for expected in [
        "usr/bin/shoal",
        "usr/lib/systemd/system/shoal.service",
        "usr/lib/systemd/system/shoal@.service",
        "etc/default/shoal",
        "etc/shoal",
        "usr/share/man/man1/shoal.1.gz",
        "usr/share/man/man1/shoal-sql.1.gz",
        "usr/share/man/man1/shoal-config-generate.1.gz",
        "usr/share/bash-completion/completions/shoal",
        "usr/share/zsh/vendor-completions/_shoal",
        "usr/share/fish/vendor_completions.d/shoal.fish",
        "usr/share/doc/shoal/changelog.gz",
        "usr/share/doc/shoal/copyright",
        "usr/share/doc/shoal/operating.md.gz",
        "usr/share/doc/shoal/examples/config.ini",
    ] {
        assert!(found.contains(expected), "{expected} is missing: {found:#?}");
    }
    assert!(found.iter().all(|path| !path.starts_with("var") && !path.starts_with("home")), "{found:#?}");
    for path in &found {
        let path = files.join(path);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        let expected = if path.is_dir() || path.ends_with("usr/bin/shoal") { 0o755 } else { 0o644 };
        assert_eq!(mode, expected, "{}", path.display());
    }
    // As they would be installed: owned by root, whoever has built it.
    let owners = done(Command::new("dpkg-deb").args(["--contents", &package]));
    assert!(owners.lines().all(|line| line.contains(" root/root ")), "{owners}");
    check_control(&package, &control, &files);

    let program = files.join("usr/bin/shoal");
    assert_eq!(done(Command::new(&program).arg("--version")), done(Command::new(shoal_binary()).arg("--version")));
    done(
        Command::new(&program)
            .args(["config", "check"])
            .arg(files.join("usr/share/doc/shoal/examples/config.ini")),
    );
    let page = done(Command::new("gzip").arg("-dc").arg(files.join("usr/share/man/man1/shoal-sql.1.gz")));
    assert!(page.starts_with(".ie") || page.contains(".TH"), "{page}");
    assert!(page.contains("SHOAL_PASSWORD") && page.contains("DATABASE"), "{page}");
    let completion = files.join("usr/share/bash-completion/completions/shoal");
    let script = format!(
        "source {}; COMP_WORDS=(shoal dev --mysql-p); COMP_CWORD=2; _shoal shoal --mysql-p dev; echo \"${{COMPREPLY[@]}}\"",
        completion.display()
    );
    assert_eq!(done(Command::new("bash").args(["-c", &script])).trim(), "--mysql-port");
    check_units(&files);
}

/// In a copy of this machine's file system that goes when it is done: as root, where the system permits such a copy.
#[test]
fn the_debian_package_is_installed_serves_is_upgraded_and_removed() {
    if target_is_mariadb() || find_program("dpkg-deb").is_none() {
        return skip("needs dpkg-deb");
    }
    /// What `scripts/try-deb` ends with where it cannot work.
    const NOT_PERMITTED: i32 = 77;
    let folder = tempfile::tempdir().unwrap();
    let mut build = Command::new(root().join("scripts/build-deb"));
    build.arg(shoal_binary()).arg(folder.path()).env("SHOAL_DEB_COMPRESSION", "none");
    let package = done(&mut build).trim().to_owned();
    let tried = Command::new(root().join("scripts/try-deb")).arg(&package).output().unwrap();
    if tried.status.code() == Some(NOT_PERMITTED) {
        return skip("needs root and overlay mounts");
    }
    let said = text(&tried.stdout) + &text(&tried.stderr);
    assert!(tried.status.success() && said.contains("installed, served and removed"), "{said}");
    // What was written before the upgrade, and what a purge leaves.
    assert!(said.contains("row 7 of root@localhost") && said.contains("data of shoal is still in"), "{said}");
}

fn check_control(package: &str, control: &Path, files: &Path) {
    let field = |name: &str| done(Command::new("dpkg-deb").args(["--field", package, name])).trim().to_owned();
    assert_eq!(field("Package"), "shoal");
    assert_eq!(field("Version"), env!("CARGO_PKG_VERSION"));
    assert!(field("Depends").contains("libc6 (>= 2."), "{}", field("Depends"));
    assert!(field("Depends").contains("adduser"), "{}", field("Depends"));
    assert!(field("Installed-Size").parse::<u64>().unwrap() > 1000);
    assert_eq!(std::fs::read_to_string(control.join("conffiles")).unwrap(), "/etc/default/shoal\n");
    done(Command::new("md5sum").args(["--check", "--quiet"]).arg(control.join("md5sums")).current_dir(files));
    for name in ["postinst", "prerm", "postrm"] {
        let script = control.join(name);
        done(Command::new("sh").arg("-n").arg(&script));
        assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o755);
        let script = std::fs::read_to_string(&script).unwrap();
        let starts = script.lines().find(|line| {
            let line = line.trim();
            !line.starts_with("echo")
                && ["start", "enable"].iter().any(|word| line.contains(&format!("systemctl {word}")))
        });
        assert_eq!(starts, None, "{name}");
        assert!(!script.contains("/var/lib/shoal") || !script.contains("rm -"), "{name} removes data");
    }
}

fn check_units(files: &Path) {
    if find_program("systemd-analyze").is_none() {
        return skip("needs systemd-analyze");
    }
    let folder = files.join("usr/lib/systemd/system");
    // A node of a template has a number. Programs are looked for where the package was unpacked.
    let scratch = tempfile::tempdir().unwrap();
    let program = files.join("usr/bin/shoal").display().to_string();
    for (unit, name) in [("shoal.service", "shoal.service"), ("shoal@.service", "shoal@1.service")] {
        let text = std::fs::read_to_string(folder.join(unit)).unwrap();
        assert!(text.contains("Restart=on-failure") && text.contains("LimitNOFILE="), "{unit}");
        let command = text.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/shoal ")).unwrap();
        let path = scratch.path().join(name);
        std::fs::write(
            &path,
            text.replace("/usr/bin/shoal", &program).replace("Documentation=man:shoal(1)\n", ""),
        )
        .unwrap();
        let verified = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
        let said = text_about(name, &verified);
        assert!(verified.status.success() && said.is_empty(), "{unit}: {said}");
        // The program knows the arguments: with --help behind them they are read and nothing is done.
        let arguments = command.replace(" $SHOAL_ARGUMENTS", "").replace("%i", "1");
        done(Command::new(&program).args(arguments.split(' ')).arg("--help"));
    }
}

/// What was said of this unit; of others of the machine there may be more.
fn text_about(name: &str, output: &Output) -> String {
    let said = text(&output.stderr) + &text(&output.stdout);
    said.lines().filter(|line| line.contains(name)).collect::<Vec<_>>().join("\n")
}

/// What a service manager is told by `sd_notify`: that the server serves, and that it stops.
#[test]
fn the_service_manager_hears_of_the_start_and_the_stop() {
    if target_is_mariadb() {
        return skip("it is about Shoal's units");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut setup = shoal_system_tests::harness_setup(&[]);
    setup.environment.push(("NOTIFY_SOCKET".into(), path.display().to_string()));
    let mut server = setup.start().unwrap();
    let heard = || {
        let mut bytes = [0; 100];
        let length = socket.recv(&mut bytes).unwrap();
        text(&bytes[..length])
    };
    assert_eq!(heard(), "READY=1");
    assert!(server.stop().unwrap().success());
    assert_eq!(heard(), "STOPPING=1");
}

/// The words of a list in a Dockerfile: JSON.
fn words(file: &str, instruction: &str) -> Vec<String> {
    let line =
        file.lines().find(|line| line.starts_with(instruction)).unwrap_or_else(|| panic!("no {instruction}"));
    let list = &line[line.find('[').unwrap()..];
    serde_json::from_str(list).unwrap()
}

#[test]
fn the_container_starts_a_server_and_looks_after_its_health() {
    if target_is_mariadb() {
        return skip("it is about Shoal's container");
    }
    let file = std::fs::read_to_string(root().join("packaging/Dockerfile")).unwrap();
    assert_eq!(words(&file, "ENTRYPOINT"), ["shoal"]);
    assert!(file.lines().any(|line| line == "USER shoal"), "not as root");
    for line in file.lines().filter(|line| line.starts_with("COPY ") && !line.contains("--from=")) {
        let from = line.split_whitespace().nth(1).unwrap();
        assert!(root().join(from).exists(), "{line}");
    }
    // The command itself, but for the folder; the ports are any free ones.
    let command = words(&file, "CMD");
    let place = command.iter().position(|word| word == "--data-dir").unwrap();
    let arguments = [&command[1..place], &command[place + 2..]].concat();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_eq!(arguments, ["--mysql-address", "0.0.0.0"]);
    let mut server = TestServer::start_with(&["--mysql-address", "127.0.0.1"]);
    let port = server.http().rsplit(':').next().unwrap().to_owned();
    let check = words(&file, "HEALTHCHECK");
    let is_healthy = || {
        let mut command = Command::new(&check[0]);
        command.args(&check[1..]).env("SHOAL_HTTP_PORT", &port).output().unwrap().status.success()
    };
    assert!(is_healthy());
    server.stop();
    assert!(!is_healthy(), "nobody is there any more");
}
