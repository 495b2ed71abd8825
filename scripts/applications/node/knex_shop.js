// A shop with Knex: its schema builder, migrations with their lock, seeds and queries. Arguments: port, database.
const knexOf = require('knex');
const { assert, step, refused, run } = require('./common');

const MIGRATIONS = {
  '001_shop': {
    async up(knex) {
      await knex.schema.createTable('customer', (table) => {
        table.increments('id');
        table.string('email', 190).notNullable().unique();
        table.string('name', 100).index().comment('as on the parcel');
        table.json('profile');
        table.timestamps(true, true);
      });
      await knex.schema.createTable('product', (table) => {
        table.bigIncrements('id');
        table.string('sku', 12).notNullable().unique('product_sku');
        table.decimal('price', 12, 4).notNullable().checkPositive('price_is_positive');
        table.integer('stock').unsigned().notNullable().defaultTo(0);
        table.enu('kind', ['fish', 'boat']).defaultTo('fish');
        table.binary('picture');
      });
      await knex.schema.createTable('order', (table) => {
        table.increments('id');
        table.integer('customer_id').unsigned().notNullable().references('id').inTable('customer').onDelete('CASCADE');
        table.datetime('placed', { precision: 6 });
        table.index(['customer_id', 'placed'], 'of_customer');
      });
      await knex.schema.createTable('line', (table) => {
        table.integer('order_id').unsigned().references('order.id').onDelete('CASCADE');
        table.bigInteger('product_id').unsigned().references('product.id');
        table.smallint('quantity').notNullable();
        table.primary(['order_id', 'product_id']);
      });
    },
    async down(knex) {
      for (const table of ['line', 'order', 'product', 'customer']) await knex.schema.dropTable(table);
    },
  },
  '002_phone': {
    async up(knex) {
      await knex.schema.alterTable('customer', (table) => {
        table.string('phone', 30).nullable().after('name');
        table.integer('referrer').unsigned();
        table.foreign('referrer', 'customer_referrer').references('customer.id').onDelete('SET NULL');
        table.renameColumn('name', 'full_name');
        table.unique(['phone'], { indexName: 'phone_is_unique' });
      });
      await knex.schema.alterTable('product', (table) => table.bigInteger('stock').notNullable().defaultTo(1).alter());
    },
    async down(knex) {
      await knex.schema.alterTable('product', (table) => table.integer('stock').unsigned().notNullable().defaultTo(0).alter());
      await knex.schema.alterTable('customer', (table) => {
        table.dropForeign('referrer', 'customer_referrer');
        table.dropColumn('referrer');
        table.dropUnique(['phone'], 'phone_is_unique');
        table.dropColumn('phone');
        table.renameColumn('full_name', 'name');
      });
    },
  },
};

const migrationSource = {
  getMigrations: async () => Object.keys(MIGRATIONS),
  getMigrationName: (name) => name,
  getMigration: async (name) => MIGRATIONS[name],
};

run(async (connection) => {
  const knex = knexOf({ client: 'mysql2', connection, pool: { min: 0, max: 5 }, migrations: { migrationSource } });

  step('migrations up, down, and up again');
  assert.equal((await knex.migrate.latest())[1].length, 2);
  await knex.migrate.rollback(undefined, true);
  assert.equal(await knex.schema.hasTable('customer'), false);
  await knex.migrate.up();
  await knex.migrate.up();
  await knex.migrate.down();
  await knex.migrate.latest();
  assert.equal(await knex.migrate.currentVersion(), '002');

  step('a trigger, a procedure and a view');
  await knex.schema.createTable('stock_log', (table) => { table.increments(); table.string('sku', 12); table.bigint('difference'); });
  await knex.raw('CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock)');
  await knex.raw('CREATE PROCEDURE stock_of (IN wanted VARCHAR(12)) SELECT stock FROM product WHERE sku = wanted');
  await knex.schema.createView('dear_product', (view) => { view.columns(['id', 'sku', 'price']); view.as(knex('product').select('id', 'sku', 'price').where('price', '>', 60)); });

  step('rows in batches');
  const rows = Array.from({ length: 500 }, (_, n) => ({ sku: `P${n}`, price: (n + 1) / 8, stock: n, kind: n % 2 ? 'boat' : 'fish', picture: Buffer.from([0, 255, n % 256]) }));
  await knex.batchInsert('product', rows, 100);
  const [ada] = await knex('customer').insert({ email: 'ada@example.org', full_name: 'Ada Größe 🐟', profile: JSON.stringify({ n: 1.5, tags: ['a'] }) });
  await knex('customer').insert({ email: 'bob@example.org', full_name: 'Bob', referrer: ada });
  const [order] = await knex('order').insert({ customer_id: ada, placed: '2024-02-29 23:59:58.123456' });
  await knex('line').insert(knex.select(knex.raw('?', [order]), 'id', knex.raw('id DIV 8')).from('product').whereIn('id', [8, 16, 24]));
  assert.equal((await knex('dear_product').count({ n: '*' }))[0].n, 20);

  step('transactions and savepoints');
  await refused(1062, () => knex.transaction(async (transaction) => {
    await transaction('product').update({ stock: 0 });
    await transaction('customer').insert({ email: 'ada@example.org' });
  }));
  await knex.transaction(async (transaction) => {
    await transaction.transaction((inner) => inner('product').where({ sku: 'P1' }).delete().then(() => { throw new Error('back'); })).catch(() => {});
    await transaction('product').forUpdate().where({ sku: 'P1' }).first();
    await transaction('product').where({ sku: 'P1' }).decrement('stock', 1);
  }, { isolationLevel: 'repeatable read' });
  assert.deepEqual((await knex.raw("CALL stock_of('P1')"))[0][0], [{ stock: 0 }]);
  assert.equal((await knex('stock_log').where({ difference: -1 })).length, 1);

  step('upserts');
  await knex('product').insert([{ sku: 'P2', price: 7, stock: 22 }, { sku: 'NEW', price: 1 }]).onConflict('sku').merge(['stock']);
  await knex('product').insert({ sku: 'P2', price: 8 }).onConflict('sku').ignore();
  assert.deepEqual(await knex('product').select('price', 'stock').where({ sku: 'P2' }), [{ price: '0.3750', stock: 22 }]);

  step('joins, groups, subqueries, CTE, windows, UNION, JSON');
  const turnover = await knex('customer as c').leftJoin('order as o', 'o.customer_id', 'c.id').leftJoin('line as l', 'l.order_id', 'o.id')
    .leftJoin('product as p', 'p.id', 'l.product_id').groupBy('c.id').orderBy('c.id').select('c.full_name').sum({ sum: knex.raw('l.quantity * p.price') });
  assert.deepEqual(turnover.map((row) => row.sum), ['14.0000', null]);
  assert.equal((await knex('product').whereNotExists(knex('line').whereRaw('line.product_id = product.id')).count({ n: '*' }))[0].n, 498);
  assert.equal((await knex.with('dear', knex('product').where('price', '>', 60)).from('dear').count({ n: '*' }))[0].n, 20);
  assert.equal((await knex('product').where({ id: 1 }).select('id').union([knex('product').where({ id: 2 }).select('id')])).length, 2);
  assert.equal((await knex('customer').whereJsonPath('profile', '$.n', '=', 1.5)).length, 1);
  const ranked = await knex('product').select('sku').rank('place', 'price', 'kind');
  assert.ok(ranked.length === 501);
  const numbers = await knex.withRecursive('numbers', ['n'], (seed) =>
    seed.select('n').from(knex.raw('(SELECT 1 AS n) AS one')).unionAll((next) => next.select(knex.raw('n + 1')).from('numbers').where('n', '<', 10))).from('numbers').sum({ sum: 'n' });
  assert.ok(Number(numbers[0].sum) === 55);

  step('introspection');
  const columns = await knex('customer').columnInfo();
  assert.deepEqual([columns.phone.type, columns.phone.maxLength, columns.email.nullable], ['varchar', 30, false]);
  assert.equal(await knex.schema.hasColumn('product', 'stock'), true);

  step('foreign keys and checks refuse, and cascade');
  await refused(1451, () => knex('product').where({ id: 8 }).delete());
  await refused(1452, () => knex('order').insert({ customer_id: 4711 }));
  await refused(3819, () => knex('product').where({ id: 8 }).update({ price: 0 }));
  await knex('customer').where({ id: ada }).delete();
  assert.deepEqual([await knex('line').select(), await knex('customer').select('referrer')], [[], [{ referrer: null }]]);
  await knex.destroy();
});
