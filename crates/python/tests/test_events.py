"""Event streams, in both faces."""

import asyncio
import gc
import threading

import shoal
import shoal.aio
from shoal import Altered, Change, Complete, Dropped, Gap

from .cluster import PATIENCE, wait_until
from .test_aio import AioTestCase
from .test_sync import SyncTestCase

TABLES = {
    "counted": "(id INT NOT NULL PRIMARY KEY, n INT NOT NULL)",
    "named": "(name VARCHAR(20) NOT NULL PRIMARY KEY, n INT NOT NULL)",
}


MARK = ("named", "insert", "mark", 0)


def told(change):
    return (change.table.name, change.kind, *change.row)


class EventsTestCase(SyncTestCase):
    tables = TABLES

    def setUp(self):
        super(SyncTestCase, self).setUp()
        self.counted, self.named = self.known_tables(self.client)

    def follow(self):
        """A stream of both tables, once everything has been told that was committed before.

        What a transaction over several partitions has done may come a moment after its commit.
        """
        events = self.client.events([self.counted, self.named])
        self.client.insert(self.named, ("mark", 0))
        mark = None
        while True:
            event = events.next(PATIENCE)
            if isinstance(event, Change) and told(event) == MARK:
                mark = event.timestamp
            if isinstance(event, Complete) and mark is not None and event.timestamp >= mark:
                return events

    def changes(self, events, count):
        """The next changes."""
        found = []
        while len(found) < count:
            event = events.next(PATIENCE)
            self.assertIsInstance(event, (Change, Complete))
            if isinstance(event, Change):
                found.append(event)
        return found


class InThreads(EventsTestCase):
    def test_changes_are_told_whoever_makes_them(self):
        with self.follow() as events:
            self.client.insert(self.counted, (1, 1))
            self.sql("UPDATE counted SET n = 2 WHERE id = 1")
            self.client.insert(self.named, ("Ada", 1))
            self.client.delete(self.counted, 1)
            changes = self.changes(events, 4)
            self.assertEqual(
                sorted(map(told, changes)),
                [
                    ("counted", "delete", 1),
                    ("counted", "insert", 1, 1),
                    ("counted", "update", 1, 2),
                    ("named", "insert", "Ada", 1),
                ],
            )
            of_row = [change for change in changes if change.table == self.counted]
            self.assertEqual([change.kind for change in of_row], ["insert", "update", "delete"])
            self.assertEqual(sorted(change.timestamp for change in of_row), [change.timestamp for change in of_row])
            self.assertEqual(changes[0].row.keys(), ["id", "n"])

    def test_a_transaction_is_one_and_complete_once_it_is_told_so(self):
        with self.follow() as events:
            with self.client.begin() as transaction:
                transaction.insert_many(self.counted, [(n, n) for n in range(20)])
            rolled_back = self.client.begin()
            rolled_back.insert(self.counted, (99, 99))
            rolled_back.rollback()
            changes = self.changes(events, 20)
            self.assertEqual({change.row.id for change in changes}, set(range(20)))
            self.assertEqual(len({change.transaction for change in changes}), 1)
            (timestamp,) = {change.timestamp for change in changes}
            for event in events:
                self.assertIsInstance(event, Complete)
                if event.timestamp >= timestamp:
                    break

    def test_other_definitions_and_the_end_of_a_table_are_told(self):
        self.sql("DROP TABLE IF EXISTS passing; CREATE TABLE passing (id INT NOT NULL PRIMARY KEY, n INT)")
        passing = wait_until("the table", lambda: self.table_or_none("passing"))
        with self.client.events([passing]) as events:
            self.client.insert(passing, (1, 5))
            self.assertEqual(told(self.changes(events, 1)[0]), ("passing", "insert", 1, 5))
            self.sql("ALTER TABLE passing RENAME COLUMN n TO m")
            wait_until("the other name", lambda: passing.columns == ["id", "m"])
            self.sql("INSERT INTO passing VALUES (2, 6)")
            told_so = self.until(events, Change)
            self.assertEqual([type(event) for event in told_so], [Altered, Change])
            self.assertEqual(told_so[-1].row.as_dict(), {"id": 2, "m": 6})
            self.sql("DROP TABLE passing")
            told_so += self.until(events, Dropped)
            self.assertEqual({event.table for event in told_so}, {passing})

    def until(self, events, kind):
        """The events up to one of this kind; not those that say that all is complete."""
        found = []
        while not found or not isinstance(found[-1], kind):
            event = events.next(PATIENCE)
            self.assertIsNotNone(event)
            if not isinstance(event, Complete):
                found.append(event)
        return found

    def test_waiting_for_an_event_may_be_limited(self):
        with self.client.events([self.counted]) as events:
            wait_until("nothing to be told", lambda: events.next(0) is None)
            self.client.insert(self.counted, (1, 1))
            self.changes(events, 1)
            self.assertFalse(events.is_closed)

    def test_closing_ends_whoever_waits(self):
        events = self.client.events([self.counted])
        found = []
        reader = threading.Thread(target=lambda: found.extend(events))
        reader.start()
        self.client.insert(self.counted, (1, 1))
        wait_until("the change", lambda: any(isinstance(event, Change) for event in found))
        events.close()
        reader.join(PATIENCE)
        self.assertFalse(reader.is_alive())
        self.assertTrue(events.is_closed)
        self.assertEqual(list(events), [])
        with self.assertRaises(ValueError):
            events.next()

    def test_closing_the_client_ends_streams_with_an_error(self):
        client = shoal.connect(self.cluster.address, spin=0, jobs_max=1)
        (counted, _) = self.known_tables(client)
        events = client.events([counted])
        ends = []

        def read():
            try:
                for _ in events:
                    pass
            except shoal.Error as error:
                ends.append(error.message)

        reader = threading.Thread(target=read)
        reader.start()
        client.close()
        reader.join(PATIENCE)
        self.assertEqual(ends, ["this client is closed"])

    def test_a_stream_that_nobody_holds_gives_its_place_back(self):
        with shoal.connect(self.cluster.address, spin=0, jobs_max=1) as client:
            (counted, _) = self.known_tables(client)
            for _ in range(3):
                events = client.events([counted])
                del events
                gc.collect()
                self.assertIsNone(client.get(counted, 7))

    def test_a_reader_that_is_far_too_slow_is_told_of_a_gap_or_of_everything(self):
        with self.client.events([self.counted], window_bytes=1) as events:
            for start in range(0, 2000, 100):
                self.client.put_many(self.counted, [(n, n) for n in range(start, start + 100)])
            rows = set()
            for event in events:
                if isinstance(event, Gap):
                    self.assertEqual(event.reason, "compacted")
                    break
                if isinstance(event, Change):
                    rows.add(event.row.id)
                if len(rows) == 2000:
                    break

    def test_what_cannot_be_followed_is_an_error(self):
        self.sql("CREATE TABLE gone (id INT NOT NULL PRIMARY KEY)")
        gone = wait_until("the table", lambda: self.table_or_none("gone"))
        self.sql("DROP TABLE gone")
        wait_until("its end", lambda: self.table_or_none("gone") is None)
        with self.assertRaises(shoal.Error) as caught:
            self.client.events([gone])
        self.assertEqual(caught.exception.errno, 1146)

    def table_or_none(self, name):
        try:
            return self.client.table(self.database, name)
        except shoal.Error:
            return None

    def test_what_is_shown_says_what_it_is(self):
        with self.follow() as events:
            self.client.insert(self.counted, (1, 5))
            (change,) = self.changes(events, 1)
            self.assertIn("counted, \"insert\", Row(id=1, n=5)", repr(change))
            self.assertEqual(Change.__match_args__, ("table", "kind", "row"))
            self.assertEqual({change.table: 1}[self.counted], 1)
            self.assertNotEqual(change.table, self.named)


class WithAsyncio(AioTestCase):
    tables = TABLES

    async def pass_mark(self, client, named, events):
        """Goes on until everything has been told that was committed before."""
        await client.insert(named, ("mark", 0))
        mark = None
        async for event in events:
            if isinstance(event, Change) and told(event) == MARK:
                mark = event.timestamp
            if isinstance(event, Complete) and mark is not None and event.timestamp >= mark:
                return

    def test_changes_are_told_whoever_makes_them(self):
        async def test(client, counted, named):
            async with client.events([counted, named]) as events:
                await self.pass_mark(client, named, events)
                await client.insert(counted, (1, 1))
                await client.update(counted, 1, add={"n": 1})
                await client.insert(named, ("Ada", 1))
                found = []
                async for event in events:
                    if isinstance(event, Change):
                        found.append(told(event))
                    if len(found) == 3:
                        break
                wanted = [("counted", "insert", 1, 1), ("counted", "update", 1, 2), ("named", "insert", "Ada", 1)]
                self.assertEqual(sorted(found), wanted)
                self.assertFalse(events.is_closed)
            self.assertTrue(events.is_closed)
            self.assertEqual([event async for event in events], [])

        self.run_with_client(test)

    def test_cancelling_who_waits_loses_no_event(self):
        async def test(client, counted, named):
            events = await client.events([counted, named])
            await self.pass_mark(client, named, events)
            rows = 300
            written = asyncio.ensure_future(self.write(client, counted, rows))
            found = []
            while len(found) < rows:
                waiter = asyncio.ensure_future(events.next())
                # Cancelled at any point between the wait and the answer.
                for _ in range(len(found) % 4):
                    await asyncio.sleep(0)
                waiter.cancel()
                for end in await asyncio.gather(waiter, return_exceptions=True):
                    if isinstance(end, Change):
                        found.append(end.row.id)
                event = await events.next(0.01)
                if isinstance(event, Change):
                    found.append(event.row.id)
            await written
            self.assertEqual(sorted(found), list(range(rows)))
            events.close()
            with self.assertRaises(ValueError):
                await events.next(1)

        self.run_with_client(test)

    async def write(self, client, counted, rows):
        for n in range(rows):
            await client.insert(counted, (n, n))

    def test_closing_ends_whoever_waits(self):
        async def test(client, counted, named):
            events = await client.events([counted, named])
            await self.pass_mark(client, named, events)

            async def read():
                return [event async for event in events if isinstance(event, Change)]

            readers = [asyncio.ensure_future(read()) for _ in range(2)]
            await client.insert_many(counted, [(n, n) for n in range(50)])
            await client.get(counted, 1)
            events.close()
            ends = await asyncio.gather(*readers)
            self.assertEqual(len({change.row.id for end in ends for change in end}), sum(map(len, ends)))

        self.run_with_client(test)

    def test_closing_the_client_ends_streams_with_an_error(self):
        async def test(client, counted, named):
            events = await client.events([counted])

            async def read():
                async for _ in events:
                    pass

            reader = asyncio.ensure_future(read())
            await asyncio.sleep(0)
            await client.close()
            with self.assertRaises(shoal.Error):
                await reader

        self.run_with_client(test)
