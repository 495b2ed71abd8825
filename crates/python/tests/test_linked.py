"""Linked operations, in both faces."""

import shoal
import shoal.aio
from shoal import Linked, column, link

from .test_aio import AioTestCase
from .test_sync import SyncTestCase

TABLES = {
    "orders": "(id INT NOT NULL PRIMARY KEY, day INT NOT NULL, customer INT, KEY day (day))",
    "customers": "(id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, UNIQUE KEY name (name))",
    "positions": "(buyer INT NOT NULL, number INT NOT NULL, what VARCHAR(20), quantity INT, PRIMARY KEY (buyer, number))",
}
ROWS = """INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob');
    INSERT INTO orders VALUES (10, 7, 1), (11, 7, 2), (12, 7, NULL), (13, 8, 1), (14, 7, 9);
    INSERT INTO positions VALUES (10, 1, 'Ada', 5), (10, 2, 'Bob', 50), (11, 1, 'none', 5), (13, 1, 'Bob', 1);"""


def shown(tuples):
    return sorted([tuple(row) if row is not None else None for row in one] for one in tuples)


class InThreads(SyncTestCase):
    tables = TABLES

    def setUp(self):
        super(SyncTestCase, self).setUp()
        self.orders, self.customers, self.positions = self.known_tables(self.client)
        self.sql(ROWS)

    def test_rows_lead_to_rows(self):
        linked = Linked.scan(self.orders, index="day", equal=7, columns=["id", "customer"])
        linked = linked.then_get(self.customers, link("customer"), columns=["name"])
        linked = linked.then_scan(self.positions, "PRIMARY", link("id", 0), filter=column("quantity") < 10, columns=["what"])
        wanted = [[(10, 1), ("Ada",), ("Ada",)], [(11, 2), ("Bob",), ("none",)]]
        self.assertEqual(shown(self.client.linked(linked)), wanted)
        self.assertEqual(shown(self.client.linked(linked).all()), wanted)
        names = {(order.id, customer.name) for order, customer, _ in self.client.linked(linked)}
        self.assertEqual(names, {(10, "Ada"), (11, "Bob")})

    def test_a_left_operation_that_finds_nothing_shows_none(self):
        linked = Linked.scan(self.orders, index="day", equal=7, filter=column("id") != 11, columns=["id", "customer"])
        linked = linked.then_get(self.customers, link("customer"), left=True)
        wanted = [[(10, 1), (1, "Ada")], [(12, None), None], [(14, 9), None]]
        found = sorted(self.client.linked(linked).all(), key=lambda pair: pair[0].id)
        self.assertEqual([[tuple(row) if row is not None else None for row in pair] for pair in found], wanted)
        after_none = linked.then_scan(self.positions, "PRIMARY", (link("id"), 1), left=True)
        self.assertEqual([rows[2] for rows in self.client.linked(after_none) if rows[1] is None], [None, None])

    def test_it_begins_with_a_key_and_goes_on_by_unique_keys(self):
        first = Linked.get(self.orders, 10).then_scan(self.positions, "PRIMARY", link("id"), columns=["what"])
        linked = first.then_get_unique(self.customers, "name", link("what"))
        self.assertEqual(sorted(rows[2].id for rows in self.client.linked(linked)), [1, 2])
        # What was linked to is as it was.
        self.assertEqual({len(rows) for rows in self.client.linked(first)}, {2})
        self.assertEqual(self.client.linked(Linked.get(self.orders, 99)).all(), [])
        self.assertEqual(self.client.linked(Linked.get(self.orders, 10, filter=column("day") == 9)).all(), [])
        by_name = Linked.get_unique(self.customers, "name", "Ada", columns=["id"])
        both = self.client.linked(by_name.then_get(self.orders, 13)).all()
        self.assertEqual(shown(both), [[(1,), (13, 8, 1)]])
        part = Linked.get(self.orders, 10).then_get(self.positions, [link("id"), 2], columns=["quantity"])
        self.assertEqual(self.client.linked(part).all()[0][1].quantity, 50)

    def test_they_come_in_batches(self):
        rows = [(n, 20, n % 2 + 1) for n in range(1000, 2500)]
        self.client.insert_many(self.orders, rows)
        linked = Linked.scan(self.orders, index="day", equal=20).then_get(self.customers, link("customer"))
        batches = list(self.client.linked(linked).batches())
        self.assertGreater(len(batches), 1)
        self.assertEqual(sum(map(len, batches)), 1500)
        started = self.client.linked(linked)
        self.assertEqual(len([next(started), *started]), 1500)
        closed = self.client.linked(linked)
        next(closed)
        closed.close()
        self.assertEqual(closed.all(), [])

    def test_a_transaction_sees_its_own_rows_and_locks_what_it_reads(self):
        linked = Linked.get(self.orders, 13).then_get(self.customers, link("customer"))
        with self.client.begin() as transaction:
            transaction.update(self.customers, 1, set={"name": "Eve"})
            self.assertEqual(transaction.linked(linked).all()[0][1].name, "Eve")
            self.assertEqual([rows[1].name for rows in transaction.linked(linked)], ["Eve"])
            self.assertEqual(self.client.linked(linked).all()[0][1].name, "Ada")
        with self.client.begin() as transaction:
            self.assertEqual(len(transaction.for_update().linked(linked).all()), 1)
            with self.client.begin() as other, self.assertRaises(shoal.LockTimeoutError):
                other.for_update(wait="nowait").get(self.customers, 1)

    def test_what_cannot_be_linked_is_an_error(self):
        linked = Linked.scan(self.orders)
        for wrong, errno in (
            (linked.then_get(self.customers, link("nothing")), 1054),
            (linked.then_get(self.customers, link("id", 1)), 1210),
            (linked.then_get(self.customers, (link("id"), 1)), 1058),
            (linked.then_scan(self.customers, "nothing", 1), 1176),
            (linked.then_get_unique(self.orders, "day", link("day")), 1210),
        ):
            with self.assertRaises(shoal.Error) as caught:
                self.client.linked(wrong).all()
            self.assertEqual(caught.exception.errno, errno, caught.exception)
        with self.assertRaises(TypeError):
            linked.then_get(self.customers, object())
        self.assertEqual((repr(link("id")), repr(link("id", 0))), ('link("id")', 'link("id", 0)'))
        self.assertIn("3 operations", repr(linked.then_get(self.customers, 1).then_get(self.customers, 1)))


class WithAsyncio(AioTestCase):
    tables = TABLES

    def setUp(self):
        super().setUp()
        self.sql(ROWS)

    def test_rows_lead_to_rows(self):
        async def test(client, orders, customers, positions):
            linked = Linked.scan(orders, index="day", equal=7, columns=["id", "customer"])
            linked = linked.then_get(customers, link("customer"), left=True)
            linked = linked.then_scan(positions, "PRIMARY", link("id", 0), filter=column("quantity") > 10)
            tuples = [rows async for rows in client.linked(linked)]
            self.assertEqual([(order.id, who.name, what.quantity) for order, who, what in tuples], [(10, "Ada", 50)])
            self.assertEqual(len(await client.linked(linked).all()), 1)
            self.assertEqual([len(batch) async for batch in client.linked(linked).batches()], [1])
            rows = client.linked(Linked.scan(orders))
            await rows.__anext__()
            rows.close()
            self.assertEqual(await rows.all(), [])
            with self.assertRaises(shoal.Error):
                await client.linked(linked.then_get(customers, link("nothing"))).all()

        self.run_with_client(test)

    def test_a_transaction_sees_its_own_rows_and_locks_what_it_reads(self):
        async def test(client, orders, customers, positions):
            linked = Linked.get_unique(customers, "name", "Ada").then_get(orders, 13)
            async with client.begin() as transaction:
                await transaction.update(orders, 13, set={"day": 9})
                self.assertEqual([rows[1].day async for rows in transaction.linked(linked)], [9])
                self.assertEqual((await client.linked(linked).all())[0][1].day, 8)
                self.assertEqual(len(await transaction.for_share().linked(linked).all()), 1)
                async with client.begin() as other:
                    with self.assertRaises(shoal.LockTimeoutError):
                        await other.for_update(wait="nowait").get(customers, 1)

        self.run_with_client(test)
