"""The workload of `clients_real.rs`, with MySQL's own client library (libmysqlclient), which the extension module of Connector/Python has in it. That
offers Python no choice of zstd, so its functions are called as a program in C would. Arguments: port, user, password, database, way, file with the
authority, file with the statements."""

import ctypes
import sys

import _mysql_connector

port, user, password, database, way, authority, script = sys.argv[1:8]

# Of MySQL's mysql.h.
SET_CHARSET_NAME, SSL_CA, MAX_ALLOWED_PACKET, SSL_MODE, GET_SERVER_PUBLIC_KEY = 7, 21, 32, 35, 36
COMPRESSION_ALGORITHMS, ZSTD_COMPRESSION_LEVEL = 41, 42
SSL_MODE_DISABLED, SSL_MODE_VERIFY_IDENTITY = 1, 5
CLIENT_MULTI_STATEMENTS = 1 << 16

library = ctypes.CDLL(_mysql_connector.__file__)
library.mysql_init.restype = ctypes.c_void_p
library.mysql_store_result.restype = ctypes.c_void_p
library.mysql_real_connect.restype = ctypes.c_void_p
library.mysql_error.restype = ctypes.c_char_p
library.mysql_fetch_row.restype = ctypes.POINTER(ctypes.c_char_p)
client = ctypes.c_void_p(library.mysql_init(None))


def option(number, value):
    if library.mysql_options(client, number, value):
        sys.exit(f"option {number} is not taken")


def check(is_wrong):
    if is_wrong:
        sys.exit(library.mysql_error(client).decode())


def number(value, kind=ctypes.c_uint):
    return ctypes.byref(kind(value))


option(SET_CHARSET_NAME, b"utf8mb4")
option(MAX_ALLOWED_PACKET, number(64 << 20, ctypes.c_ulong))
if "tls" in way:
    option(SSL_CA, authority.encode())
    option(SSL_MODE, number(SSL_MODE_VERIFY_IDENTITY))
else:
    option(SSL_MODE, number(SSL_MODE_DISABLED))
    option(GET_SERVER_PUBLIC_KEY, number(1, ctypes.c_bool))
for algorithm in ("zlib", "zstd"):
    if algorithm in way:
        option(COMPRESSION_ALGORITHMS, algorithm.encode())
if "zstd" in way:
    option(ZSTD_COMPRESSION_LEVEL, number(5))
check(
    not library.mysql_real_connect(
        client, b"127.0.0.1", user.encode(), password.encode(), database.encode(), int(port), None,
        ctypes.c_ulong(CLIENT_MULTI_STATEMENTS),
    )
)
for line in open(script, "rb"):
    check(library.mysql_real_query(client, line, ctypes.c_ulong(len(line))))
    while True:
        result = ctypes.c_void_p(library.mysql_store_result(client))
        check(not result and library.mysql_field_count(client))
        columns = library.mysql_num_fields(result) if result else 0
        while columns and (row := library.mysql_fetch_row(result)):
            print("=".join(row[column].decode() for column in range(columns)))
        if result:
            library.mysql_free_result(result)
        status = library.mysql_next_result(client)
        check(status > 0)
        if status < 0:
            break
library.mysql_close(client)
