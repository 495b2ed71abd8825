"""What the faces take."""

from __future__ import annotations

import datetime
import decimal
from typing import Any, List, Literal, Mapping, Sequence, Tuple, Union

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

GivenRow = Union[Mapping[str, Any], Sequence[Any]]
"""A row to write: values by columns' names, or in the order of the columns."""

Isolation = Literal["read committed", "repeatable read", "serializable"]
Lock = Literal["shared", "exclusive"]
Wait = Literal["wait", "nowait", "skip locked"]
Transporter = Literal["shm", "unix", "tcp"]
