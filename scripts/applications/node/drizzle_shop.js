// A shop with Drizzle: its migrator with files as drizzle-kit writes them, relational queries, transactions. Arguments: port, database.
const fs = require('fs');
const os = require('os');
const path = require('path');
const mysql = require('mysql2/promise');
const { relations, sql, eq, gt, and, inArray, notExists, count, sum, desc } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/mysql2');
const { migrate } = require('drizzle-orm/mysql2/migrator');
const { mysqlTable, serial, int, bigint, varchar, char, decimal, date, datetime, json, mysqlEnum, boolean, uniqueIndex, primaryKey, alias, union } = require('drizzle-orm/mysql-core');
const { assert, step, refused, run } = require('./common');

const customer = mysqlTable('customer', {
  id: int('id').autoincrement().primaryKey(), email: varchar('email', { length: 190 }).notNull().unique(), name: varchar('name', { length: 100 }).notNull(),
  joined: date('joined', { mode: 'string' }), profile: json('profile'), referrer: int('referrer'),
});
const product = mysqlTable('product', {
  id: serial('id').primaryKey(), sku: char('sku', { length: 12 }).notNull(), price: decimal('price', { precision: 12, scale: 4 }).notNull(),
  stock: int('stock').notNull().default(0), kind: mysqlEnum('kind', ['fish', 'boat']).default('fish'), isGone: boolean('is_gone').default(false),
}, (table) => [uniqueIndex('product_sku').on(table.sku)]);
const order = mysqlTable('order', {
  id: int('id').autoincrement().primaryKey(), customerId: int('customer_id').notNull(), placed: datetime('placed', { mode: 'date', fsp: 3 }),
});
const line = mysqlTable('line', {
  orderId: int('order_id').notNull(), productId: bigint('product_id', { mode: 'number', unsigned: true }).notNull(), quantity: int('quantity').notNull(),
}, (table) => [primaryKey({ columns: [table.orderId, table.productId] })]);
const schema = {
  customer, product, order, line,
  customerRelations: relations(customer, ({ many }) => ({ orders: many(order) })),
  orderRelations: relations(order, ({ one, many }) => ({ customer: one(customer, { fields: [order.customerId], references: [customer.id] }), lines: many(line) })),
  lineRelations: relations(line, ({ one }) => ({
    order: one(order, { fields: [line.orderId], references: [order.id] }), product: one(product, { fields: [line.productId], references: [product.id] }),
  })),
};

// In the words of drizzle-kit.
const MIGRATIONS = [[
  'CREATE TABLE `customer` (\n\t`id` int AUTO_INCREMENT NOT NULL,\n\t`email` varchar(190) NOT NULL,\n\t`name` varchar(100) NOT NULL,\n\t`joined` date,\n\t`profile` json,\n\tCONSTRAINT `customer_id` PRIMARY KEY(`id`),\n\tCONSTRAINT `customer_email_unique` UNIQUE(`email`)\n);',
  "CREATE TABLE `product` (\n\t`id` serial AUTO_INCREMENT NOT NULL,\n\t`sku` char(12) NOT NULL,\n\t`price` decimal(12,4) NOT NULL,\n\t`stock` int NOT NULL DEFAULT 0,\n\t`kind` enum('fish','boat') DEFAULT 'fish',\n\t`is_gone` boolean DEFAULT false,\n\tCONSTRAINT `product_id` PRIMARY KEY(`id`),\n\tCONSTRAINT `product_sku` UNIQUE(`sku`)\n);",
  'CREATE TABLE `order` (\n\t`id` int AUTO_INCREMENT NOT NULL,\n\t`customer_id` int NOT NULL,\n\t`placed` datetime(3),\n\tCONSTRAINT `order_id` PRIMARY KEY(`id`)\n);',
  'CREATE TABLE `line` (\n\t`order_id` int NOT NULL,\n\t`product_id` bigint unsigned NOT NULL,\n\t`quantity` int NOT NULL,\n\tCONSTRAINT `line_order_id_product_id_pk` PRIMARY KEY(`order_id`,`product_id`)\n);',
  'ALTER TABLE `order` ADD CONSTRAINT `order_customer_id_customer_id_fk` FOREIGN KEY (`customer_id`) REFERENCES `customer`(`id`) ON DELETE cascade ON UPDATE no action;',
  'ALTER TABLE `line` ADD CONSTRAINT `line_order_id_order_id_fk` FOREIGN KEY (`order_id`) REFERENCES `order`(`id`) ON DELETE cascade ON UPDATE no action;',
  'ALTER TABLE `line` ADD CONSTRAINT `line_product_id_product_id_fk` FOREIGN KEY (`product_id`) REFERENCES `product`(`id`) ON DELETE no action ON UPDATE no action;',
  'CREATE INDEX `customer_name` ON `customer` (`name`);',
], [
  'ALTER TABLE `customer` ADD `referrer` int;',
  'ALTER TABLE `customer` ADD CONSTRAINT `customer_referrer_fk` FOREIGN KEY (`referrer`) REFERENCES `customer`(`id`) ON DELETE set null ON UPDATE no action;',
  'ALTER TABLE `product` ADD CONSTRAINT `price_check` CHECK (`product`.`price` >= 0);',
  'DROP INDEX `customer_name` ON `customer`;',
  'CREATE TABLE `stock_log` (`id` int AUTO_INCREMENT PRIMARY KEY, `sku` char(12), `difference` int);',
  'CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW BEGIN\n\tINSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock);\nEND',
  'CREATE PROCEDURE stock_of (IN wanted char(12))\nBEGIN\n\tSELECT stock FROM product WHERE sku = wanted;\nEND',
  'CREATE VIEW dear_product AS SELECT id, sku, price FROM product WHERE price > 60;',
]];

async function migrateUpTo(database, number) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'drizzle-'));
  fs.mkdirSync(path.join(folder, 'meta'));
  const entries = MIGRATIONS.slice(0, number).map((statements, idx) => {
    fs.writeFileSync(path.join(folder, `000${idx}_shop.sql`), statements.join('\n--> statement-breakpoint\n'));
    return { idx, version: '5', when: 1700000000000 + idx, tag: `000${idx}_shop`, breakpoints: true };
  });
  fs.writeFileSync(path.join(folder, 'meta', '_journal.json'), JSON.stringify({ version: '7', dialect: 'mysql', entries }));
  await migrate(database, { migrationsFolder: folder });
  fs.rmSync(folder, { recursive: true });
}

run(async (connection) => {
  const pool = mysql.createPool({ ...connection, connectionLimit: 5 });
  const database = drizzle(pool, { schema, mode: 'default' });

  step('migrations, one after the other, and again');
  await migrateUpTo(database, 1);
  await migrateUpTo(database, 2);
  await migrateUpTo(database, 2);
  assert.equal((await database.execute(sql`SELECT COUNT(*) AS n FROM __drizzle_migrations`))[0][0].n, 2);

  step('rows');
  await database.insert(product).values(Array.from({ length: 500 }, (_, n) => ({ sku: `P${n}`, price: String(n / 8), stock: n, kind: n % 2 ? 'boat' : 'fish' })));
  const [{ id: ada }] = await database.insert(customer).values({ email: 'ada@example.org', name: 'Ada Größe 🐟', joined: '2024-02-29', profile: { n: 1.5 } }).$returningId();
  await database.insert(customer).values({ email: 'bob@example.org', name: 'Bob', referrer: ada });
  const placed = new Date('2024-02-29T12:30:15.123Z');
  const [{ id: placedOrder }] = await database.insert(order).values({ customerId: ada, placed }).$returningId();
  const chosen = await database.select().from(product).where(inArray(product.sku, ['P8', 'P16', 'P24'])).orderBy(product.stock);
  await database.insert(line).values(chosen.map((one) => ({ orderId: placedOrder, productId: one.id, quantity: one.stock / 8 })));

  step('transactions and savepoints');
  await refused(1062, () => database.transaction(async (transaction) => {
    await transaction.update(product).set({ stock: 0 });
    await transaction.insert(customer).values({ email: 'ada@example.org', name: 'Ada again' });
  }));
  await database.transaction(async (transaction) => {
    await transaction.transaction(async (inner) => { await inner.delete(line); inner.rollback(); }).catch(() => {});
    await transaction.select().from(product).where(eq(product.sku, 'P1')).for('update');
    await transaction.update(product).set({ stock: sql`${product.stock} + 10` }).where(eq(product.sku, 'P1'));
  }, { isolationLevel: 'read committed', accessMode: 'read write' });
  assert.deepEqual((await database.execute(sql`CALL stock_of(${'P1'})`))[0][0], [{ stock: 11 }]);
  assert.equal((await database.execute(sql`SELECT difference FROM stock_log`))[0][0].difference, 10);

  step('upserts');
  await database.insert(product).values([{ sku: 'P2', price: '7', stock: 22 }, { sku: 'NEW', price: '1' }]).onDuplicateKeyUpdate({ set: { stock: sql`values(${product.stock})` } });
  await database.insert(product).ignore().values({ sku: 'P2', price: '8' });
  assert.deepEqual(await database.select({ price: product.price, stock: product.stock }).from(product).where(eq(product.sku, 'P2')), [{ price: '0.2500', stock: 22 }]);

  step('joins, groups, subqueries, CTE, UNION');
  const turnover = await database.select({ name: customer.name, sum: sum(sql`${line.quantity} * ${product.price}`) }).from(customer).leftJoin(order, eq(order.customerId, customer.id))
    .leftJoin(line, eq(line.orderId, order.id)).leftJoin(product, eq(product.id, line.productId)).groupBy(customer.id).orderBy(customer.id);
  assert.deepEqual(turnover.map((row) => row.sum), ['14.0000', null]);
  const unsold = database.select().from(line).where(eq(line.productId, product.id));
  assert.equal((await database.select({ n: count() }).from(product).where(notExists(unsold)))[0].n, 498);
  const dear = database.$with('dear').as(database.select().from(product).where(gt(product.price, '60')));
  assert.equal((await database.with(dear).select({ n: count() }).from(dear))[0].n, 19);
  const referrer = alias(customer, 'referrer');
  assert.equal((await database.select().from(customer).innerJoin(referrer, eq(referrer.id, customer.referrer)))[0].referrer.id, ada);
  const both = await union(database.select({ id: product.id }).from(product).where(eq(product.id, 1)), database.select({ id: product.id }).from(product).where(eq(product.id, 2)));
  assert.equal(both.length, 2);
  const page = await database.select().from(product).where(and(gt(product.stock, 100), eq(product.isGone, false))).orderBy(desc(product.price)).limit(5).offset(5);
  assert.equal(page[0].sku, 'P494');

  step('relational queries: lateral joins of derived tables with JSON');
  const full = await database.query.customer.findMany({ with: { orders: { with: { lines: { with: { product: true } } } } }, orderBy: customer.id });
  assert.ok(full[0].orders[0].lines.length === 3);

  step('foreign keys and checks refuse, and cascade');
  await refused(1451, () => database.delete(product).where(eq(product.sku, 'P8')));
  await refused(1452, () => database.insert(order).values({ customerId: 4711 }));
  await refused(3819, () => database.update(product).set({ price: '-1' }).where(eq(product.sku, 'P8')));
  await database.delete(customer).where(eq(customer.id, ada));
  assert.deepEqual([await database.select().from(line), (await database.select().from(customer))[0].referrer], [[], null]);
  await pool.end();
});
