"""The face for threads: every operation waits for its end, and lets go of the interpreter meanwhile."""

from __future__ import annotations

import contextlib
import datetime
import random
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Generic, Iterable, Iterator, List, Mapping, Optional, Type, TypeVar, Union, cast

from . import _shoal
from ._errors import Error
from ._shoal import Filter, Linked, Row, Savepoint, Table
from ._types import Event, GivenRow, Isolation, Key, LinkedRow, Lock, Transporter, Value, Wait

T = TypeVar("T")
CLOSED_EVENTS = "these events are closed"
# What a piece of a blob has, if nobody says otherwise.
PIECE_BYTES = 256 << 10
_Core = Union[_shoal.ClientCore, _shoal.TransactionCore]


def connect(
    addresses: str,
    *,
    workers: int = 1,
    jobs_max: int = 256,
    lock_wait_timeout: float = 50.0,
    connect_timeout: float = 10.0,
    spin: float = 0.0002,
    transporter: Transporter = "shm",
    tls_search_path: Optional[str] = None,
) -> Client:
    """Joins the cluster that these management or data nodes ("HOST:PORT", separated by commas) belong to.

    workers: threads of the client. jobs_max: operations and transactions that each of them runs at a time; as many more wait in a queue, and
    who comes then waits himself. lock_wait_timeout: seconds that an operation waits for a row's lock. spin: seconds for which a thread looks
    for an answer before it sleeps; 0 for programs that have better uses for a core. transporter: the best way to nodes of the same host.
    tls_search_path: the directory with client-cert.pem, client-key.pem and ca.pem, for a cluster that requires TLS.

    Raises TemporaryError (1297) if nobody answers in time, Error 1203 if the cluster has no free place for a client.
    """
    operation = connecting(
        addresses, workers, jobs_max, lock_wait_timeout, connect_timeout, spin, transporter, tls_search_path
    )
    return Client(operation.wait(), addresses)


def connecting(
    addresses: str,
    workers: int,
    jobs_max: int,
    lock_wait_timeout: float,
    connect_timeout: float,
    spin: float,
    transporter: Transporter,
    tls_search_path: Optional[str],
) -> _shoal.Operation:
    def seconds(value: float) -> datetime.timedelta:
        return datetime.timedelta(seconds=value)

    return _shoal.connect(
        addresses,
        workers,
        jobs_max,
        seconds(lock_wait_timeout),
        seconds(connect_timeout),
        seconds(spin),
        transporter,
        tls_search_path,
    )


class _Walk(Generic[T]):
    """What comes batch by batch. It begins with the first row that is asked for."""

    def __init__(self, core: _Core, plan: _shoal.Plan) -> None:
        self._core = core
        self._plan = plan
        self._cursor: Optional[_shoal.Cursor] = None
        self._rows: Iterator[T] = iter(())

    def _next_batch(self) -> List[T]:
        if self._cursor is None:
            self._cursor = self._core.scan(self._plan)
        return cast(List[T], self._cursor.next().wait())

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        for row in self._rows:
            return row
        self._rows = iter(self._next_batch())
        return next(self._rows)

    def batches(self) -> Iterator[List[T]]:
        """The rows as lists, as they come from the cluster."""
        while batch := self._next_batch():
            yield batch

    def all(self) -> List[T]:
        """All rows, in one operation if none has been asked for."""
        if self._cursor is None:
            return cast(List[T], self._core.start(_shoal.scan_all(self._plan)).wait())
        return list(self)

    def close(self) -> None:
        """Ends it where it is."""
        self._rows = iter(())
        if self._cursor is not None:
            self._cursor.close()


class Scan(_Walk[Row]):
    """A scan: iterate over it for its rows, or over `batches()` for lists of them. It begins with the first row that is asked for."""


class LinkedRows(_Walk[LinkedRow]):
    """Linked operations: iterate over them for tuples of a row each, or over `batches()` for lists of those.

    A batch are the tuples of a batch of the first operation's rows; memory holds no more than these and what they lead to.
    """


class Events:
    """Events of tables: iterate over them, or ask for the `next`. A context manager closes them at its end.

    They end when they are closed, and not before. Several threads that iterate share them.
    """

    def __init__(self, core: _shoal.EventsCore, client: Client) -> None:
        self._core = core
        # Whose threads read them.
        self._client = client

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        while (event := self._core.take()) is None:
            if not self._core.ready().wait():
                raise StopIteration
        return event

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event, or None if none comes within so many seconds. Raises ValueError if they are closed."""
        end = None if timeout is None else time.monotonic() + timeout
        while (event := self._core.take()) is None:
            left = None if end is None else datetime.timedelta(seconds=max(0.0, end - time.monotonic()))
            try:
                if not self._core.ready().wait(left):
                    raise ValueError(CLOSED_EVENTS)
            except TimeoutError:
                return None
        return event

    def close(self) -> None:
        """Ends them. They keep nothing in the cluster."""
        self._core.close()

    @property
    def is_closed(self) -> bool:
        return self._core.is_over

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class Reader:
    """Reads: those of a client or a transaction, or locking ones of a transaction."""

    _core: _Core
    _lock: Optional[Lock] = None
    _wait: Wait = "wait"

    def _run(self, work: _shoal.Work) -> Any:
        return self._core.start(work).wait()

    def get(self, table: Table, key: Key) -> Optional[Row]:
        """The row with this primary key."""
        return cast(Optional[Row], self._run(_shoal.get(table, key, True, self._lock, self._wait)))

    def get_many(self, table: Table, keys: Iterable[Key]) -> List[Optional[Row]]:
        """The rows with these primary keys, in the keys' order: one round trip."""
        return cast(List[Optional[Row]], self._run(_shoal.get(table, keys, False, self._lock, self._wait)))

    def get_unique(self, table: Table, index: str, key: Key) -> Optional[Row]:
        """The row with this key of a unique index."""
        return cast(Optional[Row], self._run(_shoal.get_unique(table, index, key, True, self._lock, self._wait)))

    def get_unique_many(self, table: Table, index: str, keys: Iterable[Key]) -> List[Optional[Row]]:
        """The rows with these keys of a unique index, in the keys' order: two round trips."""
        work = _shoal.get_unique(table, index, keys, False, self._lock, self._wait)
        return cast(List[Optional[Row]], self._run(work))

    def scan(
        self,
        table: Table,
        *,
        index: Optional[str] = None,
        equal: Optional[Key] = None,
        from_: Optional[Key] = None,
        after: Optional[Key] = None,
        up_to: Optional[Key] = None,
        before: Optional[Key] = None,
        ordered: bool = False,
        descending: bool = False,
        limit: Optional[int] = None,
        filter: Optional[Filter] = None,
        columns: Optional[List[str]] = None,
    ) -> Scan:
        """Rows along an index ("PRIMARY" is the primary key), or of the whole table.

        equal, from_ (>=), after (>), up_to (<=), before (<) bound leading columns of the index. Without `ordered` rows come partition by
        partition. `filter` and `columns` are evaluated where the rows lie.
        """
        plan = _shoal.scan_plan(
            table,
            index=index,
            equal=equal,
            from_=from_,
            after=after,
            up_to=up_to,
            before=before,
            ordered=ordered,
            descending=descending,
            limit=limit,
            filter=filter,
            columns=columns,
            lock=self._lock,
            wait=self._wait,
        )
        return Scan(self._core, plan)

    def linked(self, linked: Linked) -> LinkedRows:
        """Rows of linked operations: tuples with a row of each, None for one of a left operation that has found nothing."""
        return LinkedRows(self._core, _shoal.linked_plan(linked, self._lock, self._wait))


class _LockingReader(Reader):
    def __init__(self, core: _Core, lock: Lock, wait: Wait) -> None:
        self._core = core
        self._lock = lock
        self._wait = wait


class _Operations(Reader):
    """Reads and writes. A batch is done as a whole or not at all."""

    def insert(self, table: Table, row: GivenRow, *, columns: Optional[List[str]] = None) -> Optional[int]:
        """Inserts a row: values by columns' names, or in the order of `columns` (the table's own without it).

        Returns the AUTO_INCREMENT value that was generated, if one was.
        """
        return self.insert_many(table, [row], columns=columns)

    def insert_many(
        self, table: Table, rows: Iterable[GivenRow], *, columns: Optional[List[str]] = None
    ) -> Optional[int]:
        """Inserts rows of the same columns; returns the first AUTO_INCREMENT value that was generated."""
        return cast(Optional[int], self._run(_shoal.insert(table, rows, columns)))

    def put(self, table: Table, row: GivenRow, *, columns: Optional[List[str]] = None) -> None:
        """Inserts a row, or puts it in the place of the one with its primary key."""
        self.put_many(table, [row], columns=columns)

    def put_many(self, table: Table, rows: Iterable[GivenRow], *, columns: Optional[List[str]] = None) -> None:
        """Inserts rows, or puts them in the place of those with their primary keys."""
        self._run(_shoal.put(table, rows, columns))

    def update(
        self,
        table: Table,
        key: Key,
        *,
        set: Optional[Mapping[str, Value]] = None,
        add: Optional[Mapping[str, Value]] = None,
        only_if: Optional[Filter] = None,
        index: Optional[str] = None,
    ) -> bool:
        """Changes the row with this key, the primary one or a unique index's. False: there is none for which `only_if` is true.

        `set` gives columns values, `add` counts them up (or down) where the row lies, under its lock.
        """
        return cast(bool, self._run(_shoal.update(table, key, True, set, add, only_if, index)))

    def update_many(
        self,
        table: Table,
        keys: Iterable[Key],
        *,
        set: Optional[Mapping[str, Value]] = None,
        add: Optional[Mapping[str, Value]] = None,
        only_if: Optional[Filter] = None,
        index: Optional[str] = None,
    ) -> int:
        """Changes the rows with these keys, primary or of a unique index, and counts those for which `only_if` was true."""
        return cast(int, self._run(_shoal.update(table, keys, False, set, add, only_if, index)))

    def delete(self, table: Table, key: Key, *, index: Optional[str] = None) -> bool:
        """Deletes the row with this key, the primary one or a unique index's. False: there is none."""
        return cast(bool, self._run(_shoal.delete(table, key, True, index)))

    def delete_many(self, table: Table, keys: Iterable[Key], *, index: Optional[str] = None) -> int:
        """Deletes the rows with these keys, primary or of a unique index, and counts them."""
        return cast(int, self._run(_shoal.delete(table, keys, False, index)))


class Blob:
    """A TEXT, BLOB, VARCHAR or VARBINARY value of a row, in pieces of bytes, in a transaction.

    What is read is one version of the value: a snapshot's under "repeatable read", else that on which the row is locked. Positions and lengths
    are bytes of the column's character set; pieces may end within characters, but a text that is not well formed in the end is not
    committed (1366).
    """

    def __init__(self, core: _shoal.BlobCore) -> None:
        self._core = core
        self._position = 0

    def length(self) -> Optional[int]:
        """The value's length; None: it is NULL."""
        return cast(Optional[int], self._core.length().wait())

    def read(self, size: int = PIECE_BYTES) -> bytes:
        """The bytes behind those read before, at most `size`; none at the end of the value, and of NULL."""
        piece = cast(Optional[bytes], self._core.read_at(self._position, size).wait()) or b""
        self._position += len(piece)
        return piece

    def read_at(self, position: int, length: int) -> Optional[bytes]:
        """Bytes from a position on, fewer where the value ends; None: it is NULL."""
        return cast(Optional[bytes], self._core.read_at(position, length).wait())

    def seek(self, position: int) -> None:
        """From where `read` goes on."""
        self._position = position

    def tell(self) -> int:
        """Where `read` goes on."""
        return self._position

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            yield piece

    def write_at(self, position: int, data: bytes) -> None:
        """Writes over what is there; what lies between the end and the position becomes zero bytes, in text spaces."""
        self._core.write_at(position, data).wait()

    def append(self, data: bytes) -> None:
        """Writes behind the value's end; NULL counts as empty."""
        self._core.append(data).wait()

    def truncate(self, length: int) -> None:
        """Cuts off what is behind this length."""
        self._core.truncate(length).wait()

    def set_null(self) -> None:
        """Makes it NULL."""
        self._core.set_null().wait()

    def clear(self) -> None:
        """Makes it empty, if it is NULL as well."""
        self._core.clear().wait()


class Transaction(_Operations):
    """A transaction. As a context manager it commits at its end, and rolls back if something is raised.

    An operation that is interrupted (by Ctrl-C, say) rolls it back, because nobody has heard what became of the operation.
    """

    _core: _shoal.TransactionCore

    def __init__(self, core: _shoal.TransactionCore, client: Client) -> None:
        self._core = core
        # Whose threads it is on.
        self._client = client
        self._is_over = False

    def for_update(self, wait: Wait = "wait") -> Reader:
        """Reads that lock rows for a change."""
        return _LockingReader(self._core, "exclusive", wait)

    def for_share(self, wait: Wait = "wait") -> Reader:
        """Reads that keep rows from being changed."""
        return _LockingReader(self._core, "shared", wait)

    def blob(
        self, table: Table, key: Key, column: str, *, lock: Optional[Lock] = None, wait: Wait = "wait"
    ) -> Optional[Blob]:
        """A value of the row with this primary key, to be read and written in pieces; None if there is no such row.

        A "read committed" transaction takes a shared lock; who is going to write asks for an "exclusive" one.
        """
        core = self._core.blob(table, key, column, lock, wait).wait()
        return None if core is None else Blob(core)

    def commit(self) -> None:
        """Commits. After an error whose `outcome` is not "unknown", nothing is committed."""
        self._is_over = True
        self._core.commit().wait()

    def rollback(self) -> None:
        """Ends the transaction without its writes."""
        self._is_over = True
        self._core.rollback().wait()

    def savepoint(self) -> Savepoint:
        """A point to roll back to."""
        return cast(Savepoint, self._core.savepoint().wait())

    def rollback_to(self, savepoint: Savepoint) -> None:
        """Takes back the writes since the savepoint; locks stay."""
        self._core.rollback_to(savepoint).wait()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._is_over:
            return
        if kind is None:
            self.commit()
        else:
            self._is_over = True
            self._core.abandon()

    def __repr__(self) -> str:
        return f"<shoal.Transaction {'over' if self._is_over else 'under way'}>"


class Client(_Operations):
    """A client, for any number of threads. Its operations are transactions of their own; reads see what was committed last."""

    _core: _shoal.ClientCore

    def __init__(self, core: _shoal.ClientCore, addresses: str) -> None:
        self._core = core
        self._addresses = addresses
        self._finalizer = weakref.finalize(self, core.close)

    def table(self, database: str, name: str) -> Table:
        """A table by the names of its database and its own. Raises Error 1146 if there is none."""
        return self._core.table(database, name)

    def begin(self, isolation: Isolation = "read committed") -> Transaction:
        """Begins a transaction.

        "read committed" reads every row as it was committed last, "repeatable read" a snapshot of everything that its first read takes,
        "serializable" locks what it reads. It takes the place of an operation (`jobs_max`) as long as it lasts.
        """
        return Transaction(self._core.begin(isolation).wait(), self)

    def events(self, tables: Iterable[Table], *, window_bytes: int = 0) -> Events:
        """Follows tables: every change of their rows that is committed from now on comes once, whoever makes it.

        window_bytes: so many bytes of changes are on their way or wait to be taken; 0 is 8 MiB. It takes the place of an operation
        (`jobs_max`) until it is closed.
        """
        return Events(self._core.events(list(tables), window_bytes).wait(), self)

    def transact(
        self, function: Callable[[Transaction], T], isolation: Isolation = "read committed", *, attempts: int = 10
    ) -> T:
        """Runs a function in a transaction and commits, again if the transaction was rolled back for a reason that passes."""
        attempt = 0
        while True:
            attempt += 1
            try:
                with self.begin(isolation) as transaction:
                    return function(transaction)
            except Error as error:
                if attempt >= attempts or not is_worth_another_try(error):
                    raise
            time.sleep(pause_after(attempt))

    @contextlib.contextmanager
    def read_blob(self, table: Table, key: Key, column: str) -> Iterator[Optional[Blob]]:
        """A value of one version, to be read in pieces; None if there is no such row."""
        with self.begin("repeatable read") as transaction:
            yield transaction.blob(table, key, column)

    @contextlib.contextmanager
    def write_blob(self, table: Table, key: Key, column: str) -> Iterator[Optional[Blob]]:
        """A value to be written anew, by `append`; committed when the context ends, and not if something is raised there."""
        with self.begin() as transaction:
            blob = transaction.blob(table, key, column, lock="exclusive")
            if blob is not None:
                blob.clear()
            yield blob

    def close(self) -> None:
        """Gives the place in the cluster back. Transactions that are under way are rolled back."""
        self._finalizer()

    @property
    def is_closed(self) -> bool:
        return self._core.is_closed

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<shoal.Client {self._addresses}{' (closed)' if self.is_closed else ''}>"


def is_worth_another_try(error: Error) -> bool:
    return error.rolls_back_transaction and error.outcome == "not committed"


def pause_after(attempt: int) -> float:
    """Seconds; at random, so that those who met once do not meet again."""
    return random.uniform(0, min(0.001 * 2.0**attempt, 0.1))
