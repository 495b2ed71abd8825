"""Signals, forks, and the end of programs."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import shoal

from .test_sync import SyncTestCase


class Interrupted(Exception):
    pass


@contextlib.contextmanager
def interrupted_soon():
    """A signal whose handler raises, as Ctrl-C's does."""

    def interrupt(number, frame):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Signals(SyncTestCase):
    def test_an_interrupt_ends_an_operation_that_waits(self):
        self.client.insert(self.counters, (1, 0))
        with self.client.begin() as holder:
            holder.for_update().get(self.counters, 1)
            start = time.monotonic()
            with self.assertRaises(Interrupted), interrupted_soon():
                self.client.update(self.counters, 1, add={"n": 1})
            self.assertLess(time.monotonic() - start, 10)
            with self.assertRaises(Interrupted), self.client.begin() as waiter, interrupted_soon():
                waiter.for_update().get(self.counters, 1)
        self.assertEqual(self.client.get(self.counters, 1).n, 0)

    def test_other_threads_run_while_an_operation_waits(self):
        self.client.insert(self.counters, (1, 0))
        holder = self.client.begin()
        holder.for_update().get(self.counters, 1)
        waiter = threading.Thread(target=lambda: self.client.update(self.counters, 1, add={"n": 1}))
        waiter.start()
        holder.commit()
        waiter.join()
        self.assertEqual(self.client.get(self.counters, 1).n, 1)


def in_a_fork(client, table, transaction, events):
    """Ends with 0 if everything is refused with a word about the fork."""
    for call in (
        lambda: client.get(table, 1),
        lambda: client.begin(),
        lambda: client.table("a", "b"),
        lambda: transaction.get(table, 1),
        lambda: transaction.commit(),
        lambda: client.scan(table).all(),
        lambda: client.linked(shoal.Linked.get(table, 1)).all(),
        lambda: client.events([table]),
        lambda: events.next(0),
    ):
        try:
            call()
        except RuntimeError as error:
            if "fork" in str(error):
                continue
        raise SystemExit(1)
    client.close()


class Processes(SyncTestCase):
    def test_a_client_is_refused_in_a_fork_and_goes_on_in_its_own_process(self):
        self.client.insert(self.counters, (1, 5))
        with self.client.begin() as transaction, self.client.events([self.counters]) as events:
            transaction.update(self.counters, 1, add={"n": 1})
            arguments = (self.client, self.counters, transaction, events)
            child = multiprocessing.get_context("fork").Process(target=in_a_fork, args=arguments)
            child.start()
            child.join(30)
            self.assertEqual(child.exitcode, 0)
        self.assertEqual(self.client.get(self.counters, 1).n, 6)

    def test_a_fork_may_connect_for_itself(self):
        def connect():
            with shoal.connect(self.cluster.address, spin=0) as client:
                self.known_tables(client)
            os._exit(7)

        child = multiprocessing.get_context("fork").Process(target=connect)
        child.start()
        child.join(60)
        self.assertEqual(child.exitcode, 7)

    def test_a_program_that_closes_nothing_ends_in_order(self):
        script = "import shoal, sys; c = shoal.connect(sys.argv[1]); t = c.begin(); s = t.savepoint(); print('here')"
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-c", script, self.cluster.address],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "here\n", ""))
