"""A shop with peewee: models, its migrations of `playhouse`, upserts, prefetches, and reflection. Arguments: port, database."""

import datetime
import decimal
import sys

import peewee
from playhouse.migrate import MySQLMigrator, migrate
from playhouse.mysql_ext import JSONField
from playhouse.reflection import Introspector

port, name = int(sys.argv[1]), sys.argv[2]
database = peewee.MySQLDatabase(name, host="127.0.0.1", port=port, user="root", password="", charset="utf8mb4")


def step(what):
    print(what, flush=True)


class Model(peewee.Model):
    class Meta:
        database = database
        legacy_table_names = False


class Customer(Model):
    email = peewee.CharField(unique=True)
    name = peewee.CharField(max_length=100)
    joined = peewee.DateField()
    profile = JSONField(null=True)
    referrer = peewee.ForeignKeyField("self", null=True, backref="referred", on_delete="SET NULL")


class Product(Model):
    sku = peewee.FixedCharField(max_length=12, unique=True)
    title = peewee.CharField(index=True)
    price = peewee.DecimalField(max_digits=12, decimal_places=4, constraints=[peewee.Check("price >= 0")])
    stock = peewee.IntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])
    picture = peewee.BlobField(null=True)


class Order(Model):
    customer = peewee.ForeignKeyField(Customer, backref="orders", on_delete="CASCADE", on_update="CASCADE")
    placed = peewee.DateTimeField(default=lambda: datetime.datetime(2024, 2, 29, 12, 30), index=True)
    note = peewee.TextField(null=True)
    is_paid = peewee.BooleanField(default=False)

    class Meta:
        table_name = "order"
        indexes = ((("customer", "placed"), False),)


class OrderLine(Model):
    order = peewee.ForeignKeyField(Order, backref="lines", on_delete="CASCADE")
    product = peewee.ForeignKeyField(Product, on_delete="RESTRICT")
    quantity = peewee.SmallIntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("order", "product")


class StockLog(Model):
    sku = peewee.CharField(max_length=12)
    difference = peewee.IntegerField()


MODELS = [Customer, Product, Order, OrderLine, StockLog]

step("create the tables, twice")
database.connect()
database.create_tables(MODELS)
database.create_tables(MODELS)
assert sorted(database.get_tables()) == ["customer", "order", "order_line", "product", "stock_log"], database.get_tables()

step("a trigger, a procedure, a function, a view and an event")
for statement in [
    "CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW "
    "BEGIN IF NEW.stock <> OLD.stock THEN INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock); END IF; END",
    "CREATE PROCEDURE order_total (IN wanted INT, OUT total DECIMAL(20,4)) READS SQL DATA "
    "SELECT SUM(l.quantity * p.price) INTO total FROM order_line l JOIN product p ON p.id = l.product_id WHERE l.order_id = wanted",
    "CREATE FUNCTION with_tax (net DECIMAL(20,4)) RETURNS DECIMAL(20,4) DETERMINISTIC RETURN ROUND(net * 1.19, 4)",
    "CREATE VIEW dear_product AS SELECT id, sku, price FROM product WHERE price > 100",
    "CREATE EVENT forget_log ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'old entries' DO DELETE FROM stock_log WHERE id < 0",
]:
    database.execute_sql(statement)

step("insert one and many, in a transaction")
with database.atomic():
    ada = Customer.create(
        email="ada@example.org", name="Ada Größe 鯉 🐟", joined=datetime.date(2024, 2, 29), profile={"tags": ["a", "b"], "n": 1.5}
    )
    bob = Customer.create(email="bob@example.org", name="Bob", joined=datetime.date(1999, 12, 31), referrer=ada)
    Product.insert_many(
        [
            dict(sku=f"P{number:05}", title=f"Product {number % 10}", price=decimal.Decimal(number) / 8, stock=number, picture=bytes(range(256)))
            for number in range(1000)
        ]
    ).execute()
assert Product.select().count() == 1000

step("a savepoint that is rolled back, and a transaction that fails")
with database.atomic():
    Customer.create(email="eve@example.org", name="Eve", joined=datetime.date(2020, 1, 1))
    with database.atomic() as savepoint:
        Customer.delete().execute()
        savepoint.rollback()
assert Customer.select().count() == 3
try:
    with database.atomic():
        Product.update(stock=0).execute()
        Customer.create(email="ada@example.org", name="Ada again", joined=datetime.date(2020, 1, 1))
    raise AssertionError("a second customer of one address")
except peewee.IntegrityError as error:
    assert error.args[0] == 1062, error
assert Product.select(peewee.fn.SUM(Product.stock)).scalar() == 499500
assert StockLog.select().count() == 0

step("upserts: ON DUPLICATE KEY UPDATE, INSERT IGNORE, REPLACE")
Product.insert(sku="P00001", title="Renamed", price=7, stock=5).on_conflict(
    preserve=[Product.title], update={Product.stock: Product.stock + 10}
).execute()
Product.insert(sku="P00001", title="Ignored", price=8).on_conflict_ignore().execute()
assert (Product.get(sku="P00001").title, Product.get(sku="P00001").stock) == ("Renamed", 11)
assert [(row.sku, row.difference) for row in StockLog.select()] == [("P00001", 10)]
Product.replace(sku="P00999", title="Replaced", price=decimal.Decimal("999.9999")).execute()
assert Product.get(sku="P00999").price == decimal.Decimal("999.9999")
assert Product.get_or_create(sku="P00999", defaults=dict(title="x", price=1))[1] is False

step("orders with lines, and their total by CALL")
order = Order.create(customer=ada, note="bitte läuten")
for number in (8, 16, 24):
    OrderLine.create(order=order, product=Product.get(sku=f"P{number:05}"), quantity=number // 8)
database.execute_sql("CALL order_total(%s, @total)", (order.id,))
assert database.execute_sql("SELECT @total, with_tax(@total)").fetchone() == (decimal.Decimal("14.0000"), decimal.Decimal("16.6600"))

step("joins, aggregates, subqueries, windows, common table expressions")
turnover = (
    Customer.select(Customer.name, peewee.fn.SUM(OrderLine.quantity * Product.price).alias("turnover"))
    .join(Order, peewee.JOIN.LEFT_OUTER).join(OrderLine, peewee.JOIN.LEFT_OUTER).join(Product, peewee.JOIN.LEFT_OUTER)
    .group_by(Customer.id).order_by(Customer.id)
)
assert [row.turnover for row in turnover] == [decimal.Decimal("14.0000"), None, None]
parent = Customer.alias()
pairs = Customer.select(Customer.name, parent.name.alias("by")).join(parent, on=(Customer.referrer == parent.id)).tuples()
assert list(pairs) == [("Bob", "Ada Größe 鯉 🐟")]
bought = Product.select().where(Product.id.in_(OrderLine.select(OrderLine.product)))
assert bought.count() == 3
rank = peewee.fn.ROW_NUMBER().over(partition_by=[Product.title], order_by=[Product.price.desc()])
ranked = Product.select(Product.sku, rank.alias("place")).alias("ranked")
best = peewee.Select([ranked], [ranked.c.sku]).where(ranked.c.place == 1).bind(database)
rows = list(best)
assert len(rows) == 12
numbers = peewee.Select(columns=(peewee.Value(1).alias("n"),)).cte("numbers", recursive=True, columns=("n",))
numbers = numbers.union_all(peewee.Select([numbers], [numbers.c.n + 1]).where(numbers.c.n < 10))
rows = list(numbers.select_from(numbers.c.n).bind(database).dicts())
assert sum(row["n"] for row in rows) == 55
with_lines = peewee.prefetch(Order.select(), OrderLine.select(), Product.select())
assert [len(one.lines) for one in with_lines] == [3]

step("JSON")
assert Customer.get(email="ada@example.org").profile == {"tags": ["a", "b"], "n": 1.5}
assert Customer.select().where(Customer.profile.extract("$.n") == 1.5).count() == 1
Customer.update(profile=peewee.fn.JSON_SET(Customer.profile, "$.n", 2)).where(Customer.id == ada.id).execute()
assert Customer.get_by_id(ada.id).profile["n"] == 2

step("SELECT FOR UPDATE, and arithmetic in UPDATE")
with database.atomic():
    locked = Product.select().where(Product.sku == "P00008").for_update().get()
    Product.update(stock=Product.stock - 1).where(Product.id == locked.id).execute()
assert Product.get(sku="P00008").stock == 7

step("foreign keys and checks refuse")
for number, refused in [
    (1451, lambda: Product.delete().where(Product.sku == "P00008").execute()),
    (1452, lambda: Order.create(customer=4711)),
    (3819, lambda: Product.update(price=-1).where(Product.sku == "P00008").execute()),
]:
    try:
        refused()
        raise AssertionError(f"{number} was expected")
    except (peewee.IntegrityError, peewee.OperationalError) as error:
        # MariaDB has a number of its own for checks.
        assert error.args[0] in (number, 4025 if number == 3819 else number), error

step("migrations: columns and indexes come, change and go")
migrator = MySQLMigrator(database)
migrate(
    migrator.add_column("customer", "phone", peewee.CharField(max_length=30, null=True)),
    migrator.add_column("customer", "score", peewee.IntegerField(default=3)),
    migrator.add_column("order", "seller_id", peewee.ForeignKeyField(Customer, field=Customer.id, null=True, on_delete="SET NULL")),
    migrator.add_index("customer", ("name", "joined"), False),
    migrator.rename_column("product", "title", "label"),
    migrator.alter_column_type("product", "stock", peewee.BigIntegerField(default=0)),
)
migrate(
    migrator.drop_not_null("customer", "joined"),
    migrator.add_not_null("customer", "joined"),
    migrator.drop_index("customer", "customer_name_joined"),
    migrator.add_unique("customer", "phone"),
    migrator.rename_table("stock_log", "log_of_stock"),
    migrator.drop_column("customer", "score"),
    migrator.drop_column("order", "seller_id"),
)

step("reflection")
models = Introspector.from_database(database).generate_models(table_names=["customer", "product", "order", "order_line"])
assert models["product"]._meta.columns["label"].__class__ is peewee.CharField
assert models["order"].customer.rel_model is models["customer"]
assert models["product"].select().where(models["product"].label == "Renamed").count() == 1
keys = {(key.column, key.dest_table, key.dest_column) for key in database.get_foreign_keys("order_line")}
assert keys == {("order_id", "order", "id"), ("product_id", "product", "id")}, keys
assert database.get_primary_keys("order_line") == ["order_id", "product_id"]
assert {tuple(index.columns) for index in database.get_indexes("customer") if index.unique} == {("id",), ("email",), ("phone",)}
assert [view.name for view in database.get_views()] == ["dear_product"]

step("cascades")
ada.delete_instance()
assert (Order.select().count(), OrderLine.select().count(), Customer.get(name="Bob").referrer) == (0, 0, None)
database.close()
