"""The workload of `clients_real.rs`, with PyMySQL. Arguments: port, user, password, database, way, file with the authority."""

import datetime
import decimal
import hashlib
import json
import sys

import pymysql

port, user, password, database, way, authority = sys.argv[1:7]
ROWS = 300


def connect():
    options = dict(ssl_disabled=True)
    if "tls" in way:
        options = dict(ssl_ca=authority, ssl_verify_cert=True, ssl_verify_identity=True)
    return pymysql.connect(
        host="127.0.0.1", port=int(port), user=user, password=password, database=database,
        max_allowed_packet=64 << 20, **options,
    )


def row(number):
    return (
        f"Größe 鯉 🐟 {number}",
        decimal.Decimal(f"{number}.{number:06}"),
        datetime.date(2024, 2, 29) if number % 2 == 0 else datetime.date(1999, 12, 31),
        datetime.datetime(2024, 2, 29, 23, 59, 58, number),
        json.dumps({"n": number, "tags": ["a", "ü"], "deep": {"x": None}}, ensure_ascii=False),
        bytes((number + offset) % 256 for offset in range(512)),
        number / 3,
        18446744073709551615 - number,
        None if number % 3 == 0 else f"note {number}",
    )


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")


connection = connect()
cursor = connection.cursor()
cursor.execute(
    "CREATE TABLE goods (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, price DECIMAL(20,6) NOT NULL, "
    "made DATE, seen DATETIME(6), facts JSON, picture LONGBLOB, ratio DOUBLE, serial BIGINT UNSIGNED UNIQUE, note VARCHAR(20))"
)
INSERT = (
    "INSERT INTO goods (name, price, made, seen, facts, picture, ratio, serial, note) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
rows = [row(number) for number in range(ROWS)]
check("inserted", cursor.executemany(INSERT, rows), ROWS)
connection.commit()

cursor.execute("SELECT name, price, made, seen, facts, picture, ratio, serial, note FROM goods ORDER BY id")
for number, (found, expected) in enumerate(zip(cursor.fetchall(), rows)):
    found = list(found)
    check(f"facts of row {number}", json.loads(found[4]), json.loads(expected[4]))
    found[4] = expected[4]
    check(f"row {number}", tuple(found), expected)

cursor.execute("UPDATE goods SET price = price + 1000")
cursor.execute("SELECT COUNT(*) FROM goods WHERE price >= 1000")
check("within the transaction", cursor.fetchone(), (ROWS,))
connection.rollback()
cursor.execute("SELECT COUNT(*) FROM goods WHERE price >= 1000")
check("after ROLLBACK", cursor.fetchone(), (0,))
cursor.execute("UPDATE goods SET price = price + %s WHERE id = %s", (decimal.Decimal("0.5"), 1))
cursor.execute("SAVEPOINT here")
cursor.execute("DELETE FROM goods")
cursor.execute("ROLLBACK TO SAVEPOINT here")
connection.commit()
try:
    cursor.execute(INSERT, rows[7])
    sys.exit("a duplicate key was taken")
except pymysql.err.IntegrityError as error:
    check("the duplicate", error.args[0], 1062)
connection.rollback()

big = bytes(range(256)) * (17 << 12)
cursor.execute("INSERT INTO goods (name, price, picture) VALUES ('big', 1, %s)", (big,))
connection.commit()
cursor.execute("SELECT picture FROM goods WHERE name = 'big'")
check("the big value", hashlib.md5(cursor.fetchone()[0]).hexdigest(), hashlib.md5(big).hexdigest())

# The account is in the server's cache by now.
again = connect().cursor()
again.execute("SELECT CURRENT_USER()")
check("the account", again.fetchone()[0].split("@")[0], user)
cursor.execute("SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression_algorithm')")
print("\n".join(f"{name}={value}" for name, value in cursor.fetchall()))
