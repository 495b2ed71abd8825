"""What the faces take."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING, Any, List, Literal, Mapping, Sequence, Tuple, Union

if TYPE_CHECKING:
    from ._shoal import Altered, Change, Complete, Dropped, Gap, Row, link

Value = Union[
    None,
    bool,
    int,
    float,
    str,
    bytes,
    bytearray,
    memoryview,
    decimal.Decimal,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
]
"""A column's value; numbers of other libraries, such as NumPy's, are taken as well."""

Key = Union[Value, Tuple[Value, ...], List[Value]]
"""A key: one value, or a tuple (or list) of them for one of several columns."""

LinkedKey = Union[Value, "link", Tuple[Union[Value, "link"], ...], List[Union[Value, "link"]]]
"""A key whose parts are values or columns of earlier operations' rows."""

LinkedRow = Tuple[Union["Row", Any], ...]
"""A row of each operation; None where a left operation has found nothing."""

Event = Union["Change", "Complete", "Gap", "Altered", "Dropped"]
"""What happened to tables that are followed."""

GivenRow = Union[Mapping[str, Any], Sequence[Any]]
"""A row to write: values by columns' names, or in the order of the columns."""

Isolation = Literal["read committed", "repeatable read", "serializable"]
Lock = Literal["shared", "exclusive"]
Wait = Literal["wait", "nowait", "skip locked"]
Transporter = Literal["shm", "unix", "tcp"]
