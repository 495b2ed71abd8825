"""Long values in pieces, in both faces."""

import asyncio

import shoal
import shoal.aio

from .cluster import PATIENCE, ClusterTestCase

FILES = "(id INT NOT NULL PRIMARY KEY, data LONGBLOB, note TEXT CHARACTER SET utf8mb4, tiny TINYBLOB)"
DATA = bytes(range(251)) * 5000


class Blobs(ClusterTestCase):
    tables = {"files": FILES}

    def test_values_are_streamed_and_a_reader_has_one_version(self):
        with shoal.connect(self.cluster.address, lock_wait_timeout=20, spin=0) as client:
            (files,) = self.known_tables(client)
            client.insert(files, {"id": 1})
            with client.write_blob(files, 1, "data") as blob:
                for start in range(0, len(DATA), 65536):
                    blob.append(DATA[start : start + 65536])
            with client.read_blob(files, 1, "data") as blob:
                self.assertEqual(blob.length(), len(DATA))
                pieces = []
                for piece in blob:
                    pieces.append(piece)
                    client.update(files, 1, set={"data": b"other"})
                self.assertGreater(len(pieces), 3)
                self.assertEqual(b"".join(pieces), DATA)
                blob.seek(251 * 4999)
                self.assertEqual(blob.read(), DATA[:251])
                self.assertEqual((blob.read(), blob.tell()), (b"", len(DATA)))
            with self.assertRaises(ZeroDivisionError):
                with client.write_blob(files, 1, "data") as blob:
                    blob.append(b"half")
                    raise ZeroDivisionError
            self.assertEqual(client.get(files, 1).data, b"other")
            with client.read_blob(files, 2, "data") as nothing:
                self.assertIsNone(nothing)
            with client.write_blob(files, 2, "data") as nothing:
                self.assertIsNone(nothing)

    def test_a_transaction_changes_parts_of_a_value(self):
        with shoal.connect(self.cluster.address, lock_wait_timeout=20, spin=0) as client:
            (files,) = self.known_tables(client)
            client.insert(files, {"id": 1, "note": "Grüße"})
            with client.begin() as transaction:
                blob = transaction.blob(files, 1, "data", lock="exclusive")
                self.assertEqual((blob.length(), blob.read(), blob.read_at(0, 9)), (None, b"", None))
                blob.write_at(2, b"cd")
                savepoint = transaction.savepoint()
                blob.append(b"ef")
                transaction.rollback_to(savepoint)
                blob.append(b"gh")
                blob.truncate(5)
                self.assertEqual(blob.read_at(0, 99), b"\0\0cdg")
                note = transaction.blob(files, 1, "note", lock="exclusive")
                note.truncate(3)
                note.append(b"\xbcn")
                tiny = transaction.blob(files, 1, "tiny")
                with self.assertRaises(shoal.Error) as caught:
                    tiny.append(b"x" * 256)
                self.assertEqual(caught.exception.errno, 1406)
                self.assertIsNone(transaction.blob(files, 2, "data"))
            self.assertEqual(client.get(files, 1).as_tuple(), (1, b"\0\0cdg", "Grün", None))
            with self.assertRaises(shoal.Error) as caught:
                with client.begin() as transaction:
                    transaction.blob(files, 1, "note").write_at(2, b"x")
            self.assertEqual((caught.exception.errno, caught.exception.outcome), (1366, "not committed"))
            with client.begin() as transaction:
                transaction.blob(files, 1, "data").set_null()
            self.assertIsNone(client.get(files, 1).data)

    def test_asyncio_has_the_same(self):
        async def run():
            async with shoal.aio.connect(self.cluster.address, spin=0, lock_wait_timeout=20) as client:
                (files,) = await asyncio.get_running_loop().run_in_executor(None, self.known_tables, client)
                await client.insert(files, {"id": 1})
                async with client.write_blob(files, 1, "data") as blob:
                    await blob.append(DATA)
                async with client.read_blob(files, 1, "data") as blob:
                    self.assertEqual(b"".join([piece async for piece in blob]), DATA)
                async with client.begin() as transaction:
                    blob = await transaction.blob(files, 1, "data", lock="exclusive")
                    await blob.truncate(3)
                    await blob.write_at(5, b"end")
                    self.assertEqual((await blob.length(), await blob.read(4)), (8, DATA[:3] + b"\0"))
                    await blob.clear()
                    await blob.append(b"anew")
                self.assertEqual((await client.get(files, 1)).data, b"anew")
                async with client.read_blob(files, 2, "data") as nothing:
                    self.assertIsNone(nothing)

        asyncio.run(asyncio.wait_for(run(), PATIENCE))
