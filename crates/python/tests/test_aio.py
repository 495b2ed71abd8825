"""The face for asyncio."""

import asyncio
from decimal import Decimal

import shoal
import shoal.aio
from shoal import column

from .cluster import PATIENCE, ClusterTestCase


class AioTestCase(ClusterTestCase):
    def run_with_client(self, test, **options):
        """Runs a test in an event loop of its own, with a client of its own."""

        async def run():
            async with shoal.aio.connect(self.cluster.address, spin=0, lock_wait_timeout=20, **options) as client:
                tables = await asyncio.get_running_loop().run_in_executor(None, self.known_tables, client)
                await asyncio.wait_for(test(client, *tables), PATIENCE)

        asyncio.run(run())


class Operations(AioTestCase):
    def test_every_operation_is_there_as_in_the_other_face(self):
        async def test(client, accounts, counters):
            number = await client.insert(accounts, {"owner": "Ada", "number": 7})
            row = await client.get(accounts, number)
            self.assertEqual((row.owner, row.balance), ("Ada", Decimal(10)))
            rows = [{"owner": "Bob", "number": n} for n in range(100, 900)]
            await client.insert_many(accounts, rows)
            self.assertEqual((await client.get_unique(accounts, "number", 100)).owner, "Bob")
            found = await client.get_unique_many(accounts, "number", [7, 8])
            self.assertEqual([row and row.number for row in found], [7, None])
            self.assertTrue(await client.update(accounts, number, add={"balance": 5}, only_if=column("balance") > 1))
            await client.put(counters, {"id": 1, "n": 1})
            await client.put_many(counters, [(1, 2), (2, 2), (3, 3)])
            self.assertEqual(await client.update_many(counters, [1, 2, 9], add={"n": 1}), 2)
            self.assertEqual([row.n for row in await client.get_many(counters, [1, 2, 3])], [3, 3, 3])
            self.assertTrue(await client.delete(counters, 1))
            self.assertEqual(await client.delete_many(counters, [1, 2]), 1)
            numbers = [row.number async for row in client.scan(accounts, index="owner", equal="Bob", columns=["number"])]
            self.assertEqual(sorted(numbers), list(range(100, 900)))
            sizes = [len(batch) async for batch in client.scan(accounts).batches()]
            self.assertEqual(sum(sizes), 801)
            top = await client.scan(accounts, index="number", descending=True, limit=2).all()
            self.assertEqual([row.number for row in top], [899, 898])
            scan = client.scan(accounts)
            await scan.__anext__()
            scan.close()
            self.assertEqual(await scan.all(), [])
            self.assertIn("shoal.aio.Client", repr(client))

        self.run_with_client(test)

    def test_faces_have_the_same_operations(self):
        for name in ("Client", "Transaction", "Reader", "Scan", "LinkedRows", "Events"):
            public = [
                {one for one in dir(getattr(face, name)) if not one.startswith("_")} for face in (shoal, shoal.aio)
            ]
            self.assertEqual(*public)

    def test_many_operations_are_under_way_at_a_time(self):
        async def test(client, accounts, counters):
            await client.insert_many(counters, [(n, 0) for n in range(2000)])
            rows = await asyncio.gather(*(client.get(counters, n) for n in range(2000)))
            self.assertEqual([row.id for row in rows], list(range(2000)))
            await asyncio.gather(*(client.update(counters, n % 10, add={"n": 1}) for n in range(1000)))
            self.assertEqual({row.n for row in await client.get_many(counters, range(10))}, {100})

        self.run_with_client(test, workers=2, jobs_max=64)

    def test_one_client_serves_several_event_loops(self):
        async def test(client, accounts, counters):
            await client.insert(counters, (1, 0))

            async def count():
                for _ in range(50):
                    await client.update(counters, 1, add={"n": 1})

            def other_loops():
                asyncio.run(count())
                asyncio.run(count())

            await asyncio.gather(asyncio.get_running_loop().run_in_executor(None, other_loops), count())
            self.assertEqual((await client.get(counters, 1)).n, 150)

        self.run_with_client(test)

    def test_who_finds_no_place_waits_for_it(self):
        async def test(client, accounts, counters):
            holder = await client.begin()
            others = [asyncio.ensure_future(client.get(counters, n)) for n in range(10)]
            done, _ = await asyncio.wait(others, timeout=0.1)
            self.assertEqual(done, set())
            await holder.rollback()
            self.assertEqual(await asyncio.gather(*others), [None] * 10)

        self.run_with_client(test, jobs_max=1)


class Transactions(AioTestCase):
    def test_a_transaction_commits_at_its_end_and_rolls_back_if_something_is_raised(self):
        async def test(client, accounts, counters):
            async with client.begin() as transaction:
                await transaction.insert(counters, (1, 1))
                savepoint = await transaction.savepoint()
                await transaction.insert(counters, (2, 2))
                await transaction.rollback_to(savepoint)
                self.assertEqual([row.id async for row in transaction.scan(counters)], [1])
                self.assertIsNone(await client.get(counters, 1))
            self.assertEqual((await client.get(counters, 1)).n, 1)
            with self.assertRaises(ZeroDivisionError):
                async with client.begin("serializable") as transaction:
                    await transaction.update(counters, 1, add={"n": 1})
                    1 / 0
            self.assertEqual((await client.get(counters, 1)).n, 1)

        self.run_with_client(test)

    def test_operations_of_one_transaction_take_turns(self):
        async def test(client, accounts, counters):
            async with client.begin() as transaction:
                await asyncio.gather(*(transaction.insert(counters, (n, n)) for n in range(200)))
            self.assertEqual(len(await client.scan(counters).all()), 200)

        self.run_with_client(test)

    def test_a_deadlock_ends_one_of_the_two(self):
        async def test(client, accounts, counters):
            await client.insert_many(counters, [(1, 0), (2, 0)])

            async def cross(first, second, mine, others):
                async with client.begin() as transaction:
                    await transaction.update(counters, first, add={"n": 1})
                    mine.set()
                    await others.wait()
                    await transaction.update(counters, second, add={"n": 1})

            one, two = asyncio.Event(), asyncio.Event()
            ends = await asyncio.gather(cross(1, 2, one, two), cross(2, 1, two, one), return_exceptions=True)
            errors = [end for end in ends if end]
            for error in errors:
                if isinstance(error, shoal.TemporaryError):
                    raise error
            self.assertEqual([type(error) for error in errors], [shoal.DeadlockError])
            self.assertTrue(errors[0].rolls_back_transaction)

            async def move(transaction):
                await transaction.update(counters, 1, add={"n": 1})
                return "moved"

            self.assertEqual(await client.transact(move), "moved")
            self.assertEqual([row.n for row in await client.get_many(counters, [1, 2])], [2, 1])

        self.run_with_client(test)


class Cancelling(AioTestCase):
    def test_a_write_that_waits_for_a_lock_is_never_done_once_it_is_cancelled(self):
        async def test(client, accounts, counters):
            await client.insert(counters, (1, 0))
            async with client.begin() as holder:
                await holder.for_update().get(counters, 1)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.update(counters, 1, add={"n": 100}), 0.1)
            # Who waits for the lock next comes after all who waited before.
            await client.update(counters, 1, add={"n": 1})
            self.assertEqual((await client.get(counters, 1)).n, 1)

        self.run_with_client(test)

    def test_cancelling_an_operation_ends_its_transaction_and_frees_its_locks_at_once(self):
        async def test(client, accounts, counters):
            await client.insert_many(counters, [(1, 0), (2, 0)])
            async with client.begin() as holder:
                await holder.for_update().get(counters, 1)
                waiter = await client.begin()
                await waiter.update(counters, 2, add={"n": 100})
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(waiter.for_update().get(counters, 1), 0.1)
                # Far sooner than the wait for the lock would have ended.
                await asyncio.wait_for(client.update(counters, 2, add={"n": 1}), 10)
                with self.assertRaises(shoal.Error) as caught:
                    await waiter.get(counters, 1)
                self.assertTrue(caught.exception.rolls_back_transaction)
                with self.assertRaises(shoal.Error):
                    await waiter.commit()
            self.assertEqual((await client.get(counters, 2)).n, 1)

        self.run_with_client(test)

    def test_who_is_cancelled_while_he_waits_for_a_place_has_done_nothing(self):
        async def test(client, accounts, counters):
            holder = await client.begin()
            tasks = [asyncio.ensure_future(client.insert(counters, (n, n))) for n in range(5)]
            await asyncio.wait(tasks, timeout=0.05)
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            self.assertEqual({type(end) for end in ends}, {asyncio.CancelledError})
            await holder.rollback()
            self.assertEqual(await client.scan(counters).all(), [])

        self.run_with_client(test, jobs_max=1)

    def test_a_program_that_leaves_in_the_middle_of_everything_ends(self):
        async def test(client, accounts, counters):
            await client.insert(counters, (1, 0))
            holder = await client.begin()
            await holder.for_update().get(counters, 1)
            self.left_alone = [asyncio.ensure_future(client.update(counters, 1, add={"n": 1})) for _ in range(3)]
            await asyncio.sleep(0)

        self.run_with_client(test)
