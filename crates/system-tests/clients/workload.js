// The workload of `clients_real.rs`, with mysql2. Arguments: port, user, password, database, way, file with the authority.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const assert = require('assert');
const mysql = require('mysql2/promise');

const [port, user, password, database, way, authority] = process.argv.slice(2);
const ROWS = 300;

function connect() {
  return mysql.createConnection({
    host: '127.0.0.1', port: Number(port), user, password, database,
    ssl: way.includes('tls') ? { ca: fs.readFileSync(authority) } : undefined,
    compress: way.includes('zlib'),
    supportBigNumbers: true, bigNumberStrings: true, dateStrings: true,
  });
}

function row(number) {
  const padded = String(number).padStart(6, '0');
  return {
    name: `Größe 鯉 🐟 ${number}`,
    price: `${number}.${padded}`,
    made: number % 2 === 0 ? '2024-02-29' : '1999-12-31',
    seen: `2024-02-29 23:59:58.${padded}`,
    facts: { n: number, tags: ['a', 'ü'], deep: { x: null } },
    picture: Buffer.from(Array.from({ length: 512 }, (_, offset) => (number + offset) % 256)),
    // mysql2 reads numbers of the text protocol digit by digit, which is exact for these.
    ratio: number / 4,
    serial: String(18446744073709551615n - BigInt(number)),
    note: number % 3 === 0 ? null : `note ${number}`,
  };
}

async function main() {
  const connection = await connect();
  await connection.query(
    'CREATE TABLE goods (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, price DECIMAL(20,6) NOT NULL, ' +
    'made DATE, seen DATETIME(6), facts JSON, picture LONGBLOB, ratio DOUBLE, serial BIGINT UNSIGNED UNIQUE, note VARCHAR(20))');
  const rows = Array.from({ length: ROWS }, (_, number) => row(number));
  const columns = Object.keys(rows[0]);
  const insert = `INSERT INTO goods (${columns}) VALUES (${columns.map(() => '?')})`;
  const values = (one) => columns.map((name) => (name === 'facts' ? JSON.stringify(one.facts) : one[name]));
  // Prepared, one by one, in one transaction; the other half in one statement of the text protocol.
  await connection.beginTransaction();
  for (const one of rows.slice(0, ROWS / 2)) await connection.execute(insert, values(one));
  await connection.commit();
  await connection.query(`INSERT INTO goods (${columns}) VALUES ?`, [rows.slice(ROWS / 2).map(values)]);

  for (const read of ['query', 'execute']) {
    const [found] = await connection[read](`SELECT ${columns} FROM goods ORDER BY id`);
    assert.strictEqual(found.length, ROWS);
    // In the binary protocol a fraction of zero is not sent.
    for (const one of found) one.seen = one.seen.length === 19 ? `${one.seen}.000000` : one.seen;
    found.forEach((one, number) => assert.deepStrictEqual({ ...one }, rows[number], `${read}: row ${number}`));
  }

  const count = async () => Number((await connection.query('SELECT COUNT(*) AS n FROM goods WHERE price >= 1000'))[0][0].n);
  await connection.beginTransaction();
  await connection.execute('UPDATE goods SET price = price + ?', ['1000']);
  assert.strictEqual(await count(), ROWS);
  await connection.rollback();
  assert.strictEqual(await count(), 0);
  await connection.beginTransaction();
  await connection.execute('UPDATE goods SET price = price + ? WHERE id = ?', ['0.5', 1]);
  await connection.query('SAVEPOINT here');
  await connection.query('DELETE FROM goods');
  await connection.query('ROLLBACK TO SAVEPOINT here');
  await connection.commit();
  await assert.rejects(connection.execute(insert, values(rows[7])), { errno: 1062, code: 'ER_DUP_ENTRY' });

  const big = Buffer.alloc(17 << 20, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
  await connection.execute("INSERT INTO goods (name, price, picture) VALUES ('big', 1, ?)", [big]);
  const [[{ picture }]] = await connection.execute("SELECT picture FROM goods WHERE name = 'big'");
  const md5 = (bytes) => crypto.createHash('md5').update(bytes).digest('hex');
  assert.strictEqual(md5(picture), md5(big));

  // The account is in the server's cache by now.
  const again = await connect();
  const [[{ account }]] = await again.query('SELECT CURRENT_USER() AS account');
  assert.strictEqual(account.split('@')[0], user);
  await again.end();
  const [status] = await connection.query("SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression_algorithm')");
  for (const { Variable_name, Value } of status) console.log(`${Variable_name}=${Value}`);
  await connection.end();
}

main().catch((error) => { console.error(error); process.exit(1); });
