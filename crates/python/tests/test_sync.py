"""The face for threads."""

import datetime
import pickle
import threading
from decimal import Decimal

import shoal
from shoal import column

from .cluster import ClusterTestCase, wait_until


class SyncTestCase(ClusterTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = shoal.connect(cls.cluster.address, lock_wait_timeout=20, spin=0)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        super().setUp()
        self.accounts, self.counters = self.known_tables(self.client)[:2]

    def add_accounts(self, count):
        rows = [{"id": n, "owner": "Ada" if n % 2 else "Bob", "number": n * 10} for n in range(1, count + 1)]
        return self.client.insert_many(self.accounts, rows)


class Operations(SyncTestCase):
    def test_a_row_is_inserted_read_changed_and_deleted(self):
        number = self.client.insert(self.accounts, {"owner": "Ada", "number": 7, "note": "née"})
        row = self.client.get(self.accounts, number)
        self.assertEqual(dict(row), dict(id=number, owner="Ada", number=7, balance=Decimal("10.00"), note="née"))
        self.assertTrue(self.client.update(self.accounts, number, set={"note": None}, add={"balance": Decimal("0.5")}))
        self.assertEqual(self.client.get(self.accounts, number)[3:], (Decimal("10.50"), None))
        self.assertEqual(self.sql("SELECT owner, balance FROM accounts"), [["Ada", "10.50"]])
        self.assertTrue(self.client.delete(self.accounts, number))
        self.assertFalse(self.client.delete(self.accounts, number))
        self.assertFalse(self.client.update(self.accounts, number, set={"note": ""}))
        self.assertIsNone(self.client.get(self.accounts, number))

    def test_batches_keep_the_order_of_their_keys(self):
        self.add_accounts(300)
        found = self.client.get_many(self.accounts, [3, 999, 1, 3])
        self.assertEqual([row and row.id for row in found], [3, None, 1, 3])
        found = self.client.get_unique_many(self.accounts, "number", [20, 21, 10])
        self.assertEqual([row and row.id for row in found], [2, None, 1])
        self.assertEqual(self.client.get_unique(self.accounts, "number", 30).id, 3)
        self.assertIsNone(self.client.get_unique(self.accounts, "number", 31))
        self.assertEqual(self.client.update_many(self.accounts, range(1, 500), add={"balance": 1}), 300)
        self.assertEqual(self.client.delete_many(self.accounts, [(1,), [2], 3, 1000]), 3)
        self.assertEqual(self.sql("SELECT COUNT(*), SUM(balance) FROM accounts"), [["297", "3267.00"]])

    def test_rows_are_changed_and_deleted_by_keys_of_unique_indexes(self):
        self.add_accounts(4)
        self.assertTrue(self.client.update(self.accounts, 20, add={"balance": 5}, index="number"))
        self.assertFalse(self.client.update(self.accounts, 2, add={"balance": 5}, index="number"))
        self.assertEqual(self.client.update_many(self.accounts, [20, 30, 7], add={"balance": 1}, index="number"), 2)
        with self.client.begin() as transaction:
            self.assertTrue(transaction.delete(self.accounts, 10, index="number"))
            self.assertEqual(transaction.delete_many(self.accounts, [10, 40], index="number"), 1)
        self.assertEqual(self.sql("SELECT id, balance FROM accounts ORDER BY id"), [["2", "16.00"], ["3", "11.00"]])

    def test_put_inserts_or_replaces(self):
        self.client.put(self.counters, {"id": 1, "n": 1})
        self.client.put_many(self.counters, [(1, 10), (2, 20)])
        self.assertEqual(self.sql("SELECT * FROM counters ORDER BY id"), [["1", "10"], ["2", "20"]])

    def test_rows_may_be_sequences_or_rows_that_were_read(self):
        self.client.insert(self.accounts, ["Cid", 5], columns=["owner", "number"])
        row = self.client.get_unique(self.accounts, "number", 5)
        self.client.put(self.accounts, row)
        self.assertEqual(self.client.get(self.accounts, row.id), row)
        with self.assertRaisesRegex(ValueError, "row 2 has not the columns id, n"):
            self.client.insert_many(self.counters, [{"id": 1, "n": 1}, {"id": 2}])
        with self.assertRaises(TypeError):
            self.client.insert_many(self.counters, ["12"])

    def test_an_update_depends_on_the_row_and_counts_where_it_lies(self):
        self.client.insert_many(self.counters, [(1, 5), (2, 50)])
        counted = self.client.update_many(self.counters, [1, 2], add={"n": -10}, only_if=column("n") >= 10)
        self.assertEqual(counted, 1)
        self.assertFalse(self.client.update(self.counters, 1, add={"n": 1}, only_if=column("n") > 5))
        self.assertEqual(self.sql("SELECT n FROM counters ORDER BY id"), [["5"], ["40"]])

    def test_conditions_are_combined(self):
        self.client.insert_many(self.counters, [(n, n % 10) for n in range(100)])
        n, number = column("n"), column("id")

        def count(condition):
            return len(self.client.scan(self.counters, filter=condition).all())

        self.assertEqual(count((n == 3) | (n == 4)), 20)
        self.assertEqual(count((n != 3) & ~(number < 50)), 45)
        self.assertEqual(count(n.is_in([1, 2, 3])), 30)
        self.assertEqual(count((n <= 3) & (number > 95) & (number >= 0)), 0)
        self.assertEqual((count(n == None), count(n.is_not_null())), (0, 100))  # noqa: E711
        with self.assertRaisesRegex(TypeError, "joined by"):
            count((n == 3) and (n == 4))
        with self.assertRaises(TypeError):
            n < None

    def test_scans_follow_indexes_with_bounds_orders_and_limits(self):
        self.add_accounts(700)

        def ids(**options):
            return [row.id for row in self.client.scan(self.accounts, columns=["id"], **options)]

        self.assertEqual(len(ids()), 700)
        self.assertEqual(len(ids(index="owner", equal="Ada")), 350)
        self.assertEqual(ids(index="number", from_=20, before=50, ordered=True), [2, 3, 4])
        self.assertEqual(ids(index="number", after=20, up_to=50, ordered=True), [3, 4, 5])
        self.assertEqual(ids(index="number", up_to=30, descending=True), [3, 2, 1])
        self.assertEqual(ids(index="PRIMARY", descending=True, limit=2), [700, 699])
        self.assertEqual(ids(index="owner", equal=("Bob",), limit=0), [])
        with self.assertRaises(shoal.Error) as caught:
            ids(index="nothing")
        self.assertEqual(caught.exception.errno, 1176)

    def test_a_scan_comes_row_by_row_in_batches_or_at_once(self):
        self.add_accounts(1500)
        scan = self.client.scan(self.accounts)
        self.assertEqual(len([next(scan), *scan]), 1500)
        self.assertEqual(list(scan), [])
        batches = list(self.client.scan(self.accounts).batches())
        self.assertGreater(len(batches), 1)
        self.assertEqual(sum(map(len, batches)), 1500)
        self.assertEqual(len(self.client.scan(self.accounts, columns=["id"]).all()[0]), 1)
        scan = self.client.scan(self.accounts)
        next(scan)
        scan.close()
        self.assertEqual(scan.all(), [])

    def test_rows_are_mappings_and_tuples(self):
        self.client.insert(self.counters, (3, 4))
        row = self.client.get(self.counters, 3)
        number, n = row
        self.assertEqual((number, n, row["N"], row.id, row[-1], len(row)), (3, 4, 4, 3, 4, 2))
        self.assertEqual((row.keys(), row.values(), row.items()), (["id", "n"], (3, 4), [("id", 3), ("n", 4)]))
        self.assertEqual((row.get("n"), row.get("no"), row.get("no", 1)), (4, None, 1))
        self.assertEqual(row, (3, 4))
        self.assertEqual(row, {"id": 3, "n": 4})
        self.assertNotEqual(row, (3, 5))
        self.assertEqual({row: 1}[(3, 4)], 1)
        self.assertEqual(repr(row), "Row(id=3, n=4)")
        self.assertEqual(pickle.loads(pickle.dumps(row)), {"id": 3, "n": 4})
        for wrong, error in (("no", KeyError), (2, IndexError), (-3, IndexError), (None, TypeError)):
            with self.assertRaises(error):
                row[wrong]
        with self.assertRaises(AttributeError):
            row.no

    def test_what_is_shown_in_a_notebook_says_what_it_is(self):
        self.assertEqual(repr(self.counters), "<shoal.Table test_sync_Operations.counters (id, n)>")
        self.assertEqual(self.counters.columns, ["id", "n"])
        self.assertIn(self.cluster.address, repr(self.client))
        self.assertIn("primary key", shoal.Client.get.__doc__)


class Values(SyncTestCase):
    tables = {
        **SyncTestCase.tables,
        "every": """(id INT NOT NULL PRIMARY KEY, tiny TINYINT, big BIGINT UNSIGNED, four FLOAT, eight DOUBLE,
            exact DECIMAL(30,5), words VARCHAR(100), latin VARCHAR(20) CHARACTER SET latin1, bytes VARBINARY(100), data BLOB,
            day DATE, at DATETIME(6), stamp TIMESTAMP(6) NULL, span TIME(6), annum YEAR, bits BIT(10),
            choice ENUM('a','ö'), several SET('x','y','z'), doc JSON)""",
        "pairs": "(a INT NOT NULL, b VARCHAR(10) NOT NULL, PRIMARY KEY (a, b))",
    }

    def setUp(self):
        super().setUp()
        self.every, self.pairs = self.known_tables(self.client)[2:]

    def test_every_type_comes_back_as_it_went(self):
        values = dict(
            id=1,
            tiny=-128,
            big=2**64 - 1,
            four=0.1,
            eight=1e-300,
            exact=Decimal("1234567890123456789012345.54321"),
            words="naïve 🐟",
            latin="naïve",
            bytes=b"\x00\xff",
            data=bytes(range(256)) * 200,
            day=datetime.date(2024, 2, 29),
            at=datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
            stamp=datetime.datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=datetime.timezone.utc),
            span=-datetime.timedelta(hours=838, microseconds=1),
            annum=2024,
            bits=1023,
            choice="ö",
            several="x,z",
            doc='{"a": [1, null]}',
        )
        self.client.insert(self.every, values)
        row = self.client.get(self.every, 1)
        self.assertEqual(row.as_dict(), values)
        self.assertEqual({name: type(value) for name, value in row.items()}, {k: type(v) for k, v in values.items()})
        shown = self.sql("SELECT words, latin, HEX(bytes), day, at, span, choice, four FROM every")[0]
        wanted = ["naïve 🐟", "naïve", "00FF", "2024-02-29", "9999-12-31 23:59:59.999999", "-838:00:00.000001", "ö", "0.1"]
        self.assertEqual(shown, wanted)
        nothing = dict.fromkeys(values) | {"id": 2}
        self.client.insert(self.every, nothing)
        self.assertEqual(dict(self.client.get(self.every, 2)), nothing)

    def test_other_types_are_taken_as_what_they_are(self):
        class Number:
            def __index__(self):
                return 5

        class Real:
            def __float__(self):
                return 0.5

        zone = datetime.timezone(datetime.timedelta(hours=2))
        given = dict(
            id=Number(),
            tiny=True,
            eight=Real(),
            exact=Decimal("1E+3"),
            bytes=bytearray(b"b"),
            data=memoryview(b"m"),
            stamp=datetime.datetime(2024, 1, 1, 2, tzinfo=zone),
            span=datetime.time(1, 2, 3),
            words=12,
        )
        self.client.insert(self.every, given)
        row = self.client.get(self.every, 5)
        found = [row[name] for name in ("tiny", "eight", "exact", "bytes", "data", "span", "words")]
        span = datetime.timedelta(hours=1, minutes=2, seconds=3)
        self.assertEqual(found, [1, 0.5, Decimal(1000), b"b", b"m", span, "12"])
        self.assertEqual(row.stamp, datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc))

    def test_values_that_fit_nowhere_are_refused(self):
        for value, error in (
            (2**64, OverflowError),
            (float("nan"), ValueError),
            (Decimal("Infinity"), OverflowError),
            (Decimal(10) ** 80, OverflowError),
            (datetime.timedelta(days=40), OverflowError),
            (object(), TypeError),
            ("\ud800", UnicodeEncodeError),
            ({"a": 1}, TypeError),
        ):
            with self.assertRaises(error, msg=repr(value)):
                self.client.insert(self.every, {"id": 9, "words": value})
        for name, value, errno in (("tiny", 128, 1264), ("words", "x" * 101, 1406), ("day", "no date", 1292), ("id", None, 1048)):
            with self.assertRaises(shoal.Error) as caught:
                self.client.insert(self.every, {"id": 9, name: value} if name != "id" else {"id": None})
            self.assertEqual(caught.exception.errno, errno, name)

    def test_dates_that_python_does_not_have_are_texts(self):
        self.sql("SET sql_mode=''; INSERT INTO every (id, day, at) VALUES (1, '0000-00-00', '2024-00-10 01:02:03')")
        row = self.client.get(self.every, 1)
        self.assertEqual((row.day, row.at), ("0000-00-00", "2024-00-10 01:02:03.000000"))

    def test_keys_of_several_columns_are_tuples(self):
        self.client.insert_many(self.pairs, [(1, "x"), (1, "y"), (2, "x")])
        self.assertEqual(self.client.get(self.pairs, (1, "y")), (1, "y"))
        self.assertEqual(len(self.client.scan(self.pairs, index="PRIMARY", equal=1).all()), 2)
        self.assertEqual(self.client.delete_many(self.pairs, [(1, "x"), ["2", "x"]]), 2)
        with self.assertRaises(shoal.Error) as caught:
            self.client.get(self.pairs, 1)
        self.assertEqual(caught.exception.errno, 1058)


class Transactions(SyncTestCase):
    def test_a_transaction_commits_at_its_end_and_rolls_back_if_something_is_raised(self):
        with self.client.begin() as transaction:
            transaction.insert(self.counters, (1, 1))
            self.assertEqual(transaction.get(self.counters, 1).n, 1)
            self.assertIsNone(self.client.get(self.counters, 1))
        self.assertEqual(self.client.get(self.counters, 1).n, 1)
        with self.assertRaises(ZeroDivisionError), self.client.begin() as transaction:
            transaction.update(self.counters, 1, set={"n": 2})
            1 / 0
        self.assertEqual(self.client.get(self.counters, 1).n, 1)
        with self.client.begin() as transaction:
            transaction.update(self.counters, 1, set={"n": 3})
            transaction.rollback()
        self.assertEqual(self.client.get(self.counters, 1).n, 1)
        with self.assertRaisesRegex(shoal.Error, "over"):
            transaction.get(self.counters, 1)

    def test_an_operation_that_fails_leaves_the_transaction_as_it_was(self):
        self.client.insert(self.counters, (1, 1))
        with self.client.begin() as transaction:
            transaction.insert(self.counters, (2, 2))
            with self.assertRaises(shoal.DuplicateKeyError) as caught:
                transaction.insert_many(self.counters, [(3, 3), (1, 0)])
            self.assertFalse(caught.exception.rolls_back_transaction)
        self.assertEqual(self.sql("SELECT GROUP_CONCAT(id ORDER BY id) FROM counters"), [["1,2"]])

    def test_savepoints_take_writes_back(self):
        with self.client.begin() as transaction:
            transaction.insert(self.counters, (1, 1))
            savepoint = transaction.savepoint()
            transaction.insert(self.counters, (2, 2))
            transaction.rollback_to(savepoint)
        self.assertEqual(self.sql("SELECT id FROM counters"), [["1"]])

    def test_a_snapshot_does_not_change(self):
        self.client.insert(self.counters, (1, 1))
        with self.client.begin("repeatable read") as snapshot, self.client.begin() as newest:
            self.assertEqual(snapshot.get(self.counters, 1).n, 1)
            self.client.update(self.counters, 1, set={"n": 2})
            self.assertEqual(snapshot.get(self.counters, 1).n, 1)
            self.assertEqual(newest.get(self.counters, 1).n, 2)
        with self.assertRaisesRegex(ValueError, "isolation"):
            self.client.begin("chaos")

    def test_a_scan_goes_on_while_its_rows_are_changed(self):
        self.add_accounts(1000)
        with self.client.begin() as transaction:
            for row in transaction.scan(self.accounts, index="owner", equal="Ada"):
                transaction.update(self.accounts, row.id, add={"balance": 1})
        self.assertEqual(self.sql("SELECT SUM(balance) FROM accounts"), [["10500.00"]])

    def test_rows_are_locked_as_wanted(self):
        self.client.insert_many(self.counters, [(1, 1), (2, 2)])
        with self.client.begin() as holder, self.client.begin() as other:
            self.assertEqual(holder.for_update().get(self.counters, 1).n, 1)
            self.assertEqual(other.get(self.counters, 1).n, 1)
            with self.assertRaises(shoal.LockTimeoutError) as caught:
                other.for_share("nowait").get(self.counters, 1)
            self.assertEqual(caught.exception.errno, 3572)
            rows = other.for_update("skip locked").scan(self.counters).all()
            self.assertEqual([row.id for row in rows], [2])
            with self.assertRaises(ValueError):
                other.for_update("maybe").get(self.counters, 1)

    def test_a_deadlock_ends_one_of_the_two(self):
        self.client.insert_many(self.counters, [(1, 0), (2, 0)])
        ends, both_hold = [], threading.Barrier(2)

        def cross(first, second):
            try:
                with self.client.begin() as transaction:
                    transaction.update(self.counters, first, add={"n": 1})
                    both_hold.wait(30)
                    transaction.update(self.counters, second, add={"n": 1})
                ends.append(None)
            except shoal.Error as error:
                ends.append(error)

        threads = [threading.Thread(target=cross, args=keys) for keys in ((1, 2), (2, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors = [end for end in ends if end]
        for error in errors:
            if isinstance(error, shoal.TemporaryError):
                raise error
        self.assertEqual(len(errors), 1)
        self.assertIsInstance(errors[0], shoal.DeadlockError)
        self.assertEqual((errors[0].rolls_back_transaction, errors[0].outcome), (True, "not committed"))
        self.assertEqual(self.sql("SELECT n FROM counters"), [["1"], ["1"]])

    def test_transact_begins_again_until_the_transaction_is_through(self):
        self.client.insert_many(self.counters, [(n, 0) for n in range(4)])

        def move(transaction, keys):
            for key in keys:
                transaction.update(self.counters, key, add={"n": 1})

        def worker(keys):
            for _ in range(20):
                self.client.transact(lambda transaction: move(transaction, keys), attempts=1000)

        threads = [threading.Thread(target=worker, args=(keys,)) for keys in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.sql("SELECT n FROM counters"), [["60"]] * 4)
        with self.assertRaises(ZeroDivisionError):
            self.client.transact(lambda transaction: 1 / 0)


class Errors(SyncTestCase):
    def test_errors_have_mysqls_numbers_and_say_what_became_of_the_work(self):
        self.client.insert(self.counters, (1, 1))
        with self.assertRaises(shoal.DuplicateKeyError) as caught:
            self.client.insert(self.counters, (1, 2))
        error = caught.exception
        self.assertEqual((error.errno, error.sqlstate, error.outcome), (1062, "23000", "not committed"))
        self.assertIn("Duplicate entry '1' for key 'counters.PRIMARY'", error.message)
        self.assertIn("ERROR 1062 (23000)", str(error))
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(copy), copy.args), (type(error), error.args))
        for call, errno in (
            (lambda: self.client.table(self.database, "nothing"), 1146),
            (lambda: self.client.get(self.counters, "x"), 1366),
            (lambda: self.client.update(self.counters, 1, set={"no": 1}), 1054),
            (lambda: self.client.update(self.counters, 1), 1210),
            (lambda: self.client.get_unique(self.accounts, "owner", "x"), 1210),
        ):
            with self.assertRaises(shoal.Error) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno, str(caught.exception))

    def test_where_nobody_listens_connecting_ends_with_an_error_that_names_the_address(self):
        with self.assertRaisesRegex(shoal.TemporaryError, "127.0.0.1:1"):
            shoal.connect("127.0.0.1:1")
        with self.assertRaisesRegex(ValueError, "transporter"):
            shoal.connect(self.cluster.address, transporter="pigeon")

    def test_a_closed_client_says_so(self):
        with shoal.connect(self.cluster.address, jobs_max=1, spin=0) as client:
            transaction = client.begin()
            counters = client.table(self.database, "counters")
        self.assertTrue(client.is_closed)
        self.assertIn("closed", repr(client))
        for call in (lambda: client.get(counters, 1), lambda: client.table("a", "b"), lambda: transaction.get(counters, 1)):
            with self.assertRaises(shoal.Error):
                call()
        client.close()

    def test_a_place_is_free_again_when_a_client_is_closed(self):
        for _ in range(8):
            with shoal.connect(self.cluster.address, spin=0, transporter="tcp") as client:
                wait_until("the table", lambda client=client: client.table(self.database, "counters"))
