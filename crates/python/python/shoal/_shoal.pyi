"""The native half."""

import datetime
from typing import Any, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Tuple, overload

from typing_extensions import SupportsIndex, final

from ._types import Event, GivenRow, Key, LinkedKey, Lock, Value, Wait

@final
class Table:
    """A table of the cluster; it follows changes of its definition."""

    @property
    def name(self) -> str: ...
    @property
    def database(self) -> str: ...
    @property
    def columns(self) -> List[str]: ...
    def __hash__(self) -> int: ...

@final
class Row:
    """A row: `row["name"]`, `row.name`, `row[0]`; iterating yields the values, and `dict(row)` is a dict."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> Tuple[Any, ...]: ...
    def __getattr__(self, name: str) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __hash__(self) -> int: ...
    def keys(self) -> List[str]: ...
    def values(self) -> Tuple[Any, ...]: ...
    def items(self) -> List[Tuple[str, Any]]: ...
    def get(self, name: str, default: Any = None) -> Any: ...
    def as_dict(self) -> Dict[str, Any]: ...
    def as_tuple(self) -> Tuple[Any, ...]: ...

@final
class Filter:
    """A condition on rows, evaluated where they lie. Conditions are joined by `&`, `|` and `~`."""

    def __and__(self, other: Filter) -> Filter: ...
    def __or__(self, other: Filter) -> Filter: ...
    def __invert__(self) -> Filter: ...

@final
class column:
    """A column in a condition: `column("age") >= 18`. A comparison with NULL is unknown, as in SQL."""

    def __new__(cls, name: str) -> column: ...
    @property
    def name(self) -> str: ...
    def __eq__(self, value: Value) -> Filter: ...  # type: ignore[override]
    def __ne__(self, value: Value) -> Filter: ...  # type: ignore[override]
    def __lt__(self, value: Value) -> Filter: ...
    def __le__(self, value: Value) -> Filter: ...
    def __gt__(self, value: Value) -> Filter: ...
    def __ge__(self, value: Value) -> Filter: ...
    def is_null(self) -> Filter: ...
    def is_not_null(self) -> Filter: ...
    def is_in(self, values: Iterable[Value]) -> Filter: ...

@final
class link:
    """A column of an earlier operation's rows as a part of a key; without a number that of the operation just before.

    The first operation's number is 0. NULL finds nothing.
    """

    def __new__(cls, column: str, operation: Optional[int] = None) -> link: ...
    @property
    def column(self) -> str: ...
    @property
    def operation(self) -> Optional[int]: ...

@final
class Linked:
    """Operations whose rows are the keys of the next one's: joins without SQL. `client.linked(..)` carries them out.

    `left`: where the operation finds nothing its row is None, as an outer join has it; without this there is no tuple. `filter` and
    `columns` are about the operation that they are given to; columns that keys refer to have to be among those that are chosen.
    Linking does not change what is linked to: it makes another one.
    """

    @staticmethod
    def scan(
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
    ) -> Linked: ...
    @staticmethod
    def get(
        table: Table, key: Key, *, filter: Optional[Filter] = None, columns: Optional[List[str]] = None
    ) -> Linked: ...
    @staticmethod
    def get_unique(
        table: Table, index: str, key: Key, *, filter: Optional[Filter] = None, columns: Optional[List[str]] = None
    ) -> Linked: ...
    def then_get(
        self,
        table: Table,
        key: LinkedKey,
        *,
        left: bool = False,
        filter: Optional[Filter] = None,
        columns: Optional[List[str]] = None,
    ) -> Linked: ...
    def then_get_unique(
        self,
        table: Table,
        index: str,
        key: LinkedKey,
        *,
        left: bool = False,
        filter: Optional[Filter] = None,
        columns: Optional[List[str]] = None,
    ) -> Linked: ...
    def then_scan(
        self,
        table: Table,
        index: str,
        key: LinkedKey,
        *,
        left: bool = False,
        filter: Optional[Filter] = None,
        columns: Optional[List[str]] = None,
    ) -> Linked: ...

@final
class Change:
    """A committed change of a row."""

    __match_args__ = ("table", "kind", "row")
    @property
    def table(self) -> Table: ...
    @property
    def kind(self) -> Literal["insert", "update", "delete"]: ...
    @property
    def row(self) -> Row:
        """The row as it is afterwards. Of one that was deleted the columns of its primary key."""

    @property
    def timestamp(self) -> int:
        """When it was committed: greater is later."""

    @property
    def transaction(self) -> int:
        """Changes of one transaction have the same."""

@final
class Complete:
    """Every change that was committed up to here has come. It rises ten times a second while there are changes anywhere."""

    __match_args__ = ("timestamp",)
    @property
    def timestamp(self) -> int: ...

@final
class Gap:
    """Changes may be missing, after this timestamp and before this event: read the tables again. What follows is whole again.

    "compacted": it was read too slowly. "lost": all who had it in memory crashed. "unreadable": it cannot be told.
    """

    __match_args__ = ("after", "reason")
    @property
    def after(self) -> int: ...
    @property
    def reason(self) -> Literal["compacted", "lost", "unreadable"]: ...

@final
class Altered:
    """The table has a new definition, by which rows are shown as soon as the client knows it."""

    __match_args__ = ("table",)
    @property
    def table(self) -> Table: ...

@final
class Dropped:
    """The table was dropped, truncated, or altered so that its rows were copied: no more of its changes come.

    Get it again by its name, follow that, and read it again.
    """

    __match_args__ = ("table",)
    @property
    def table(self) -> Table: ...

@final
class Savepoint:
    """A point to roll back to."""

@final
class Work: ...
@final
class Plan: ...

@final
class Operation:
    def wait(self, timeout: Optional[datetime.timedelta] = None) -> Any: ...

@final
class Completions:
    def __new__(cls) -> Completions: ...
    def fileno(self) -> int: ...
    def start(self, operation: Operation, future: Any) -> int: ...
    def cancel(self, number: int) -> None: ...
    def drain(self) -> None: ...

@final
class Cursor:
    def next(self) -> Operation: ...
    def close(self) -> None: ...

@final
class EventsCore:
    def ready(self) -> Operation: ...
    def take(self) -> Optional[Event]: ...
    def close(self) -> None: ...
    @property
    def is_over(self) -> bool: ...

@final
class BlobCore:
    def length(self) -> Operation: ...
    def read_at(self, position: int, length: int) -> Operation: ...
    def write_at(self, position: int, bytes: bytes) -> Operation: ...
    def append(self, bytes: bytes) -> Operation: ...
    def truncate(self, length: int) -> Operation: ...
    def set_null(self) -> Operation: ...
    def clear(self) -> Operation: ...

@final
class ClientCore:
    def table(self, database: str, name: str) -> Table: ...
    def start(self, work: Work) -> Operation: ...
    def begin(self, isolation: str) -> Operation: ...
    def scan(self, plan: Plan) -> Cursor: ...
    def events(self, tables: List[Table], window_bytes: int) -> Operation: ...
    def close(self) -> None: ...
    @property
    def is_closed(self) -> bool: ...

@final
class TransactionCore:
    def start(self, work: Work) -> Operation: ...
    def scan(self, plan: Plan) -> Cursor: ...
    def blob(self, table: Table, key: Any, column: str, lock: Optional[Lock], wait: Wait) -> Operation: ...
    def commit(self) -> Operation: ...
    def rollback(self) -> Operation: ...
    def abandon(self) -> None: ...
    def savepoint(self) -> Operation: ...
    def rollback_to(self, savepoint: Savepoint) -> Operation: ...

def connect(
    addresses: str,
    workers: int,
    jobs_max: int,
    lock_wait_timeout: datetime.timedelta,
    connect_timeout: datetime.timedelta,
    spin: datetime.timedelta,
    transporter: str,
    tls_search_path: Optional[str],
) -> Operation: ...
def get(table: Table, key: Any, is_single: bool, lock: Optional[Lock], wait: Wait) -> Work: ...
def get_unique(
    table: Table, index: str, key: Any, is_single: bool, lock: Optional[Lock], wait: Wait
) -> Work: ...
def scan_all(plan: Plan) -> Work: ...
def scan_plan(
    table: Table,
    *,
    index: Optional[str],
    equal: Optional[Key],
    from_: Optional[Key],
    after: Optional[Key],
    up_to: Optional[Key],
    before: Optional[Key],
    ordered: bool,
    descending: bool,
    limit: Optional[int],
    filter: Optional[Filter],
    columns: Optional[List[str]],
    lock: Optional[Lock],
    wait: Wait,
) -> Plan: ...
def linked_plan(linked: Linked, lock: Optional[Lock], wait: Wait) -> Plan: ...
def insert(table: Table, given: Iterable[GivenRow], columns: Optional[List[str]]) -> Work: ...
def put(table: Table, given: Iterable[GivenRow], columns: Optional[List[str]]) -> Work: ...
def update(
    table: Table,
    key: Any,
    is_single: bool,
    set: Optional[Mapping[str, Value]],
    add: Optional[Mapping[str, Value]],
    only_if: Optional[Filter],
    index: Optional[str],
) -> Work: ...
def delete(table: Table, key: Any, is_single: bool, index: Optional[str]) -> Work: ...
