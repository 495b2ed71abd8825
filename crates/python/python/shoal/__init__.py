"""Rows and transactions of a Shoal cluster without SQL.

    import shoal

    with shoal.connect("127.0.0.1:1186") as client:
        accounts = client.table("bank", "accounts")
        client.insert(accounts, {"id": 8, "owner": "Ada", "balance": 100})
        with client.begin() as transaction:
            transaction.update(accounts, 8, add={"balance": -30})
            print(transaction.get(accounts, 8))

`shoal.aio` has the same for asyncio. A client is a node of the cluster and takes one of its `[api]` places.

Values: int, float, str, bytes, None, bool (as int), decimal.Decimal, datetime.date, datetime and timedelta (TIME); JSON is str. A TIMESTAMP
is a datetime in UTC, a DATETIME one without a zone. A key is a value, or a tuple for a key of several columns.
"""

from . import aio
from ._errors import DeadlockError, DuplicateKeyError, Error, LockTimeoutError, TemporaryError
from ._shoal import (
    Altered,
    Change,
    Complete,
    Dropped,
    Filter,
    Gap,
    Linked,
    Row,
    Savepoint,
    Table,
    column,
    link,
)
from ._sync import Blob, Client, Events, LinkedRows, Reader, Scan, Transaction, connect

__all__ = [
    "Altered",
    "Blob",
    "Change",
    "Client",
    "Complete",
    "DeadlockError",
    "DuplicateKeyError",
    "Dropped",
    "Error",
    "Events",
    "Filter",
    "Gap",
    "Linked",
    "LinkedRows",
    "LockTimeoutError",
    "Reader",
    "Row",
    "Savepoint",
    "Scan",
    "Table",
    "TemporaryError",
    "Transaction",
    "aio",
    "column",
    "connect",
    "link",
]
