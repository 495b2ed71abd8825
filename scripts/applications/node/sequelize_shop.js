// A shop with Sequelize: sync, associations, transactions, upserts, and migrations by its QueryInterface. Arguments: port, database.
const { Sequelize, DataTypes, Op } = require('sequelize');
const { assert, step, refused, run } = require('./common');

function models(sequelize) {
  const Customer = sequelize.define('customer', {
    email: { type: DataTypes.STRING(190), allowNull: false, unique: true },
    name: { type: DataTypes.STRING(100), allowNull: false, comment: 'as on the parcel' },
    joined: { type: DataTypes.DATEONLY },
    profile: { type: DataTypes.JSON },
  }, { indexes: [{ fields: ['name', 'joined'] }], paranoid: true });
  const Product = sequelize.define('product', {
    id: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, primaryKey: true },
    sku: { type: DataTypes.CHAR(12), unique: 'sku' },
    price: { type: DataTypes.DECIMAL(12, 4), allowNull: false },
    stock: { type: DataTypes.INTEGER.UNSIGNED, defaultValue: 0 },
    kind: { type: DataTypes.ENUM('fish', 'boat'), defaultValue: 'fish' },
    picture: { type: DataTypes.BLOB },
  }, { timestamps: false });
  const Order = sequelize.define('order', { placed: DataTypes.DATE(6), isPaid: { type: DataTypes.BOOLEAN, defaultValue: false } });
  const Line = sequelize.define('line', { quantity: { type: DataTypes.SMALLINT, allowNull: false } }, { timestamps: false });
  Customer.hasMany(Order, { onDelete: 'CASCADE', foreignKey: { allowNull: false } });
  Order.belongsTo(Customer);
  Order.belongsToMany(Product, { through: Line });
  Product.belongsToMany(Order, { through: Line });
  Order.hasMany(Line);
  Line.belongsTo(Product);
  return { Customer, Product, Order, Line };
}

run(async (connection) => {
  const sequelize = new Sequelize({ dialect: 'mysql', ...connection, username: 'root', logging: false, pool: { max: 5 } });
  const { Customer, Product, Order, Line } = models(sequelize);

  step('sync: made, changed, made anew');
  await sequelize.sync();
  await sequelize.sync({ alter: true });
  await sequelize.sync({ force: true });
  assert.deepEqual((await sequelize.getQueryInterface().showAllTables()).sort(), ['customers', 'lines', 'orders', 'products']);

  step('a trigger and a procedure');
  await sequelize.query('CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12), difference INT)');
  await sequelize.query('CREATE TRIGGER product_stock AFTER UPDATE ON products FOR EACH ROW ' +
    'INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, CAST(NEW.stock AS SIGNED) - CAST(OLD.stock AS SIGNED))');
  await sequelize.query('CREATE PROCEDURE stock_of (IN wanted CHAR(12)) SELECT stock FROM products WHERE sku = wanted');

  step('rows, one and many');
  await Product.bulkCreate(Array.from({ length: 500 }, (_, n) =>
    ({ sku: `P${n}`, price: n / 8, stock: n, kind: n % 2 ? 'boat' : 'fish', picture: Buffer.from([0, 1, 255, n % 256]) })));
  const placed = new Date('2024-02-29T23:59:58.123Z');
  const ada = await Customer.create({ email: 'ada@example.org', name: 'Ada Größe 🐟', joined: '2024-02-29', profile: { n: 15, tags: ['a'] } });
  const order = await ada.createOrder({ placed });
  for (const n of [8, 16, 24]) {
    await order.addProduct(await Product.findOne({ where: { sku: `P${n}` } }), { through: { quantity: n / 8 } });
  }
  assert.equal((await Order.findByPk(order.id)).placed.getTime(), placed.getTime());

  step('transactions: rolled back, committed, with a lock');
  await refused(1062, () => sequelize.transaction(async (transaction) => {
    await Product.update({ stock: 0 }, { where: {}, transaction });
    await Customer.create({ email: 'ada@example.org', name: 'Ada again' }, { transaction });
  }));
  await Promise.all(Array.from({ length: 10 }, () => sequelize.transaction(async (transaction) => {
    const product = await Product.findOne({ where: { sku: 'P100' }, lock: transaction.LOCK.UPDATE, transaction });
    await product.update({ stock: product.stock - 2 }, { transaction });
  })));
  assert.deepEqual(await sequelize.query("CALL stock_of('P100')"), [{ stock: 80 }]);
  assert.equal((await sequelize.query('SELECT COUNT(*) AS n FROM stock_log', { type: Sequelize.QueryTypes.SELECT }))[0].n, 10);

  step('upserts, findOrCreate, increment');
  await Customer.upsert({ email: 'ada@example.org', name: 'Ada Lovelace', joined: '2024-02-29' });
  await Product.bulkCreate([{ sku: 'P1', price: 1, stock: 11 }, { sku: 'NEW', price: 1 }], { updateOnDuplicate: ['stock'] });
  assert.equal((await Customer.findOrCreate({ where: { email: 'bob@example.org' }, defaults: { name: 'Bob' } }))[1], true);
  await Product.increment({ stock: 5 }, { where: { sku: 'P1' } });
  assert.equal((await Product.findOne({ where: { sku: 'P1' } })).stock, 16);
  assert.equal(await Product.count(), 501);

  step('includes, groups, JSON, pages');
  const full = await Customer.findOne({ where: { name: { [Op.like]: 'Ada%' } }, include: [{ model: Order, include: [{ model: Product }] }] });
  assert.deepEqual(full.orders[0].products.map((one) => one.price).sort(), ['1.0000', '2.0000', '3.0000']);
  const sums = await Line.findAll({ attributes: ['orderId', [sequelize.fn('SUM', sequelize.col('quantity')), 'sum']], group: ['orderId'], raw: true });
  assert.equal(Number(sums[0].sum), 6);
  assert.equal(await Customer.count({ where: { 'profile.n': 15 } }), 1);
  const page = await Product.findAndCountAll({ where: { price: { [Op.between]: [1, 10] } }, order: [['price', 'DESC']], limit: 5, offset: 5 });
  assert.deepEqual([page.count, page.rows.length, page.rows[0].price], [74, 5, '9.3750']);
  // The rows of includes that are limited come from a derived table.
  const limited = await Order.findAll({ include: [{ model: Line, include: [Product] }], limit: 2, order: [['id', 'ASC']] });
  assert.equal(limited[0].lines.length, 3);

  step('migrations by the QueryInterface');
  const changes = sequelize.getQueryInterface();
  await changes.addColumn('customers', 'phone', { type: DataTypes.STRING(30), allowNull: true, after: 'name' });
  await changes.addColumn('orders', 'sellerId', { type: DataTypes.INTEGER, references: { model: 'customers', key: 'id' }, onDelete: 'SET NULL' });
  await changes.addIndex('customers', ['phone'], { unique: true, name: 'customers_phone' });
  await changes.changeColumn('customers', 'phone', { type: DataTypes.STRING(60), allowNull: false, defaultValue: '' }).then(
    () => assert.fail('two rows have the same phone'), () => {});
  await changes.changeColumn('customers', 'phone', { type: DataTypes.STRING(60), allowNull: true });
  await changes.renameColumn('customers', 'phone', 'telephone');
  await changes.addConstraint('products', { type: 'check', fields: ['price'], name: 'price_is_positive', where: { price: { [Op.gte]: 0 } } });
  await refused(3819, () => Product.update({ price: -1 }, { where: { sku: 'P1' } }));
  await changes.removeConstraint('orders', 'orders_sellerId_foreign_idx');
  await changes.removeColumn('orders', 'sellerId');
  await changes.removeIndex('customers', 'customers_phone');
  await changes.renameTable('stock_log', 'log_of_stock');

  step('introspection');
  const columns = await changes.describeTable('customers');
  assert.deepEqual([columns.telephone.type, columns.email.allowNull, columns.id.autoIncrement], ['VARCHAR(60)', false, true]);
  const keys = await changes.getForeignKeyReferencesForTable('lines');
  assert.deepEqual(keys.map((key) => `${key.columnName} ${key.referencedTableName}`).sort(), ['orderId orders', 'productId products']);
  assert.ok((await changes.showIndex('customers')).some((index) => index.name === 'customers_name_joined'));
  await changes.renameTable('log_of_stock', 'stock_log');

  step('soft and hard deletes');
  await ada.destroy();
  assert.deepEqual([await Customer.count(), await Customer.count({ paranoid: false })], [1, 2]);
  await ada.destroy({ force: true });
  assert.deepEqual([await Order.count(), await Line.count()], [0, 0]);
  await sequelize.close();
});
