"""A cluster of local processes, one for the whole run of the tests."""

import atexit
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import shoal

READY = "shoal is ready: mysql "
PATIENCE = 60.0
# So many times a test may lose what it had under way.
LEADERS = 3


def wait_until(what, condition):
    """Waits for something to be true; yields it."""
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited too long for {what}")
        time.sleep(0.005)
    return result


class Cluster:
    """`shoal dev --data-nodes 2`."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-python-"))
        binary = os.environ.get("SHOAL_BINARY", "target/release/shoal")
        data = self.folder / "data"
        command = [binary, "dev", "--data-nodes", "2", "--mysql-port", "0", "--http-port", "0", "--data-dir", str(data)]
        self.log = open(self.folder / "log", "w+")
        # A terminal's Ctrl-C is for the tests, which stop the cluster themselves.
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True
        )
        atexit.register(self.stop)
        for line in self.process.stdout:
            if line.startswith(READY):
                self.mysql_port = int(line.removeprefix(READY).rsplit(":", 1)[1])
                break
        else:
            self.log.seek(0)
            raise AssertionError(f"the cluster did not start:\n{self.log.read()}")
        config = (data / "config.ini").read_text()
        self.address = "127.0.0.1:" + re.search(r"^PortNumber=(\d+)", config, re.MULTILINE)[1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, statements):
        """Runs statements; yields the rows as lists of texts."""
        command = ["mariadb", "-h", "127.0.0.1", "-P", str(self.mysql_port), "-u", "root", "--batch", "--skip-column-names"]
        done = subprocess.run(
            [*command, "--default-character-set=utf8mb4"], input=statements, text=True, capture_output=True, check=False
        )
        if done.returncode:
            raise AssertionError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]


@functools.lru_cache(maxsize=None)
def cluster():
    return Cluster()


ACCOUNTS = """(id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, owner VARCHAR(20) NOT NULL, number INT NOT NULL,
    balance DECIMAL(10,2) NOT NULL DEFAULT 10, note TEXT, UNIQUE KEY number (number), KEY owner (owner))"""
COUNTERS = "(id INT NOT NULL PRIMARY KEY, n INT NOT NULL)"


def again_after_other_leaders(test):
    """On a busy machine a leader may be thought dead: what was under way there is rolled back, and tried again."""

    @functools.wraps(test)
    def run(self):
        for _ in range(LEADERS):
            try:
                return test(self)
            except shoal.TemporaryError as error:
                print(f"again: {error}", file=sys.stderr)
                self.setUp()
        return test(self)

    return run


class ClusterTestCase(unittest.TestCase):
    """Tables of its own, in a database by the name of the class."""

    def __init_subclass__(cls):
        for name, test in list(vars(cls).items()):
            if name.startswith("test_"):
                setattr(cls, name, again_after_other_leaders(test))

    tables = {"accounts": ACCOUNTS, "counters": COUNTERS}

    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster()
        cls.database = f"{cls.__module__.rsplit('.', 1)[1]}_{cls.__name__}"
        made = "".join(f"CREATE TABLE {name} {columns};" for name, columns in cls.tables.items())
        cls.cluster.sql(f"CREATE DATABASE {cls.database}; USE {cls.database}; {made}")

    def setUp(self):
        self.sql("".join(f"DELETE FROM {name};" for name in self.tables))

    def sql(self, statements):
        return self.cluster.sql(f"USE {self.database}; {statements}")

    def known_tables(self, client):
        """A table that a statement has just made is known to clients a moment later."""

        def find(name):
            try:
                return client.table(self.database, name)
            except shoal.Error:
                return None

        return [wait_until(f"the table {name}", lambda name=name: find(name)) for name in self.tables]
