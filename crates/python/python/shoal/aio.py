"""The face for asyncio: the operations of `shoal`, awaited.

    async with shoal.aio.connect("127.0.0.1:1186") as client:
        accounts = client.table("bank", "accounts")
        rows = await asyncio.gather(*(client.get(accounts, number) for number in range(1000)))

Any number of operations may be awaited at a time; beyond the client's `jobs_max` they wait for their turn. Their completions come through one
socket for each event loop.

An operation that is cancelled (by a timeout, say) is given up in the cluster as well: its locks and its wait for locks end at once. A read
leaves nothing. Of a write outside of a transaction, and of a commit, nobody has heard whether it was done: it either was before, or never is. In a
transaction, cancelling an operation rolls the transaction back.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Generic,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Type,
    TypeVar,
    Union,
    cast,
)

from . import _shoal
from ._errors import Error
from ._shoal import Filter, Linked, Row, Savepoint, Table
from ._sync import CLOSED_EVENTS, PIECE_BYTES, connecting, is_worth_another_try, pause_after
from ._types import Event, GivenRow, Isolation, Key, LinkedRow, Lock, Transporter, Value, Wait

__all__ = ["Blob", "Client", "Events", "LinkedRows", "Reader", "Scan", "Transaction", "connect"]

T = TypeVar("T")
S = TypeVar("S", bound="Union[Client, Transaction, Events]")
_Core = Union[_shoal.ClientCore, _shoal.TransactionCore]

_completions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _shoal.Completions] = (
    weakref.WeakKeyDictionary()
)


async def _finish(operation: _shoal.Operation) -> Any:
    """Waits for an operation's end; cancelled, it cancels the operation."""
    loop = asyncio.get_running_loop()
    completions = _completions.get(loop)
    if completions is None:
        completions = _completions[loop] = _shoal.Completions()
        loop.add_reader(completions.fileno(), completions.drain)
    future = loop.create_future()
    number = completions.start(operation, future)
    try:
        return await future
    except asyncio.CancelledError:
        completions.cancel(number)
        raise


class _Opening(Generic[S]):
    """Something that is awaited, or entered by `async with`."""

    def __init__(self, open: Callable[[], Awaitable[S]]) -> None:
        self._open = open
        self._opened: Optional[S] = None

    def __await__(self) -> Generator[Any, None, S]:
        return self._open().__await__()

    async def __aenter__(self) -> S:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(kind, error, trace)


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
) -> _Opening[Client]:
    """As `shoal.connect`: `client = await connect(..)`, or `async with connect(..) as client`."""

    async def open() -> Client:
        operation = connecting(
            addresses, workers, jobs_max, lock_wait_timeout, connect_timeout, spin, transporter, tls_search_path
        )
        return Client(await _finish(operation), addresses)

    return _Opening(open)


class _Walk(Generic[T]):
    """What comes batch by batch. It begins with the first row that is asked for."""

    def __init__(self, core: _Core, plan: _shoal.Plan) -> None:
        self._core = core
        self._plan = plan
        self._cursor: Optional[_shoal.Cursor] = None
        self._rows: Iterator[T] = iter(())

    async def _next_batch(self) -> List[T]:
        if self._cursor is None:
            self._cursor = self._core.scan(self._plan)
        return cast(List[T], await _finish(self._cursor.next()))

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        for row in self._rows:
            return row
        self._rows = iter(await self._next_batch())
        for row in self._rows:
            return row
        raise StopAsyncIteration

    async def batches(self) -> AsyncIterator[List[T]]:
        """The rows as lists, as they come from the cluster."""
        while batch := await self._next_batch():
            yield batch

    async def all(self) -> List[T]:
        """All rows, in one operation if none has been asked for."""
        if self._cursor is None:
            return cast(List[T], await _finish(self._core.start(_shoal.scan_all(self._plan))))
        return [row async for row in self]

    def close(self) -> None:
        """Ends it where it is."""
        self._rows = iter(())
        if self._cursor is not None:
            self._cursor.close()


class Scan(_Walk[Row]):
    """A scan: `async for` yields its rows. It begins with the first row that is asked for."""


class LinkedRows(_Walk[LinkedRow]):
    """Linked operations: `async for` yields tuples of a row each. As `shoal.LinkedRows`."""


class Events:
    """Events of tables: `async for` yields them. `async with` closes them at its end.

    They end when they are closed, and not before. Several tasks that iterate share them; one that is cancelled loses nothing.
    """

    def __init__(self, core: _shoal.EventsCore, client: Client) -> None:
        self._core = core
        # Whose threads read them.
        self._client = client

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while (event := self._core.take()) is None:
            if not await _finish(self._core.ready()):
                raise StopAsyncIteration
        return event

    async def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event, or None if none comes within so many seconds. Raises ValueError if they are closed."""
        end = None if timeout is None else time.monotonic() + timeout
        while (event := self._core.take()) is None:
            left = None if end is None else max(0.0, end - time.monotonic())
            try:
                if not await asyncio.wait_for(_finish(self._core.ready()), left):
                    raise ValueError(CLOSED_EVENTS)
            except asyncio.TimeoutError:
                return None
        return event

    def close(self) -> None:
        """Ends them. They keep nothing in the cluster."""
        self._core.close()

    @property
    def is_closed(self) -> bool:
        return self._core.is_over

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(
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

    async def _run(self, work: _shoal.Work) -> Any:
        return await _finish(self._core.start(work))

    async def get(self, table: Table, key: Key) -> Optional[Row]:
        """The row with this primary key."""
        return cast(Optional[Row], await self._run(_shoal.get(table, key, True, self._lock, self._wait)))

    async def get_many(self, table: Table, keys: Iterable[Key]) -> List[Optional[Row]]:
        """The rows with these primary keys, in the keys' order: one round trip."""
        work = _shoal.get(table, keys, False, self._lock, self._wait)
        return cast(List[Optional[Row]], await self._run(work))

    async def get_unique(self, table: Table, index: str, key: Key) -> Optional[Row]:
        """The row with this key of a unique index."""
        work = _shoal.get_unique(table, index, key, True, self._lock, self._wait)
        return cast(Optional[Row], await self._run(work))

    async def get_unique_many(self, table: Table, index: str, keys: Iterable[Key]) -> List[Optional[Row]]:
        """The rows with these keys of a unique index, in the keys' order: two round trips."""
        work = _shoal.get_unique(table, index, keys, False, self._lock, self._wait)
        return cast(List[Optional[Row]], await self._run(work))

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
        """As `shoal.Client.scan`, for `async for`."""
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
        """As `shoal.Client.linked`, for `async for`."""
        return LinkedRows(self._core, _shoal.linked_plan(linked, self._lock, self._wait))


class _LockingReader(Reader):
    def __init__(self, core: _Core, lock: Lock, wait: Wait) -> None:
        self._core = core
        self._lock = lock
        self._wait = wait


class _Operations(Reader):
    """Reads and writes. A batch is done as a whole or not at all."""

    async def insert(self, table: Table, row: GivenRow, *, columns: Optional[List[str]] = None) -> Optional[int]:
        """Inserts a row, and returns the AUTO_INCREMENT value that was generated, if one was."""
        return await self.insert_many(table, [row], columns=columns)

    async def insert_many(
        self, table: Table, rows: Iterable[GivenRow], *, columns: Optional[List[str]] = None
    ) -> Optional[int]:
        """Inserts rows of the same columns; returns the first AUTO_INCREMENT value that was generated."""
        return cast(Optional[int], await self._run(_shoal.insert(table, rows, columns)))

    async def put(self, table: Table, row: GivenRow, *, columns: Optional[List[str]] = None) -> None:
        """Inserts a row, or puts it in the place of the one with its primary key."""
        await self.put_many(table, [row], columns=columns)

    async def put_many(
        self, table: Table, rows: Iterable[GivenRow], *, columns: Optional[List[str]] = None
    ) -> None:
        """Inserts rows, or puts them in the place of those with their primary keys."""
        await self._run(_shoal.put(table, rows, columns))

    async def update(
        self,
        table: Table,
        key: Key,
        *,
        set: Optional[Mapping[str, Value]] = None,
        add: Optional[Mapping[str, Value]] = None,
        only_if: Optional[Filter] = None,
        index: Optional[str] = None,
    ) -> bool:
        """Changes the row with this key, the primary one or a unique index's. False: there is none for which `only_if` is true."""
        return cast(bool, await self._run(_shoal.update(table, key, True, set, add, only_if, index)))

    async def update_many(
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
        return cast(int, await self._run(_shoal.update(table, keys, False, set, add, only_if, index)))

    async def delete(self, table: Table, key: Key, *, index: Optional[str] = None) -> bool:
        """Deletes the row with this key, the primary one or a unique index's. False: there is none."""
        return cast(bool, await self._run(_shoal.delete(table, key, True, index)))

    async def delete_many(self, table: Table, keys: Iterable[Key], *, index: Optional[str] = None) -> int:
        """Deletes the rows with these keys, primary or of a unique index, and counts them."""
        return cast(int, await self._run(_shoal.delete(table, keys, False, index)))


class Blob:
    """A TEXT, BLOB, VARCHAR or VARBINARY value of a row, in pieces of bytes, in a transaction.

    What is read is one version of the value: a snapshot's under "repeatable read", else that on which the row is locked. Positions and lengths
    are bytes of the column's character set; pieces may end within characters, but a text that is not well formed in the end is not
    committed (1366).
    """

    def __init__(self, core: _shoal.BlobCore) -> None:
        self._core = core
        self._position = 0

    async def length(self) -> Optional[int]:
        """The value's length; None: it is NULL."""
        return cast(Optional[int], await _finish(self._core.length()))

    async def read(self, size: int = PIECE_BYTES) -> bytes:
        """The bytes behind those read before, at most `size`; none at the end of the value, and of NULL."""
        piece = cast(Optional[bytes], await _finish(self._core.read_at(self._position, size))) or b""
        self._position += len(piece)
        return piece

    async def read_at(self, position: int, length: int) -> Optional[bytes]:
        """Bytes from a position on, fewer where the value ends; None: it is NULL."""
        return cast(Optional[bytes], await _finish(self._core.read_at(position, length)))

    def seek(self, position: int) -> None:
        """From where `read` goes on."""
        self._position = position

    def tell(self) -> int:
        """Where `read` goes on."""
        return self._position

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self.read():
            yield piece

    async def write_at(self, position: int, data: bytes) -> None:
        """Writes over what is there; what lies between the end and the position becomes zero bytes, in text spaces."""
        await _finish(self._core.write_at(position, data))

    async def append(self, data: bytes) -> None:
        """Writes behind the value's end; NULL counts as empty."""
        await _finish(self._core.append(data))

    async def truncate(self, length: int) -> None:
        """Cuts off what is behind this length."""
        await _finish(self._core.truncate(length))

    async def set_null(self) -> None:
        """Makes it NULL."""
        await _finish(self._core.set_null())

    async def clear(self) -> None:
        """Makes it empty, if it is NULL as well."""
        await _finish(self._core.clear())


class Transaction(_Operations):
    """A transaction: `async with` commits at its end, and rolls back if something is raised. Operations of several tasks take turns."""

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

    async def blob(
        self, table: Table, key: Key, column: str, *, lock: Optional[Lock] = None, wait: Wait = "wait"
    ) -> Optional[Blob]:
        """A value of the row with this primary key, to be read and written in pieces; None if there is no such row.

        A "read committed" transaction takes a shared lock; who is going to write asks for an "exclusive" one.
        """
        core = await _finish(self._core.blob(table, key, column, lock, wait))
        return None if core is None else Blob(core)

    async def commit(self) -> None:
        """Commits. After an error whose `outcome` is not "unknown", nothing is committed."""
        self._is_over = True
        await _finish(self._core.commit())

    async def rollback(self) -> None:
        """Ends the transaction without its writes."""
        self._is_over = True
        await _finish(self._core.rollback())

    async def savepoint(self) -> Savepoint:
        """A point to roll back to."""
        return cast(Savepoint, await _finish(self._core.savepoint()))

    async def rollback_to(self, savepoint: Savepoint) -> None:
        """Takes back the writes since the savepoint; locks stay."""
        await _finish(self._core.rollback_to(savepoint))

    async def __aenter__(self) -> Transaction:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._is_over:
            return
        if kind is None:
            await self.commit()
        else:
            self._is_over = True
            self._core.abandon()

    def __repr__(self) -> str:
        return f"<shoal.aio.Transaction {'over' if self._is_over else 'under way'}>"


class Client(_Operations):
    """A client, for any event loop. Its operations are transactions of their own; reads see what was committed last."""

    _core: _shoal.ClientCore

    def __init__(self, core: _shoal.ClientCore, addresses: str) -> None:
        self._core = core
        self._addresses = addresses
        self._finalizer = weakref.finalize(self, core.close)

    def table(self, database: str, name: str) -> Table:
        """A table by the names of its database and its own. Raises Error 1146 if there is none. It does not wait."""
        return self._core.table(database, name)

    def begin(self, isolation: Isolation = "read committed") -> _Opening[Transaction]:
        """Begins a transaction: `await client.begin()`, or `async with client.begin() as transaction`."""

        async def open() -> Transaction:
            return Transaction(await _finish(self._core.begin(isolation)), self)

        return _Opening(open)

    def events(self, tables: Iterable[Table], *, window_bytes: int = 0) -> _Opening[Events]:
        """As `shoal.Client.events`: `await client.events(..)`, or `async with client.events(..) as events`."""

        async def open() -> Events:
            return Events(await _finish(self._core.events(list(tables), window_bytes)), self)

        return _Opening(open)

    async def transact(
        self,
        function: Callable[[Transaction], Awaitable[T]],
        isolation: Isolation = "read committed",
        *,
        attempts: int = 10,
    ) -> T:
        """Runs a function in a transaction and commits, again if the transaction was rolled back for a reason that passes."""
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self.begin(isolation) as transaction:
                    return await function(transaction)
            except Error as error:
                if attempt >= attempts or not is_worth_another_try(error):
                    raise
            await asyncio.sleep(pause_after(attempt))

    @contextlib.asynccontextmanager
    async def read_blob(self, table: Table, key: Key, column: str) -> AsyncIterator[Optional[Blob]]:
        """A value of one version, to be read in pieces; None if there is no such row."""
        async with self.begin("repeatable read") as transaction:
            yield await transaction.blob(table, key, column)

    @contextlib.asynccontextmanager
    async def write_blob(self, table: Table, key: Key, column: str) -> AsyncIterator[Optional[Blob]]:
        """A value to be written anew, by `append`; committed when the context ends, and not if something is raised there."""
        async with self.begin() as transaction:
            blob = await transaction.blob(table, key, column, lock="exclusive")
            if blob is not None:
                await blob.clear()
            yield blob

    async def close(self) -> None:
        """Gives the place in the cluster back. Transactions that are under way are rolled back."""
        await asyncio.get_running_loop().run_in_executor(None, self._finalizer)

    @property
    def is_closed(self) -> bool:
        return self._core.is_closed

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<shoal.aio.Client {self._addresses}{' (closed)' if self.is_closed else ''}>"
