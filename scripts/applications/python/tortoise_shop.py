"""A shop with Tortoise on asyncmy: schema, relations, transactions at once on several connections. Arguments: port, database."""

import asyncio
import datetime
import decimal
import sys
import uuid
from enum import Enum

from tortoise import Tortoise, connections, fields
from tortoise.exceptions import IntegrityError
from tortoise.expressions import F, Q, Subquery
from tortoise.functions import Count, Sum
from tortoise.models import Model
from tortoise.transactions import in_transaction

port, name = int(sys.argv[1]), sys.argv[2]


def step(what):
    print(what, flush=True)


class Status(str, Enum):
    placed = "placed"
    paid = "paid"


class Customer(Model):
    id = fields.IntField(primary_key=True)
    email = fields.CharField(max_length=190, unique=True)
    name = fields.CharField(max_length=100, db_index=True)
    joined = fields.DateField()
    profile = fields.JSONField(null=True)
    changed = fields.DatetimeField(auto_now=True)


class Tag(Model):
    word = fields.CharField(max_length=30, primary_key=True)


class Product(Model):
    id = fields.UUIDField(primary_key=True)
    sku = fields.CharField(max_length=12, unique=True)
    price = fields.DecimalField(max_digits=12, decimal_places=4)
    stock = fields.BigIntField(default=0)
    weight = fields.FloatField(null=True)
    picture = fields.BinaryField(null=True)
    tags = fields.ManyToManyField("models.Tag", related_name="products")


class Order(Model):
    id = fields.BigIntField(primary_key=True)
    customer = fields.ForeignKeyField("models.Customer", related_name="orders", on_delete=fields.CASCADE)
    status = fields.CharEnumField(Status, default=Status.placed)
    placed = fields.DatetimeField()
    waits = fields.TimeDeltaField(null=True)

    class Meta:
        indexes = [("customer", "placed")]


class Line(Model):
    order = fields.ForeignKeyField("models.Order", related_name="lines", on_delete=fields.CASCADE)
    product = fields.ForeignKeyField("models.Product", related_name="lines", on_delete=fields.RESTRICT)
    quantity = fields.SmallIntField()

    class Meta:
        unique_together = (("order", "product"),)


async def make_schema():
    step("make the schema, twice")
    url = f"mysql://root@127.0.0.1:{port}/{name}?charset=utf8mb4"
    await Tortoise.init(db_url=url, modules={"models": ["__main__"]})
    await Tortoise.generate_schemas()
    await Tortoise.generate_schemas(safe=True)


async def insert():
    step("insert rows, one and many")
    await Product.bulk_create(
        [
            Product(id=uuid.uuid5(uuid.NAMESPACE_OID, str(n)), sku=f"P{n:05}", price=decimal.Decimal(n) / 8, stock=n, weight=n / 3, picture=bytes(range(256)))
            for n in range(500)
        ]
    )
    red, blue = await Tag.create(word="rot"), await Tag.create(word="blau 🐟")
    product = await Product.get(sku="P00008")
    await product.tags.add(red, blue)
    ada = await Customer.create(email="ada@example.org", name="Ada Größe", joined=datetime.date(2024, 2, 29), profile={"n": 1.5, "tags": ["a"]})
    await Customer.create(email="bob@example.org", name="Bob", joined=datetime.date(1999, 12, 31))
    moment = datetime.datetime(2024, 2, 29, 23, 59, 58, 123456, tzinfo=datetime.timezone.utc)
    order = await Order.create(customer=ada, placed=moment, waits=datetime.timedelta(hours=3))
    for n in (8, 16, 24):
        await Line.create(order=order, product=await Product.get(sku=f"P{n:05}"), quantity=n // 8)
    again = await Order.get(id=order.id)
    assert (again.placed, again.waits, again.status) == (moment, datetime.timedelta(hours=3), Status.placed)


async def stored_programs():
    step("a trigger and a procedure")
    connection = connections.get("default")
    await connection.execute_script("CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(12), difference BIGINT)")
    await connection.execute_script(
        "CREATE TRIGGER product_stock BEFORE UPDATE ON product FOR EACH ROW INSERT INTO stock_log (sku, difference) VALUES (OLD.sku, NEW.stock - OLD.stock)"
    )
    await connection.execute_script("CREATE PROCEDURE stock_of (IN wanted VARCHAR(12)) SELECT stock FROM product WHERE sku = wanted")
    await Product.filter(sku__in=["P00001", "P00002"]).update(stock=F("stock") + 10)
    assert await connection.execute_query_dict("CALL stock_of('P00002')") == [{"stock": 12}]
    assert len(await connection.execute_query_dict("SELECT * FROM stock_log WHERE difference = 10")) == 2


async def transactions():
    step("transactions: rolled back, nested, and many at once")
    try:
        async with in_transaction():
            await Product.all().update(stock=0)
            await Customer.create(email="ada@example.org", name="Ada again", joined=datetime.date(2020, 1, 1))
        raise AssertionError("a second customer of one address")
    except IntegrityError:
        pass
    assert (await Product.get(sku="P00001")).stock == 11

    async def take(amount):
        async with in_transaction() as connection:
            product = await Product.select_for_update().using_db(connection).get(sku="P00100")
            product.stock -= amount
            await product.save(using_db=connection, update_fields=["stock"])

    await asyncio.gather(*(take(2) for _ in range(20)))
    assert (await Product.get(sku="P00100")).stock == 60


async def upserts():
    step("upserts")
    await Product.bulk_create(
        [Product(id=uuid.uuid4(), sku="P00003", price=3, stock=33), Product(id=uuid.uuid4(), sku="NEW", price=1)],
        on_conflict=["sku"], update_fields=["stock"],
    )
    assert (await Product.get(sku="P00003")).stock == 33
    assert await Product.all().count() == 501
    _, made = await Tag.get_or_create(word="rot")
    customer, _ = await Customer.update_or_create(defaults={"name": "Robert"}, email="bob@example.org")
    assert (made, customer.name) == (False, "Robert")


async def queries():
    step("joins, groups, subqueries, prefetches, JSON")
    rows = await Customer.all().annotate(lines=Count("orders__lines"), amount=Sum("orders__lines__quantity")).order_by("id").values_list("name", "lines", "amount")
    assert rows == [("Ada Größe", 3, 6), ("Robert", 0, None)], rows
    ada = await Customer.get(profile__contains={"n": 1.5}).prefetch_related("orders__lines__product")
    assert sorted(line.product.price for line in ada.orders[0].lines) == [1, 2, 3]
    assert await Customer.filter(profile__filter={"n": 1.5}).count() == 1
    assert await Product.filter(Q(tags__word="rot") | Q(tags__word="grün")).distinct().count() == 1
    assert await Product.filter(id__in=Subquery(Line.all().values("product_id"))).count() == 3
    assert await Product.filter(sku__icontains="p0000", price__gte=1).order_by("-price").limit(3).values_list("sku", flat=True) == ["P00009", "P00008"]


async def cascades():
    step("cascades, and what they refuse")
    try:
        await Product.filter(sku="P00008").delete()
        raise AssertionError("a product with lines is gone")
    except IntegrityError as error:
        assert error.args[0].args[0] == 1451, error
    await Customer.filter(email="ada@example.org").delete()
    assert (await Order.all().count(), await Line.all().count()) == (0, 0)


async def main():
    await make_schema()
    await insert()
    await stored_programs()
    await transactions()
    await upserts()
    await queries()
    await cascades()
    await Tortoise.close_connections()


asyncio.run(main())
