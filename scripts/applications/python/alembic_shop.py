"""A shop with SQLAlchemy, its schema made and changed by Alembic's migrations and compared with what the models say. Arguments: port, database."""

import datetime
import decimal
import enum
import sys
from typing import Optional

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata, produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

port, name = int(sys.argv[1]), sys.argv[2]
engine = sa.create_engine(f"mysql+pymysql://root@127.0.0.1:{port}/{name}?charset=utf8mb4", isolation_level="READ COMMITTED", pool_pre_ping=True)


def step(what):
    print(what, flush=True)


def rows_of(query):
    with engine.connect() as connection:
        return connection.execute(query).all()


class Base(DeclarativeBase):
    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
        }
    )


class Status(enum.Enum):
    placed = "placed"
    paid = "paid"
    sent = "sent"


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(190), unique=True)
    name: Mapped[str] = mapped_column(sa.String(100), index=True, comment="as on the parcel")
    joined: Mapped[datetime.date]
    profile: Mapped[Optional[dict]] = mapped_column(sa.JSON)
    changed: Mapped[datetime.datetime] = mapped_column(sa.DateTime, server_default=sa.func.now())
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan", passive_deletes=True)


class Product(Base):
    __tablename__ = "product"
    __table_args__ = (sa.CheckConstraint("price >= 0", name="price"), {"mysql_engine": "InnoDB", "comment": "what is sold"})
    id: Mapped[int] = mapped_column(mysql.BIGINT(unsigned=True), primary_key=True)
    sku: Mapped[str] = mapped_column(sa.CHAR(12), unique=True)
    label: Mapped[str] = mapped_column(sa.String(200))
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(12, 4))
    gross: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(12, 2), sa.Computed("price * 1.19", persisted=True))
    stock: Mapped[int] = mapped_column(server_default="0")


class Order(Base):
    __tablename__ = "order"
    __table_args__ = (sa.Index("ix_order_customer_placed", "customer_id", "placed"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customer.id", ondelete="CASCADE"))
    placed: Mapped[datetime.datetime] = mapped_column(mysql.DATETIME(fsp=6))
    status: Mapped[Status] = mapped_column(sa.Enum(Status), server_default="placed")
    customer: Mapped[Customer] = relationship(back_populates="orders")
    lines: Mapped[list["Line"]] = relationship(cascade="all, delete-orphan", passive_deletes=True)


class Line(Base):
    __tablename__ = "order_line"
    order_id: Mapped[int] = mapped_column(sa.ForeignKey("order.id", ondelete="CASCADE"), primary_key=True)
    product_id: Mapped[int] = mapped_column(mysql.BIGINT(unsigned=True), sa.ForeignKey("product.id"), primary_key=True)
    quantity: Mapped[int] = mapped_column(sa.SmallInteger)
    product: Mapped[Product] = relationship()


def differences(connection):
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    return compare_metadata(context, Base.metadata)


step("the first migration, as Alembic generates it from the models")
with engine.begin() as connection:
    context = MigrationContext.configure(connection)
    script = produce_migrations(context, Base.metadata)
    operations = Operations(context)
    with operations.context(context):
        pending = list(script.upgrade_ops.ops)
        while pending:
            operation = pending.pop(0)
            if hasattr(operation, "ops"):
                pending = list(operation.ops) + pending
            else:
                operations.invoke(operation)

step("nothing is left to migrate")
with engine.connect() as connection:
    assert differences(connection) == [], differences(connection)

step("a trigger and a procedure")
with engine.begin() as connection:
    connection.execute(sa.text("CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12) NOT NULL, difference INT NOT NULL)"))
    connection.execute(
        sa.text(
            "CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW "
            "INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, CAST(NEW.stock AS SIGNED) - OLD.stock)"
        )
    )
    connection.execute(
        sa.text(
            "CREATE PROCEDURE lines_of (IN wanted INT) READS SQL DATA BEGIN "
            "SELECT l.quantity, p.sku FROM order_line l JOIN product p ON p.id = l.product_id WHERE l.order_id = wanted ORDER BY p.sku; "
            "SELECT COUNT(*) FROM order_line WHERE order_id = wanted; END"
        )
    )

step("a unit of work: objects, their keys and many rows at once")
with Session(engine) as session:
    products = [Product(sku=f"P{number:05}", label=f"Product {number % 10}", price=decimal.Decimal(number) / 8, stock=number) for number in range(500)]
    session.add_all(products)
    ada = Customer(email="ada@example.org", name="Ada Größe 鯉 🐟", joined=datetime.date(2024, 2, 29), profile={"n": 1.5, "tags": ["a"]})
    moment = datetime.datetime(2024, 2, 29, 23, 59, 58, 123456)
    ada.orders = [Order(placed=moment, lines=[Line(product=products[8 * (n + 1)], quantity=n + 1) for n in range(3)])]
    session.add_all([ada, Customer(email="bob@example.org", name="Bob", joined=datetime.date(1999, 12, 31))])
    session.commit()
    assert (ada.orders[0].placed, ada.orders[0].status, products[8].gross) == (moment, Status.placed, decimal.Decimal("1.19"))

step("savepoints, and a key that is taken")
with Session(engine) as session:
    session.add(Customer(email="eve@example.org", name="Eve", joined=datetime.date(2020, 1, 1)))
    session.flush()
    try:
        with session.begin_nested():
            session.add(Customer(email="ada@example.org", name="Ada again", joined=datetime.date(2020, 1, 1)))
            session.flush()
        raise AssertionError("a second customer of one address")
    except sa.exc.IntegrityError as error:
        assert error.orig.args[0] == 1062, error
    session.commit()
    assert session.scalar(sa.select(sa.func.count()).select_from(Customer)) == 3

step("upserts")
with engine.begin() as connection:
    insert = mysql.insert(Product).values([dict(sku="P00001", label="Renamed", price=7, stock=1), dict(sku="NEW", label="New", price=1, stock=1)])
    connection.execute(insert.on_duplicate_key_update(label=insert.inserted.label, stock=Product.stock + insert.inserted.stock))
    assert connection.execute(sa.select(Product.label, Product.stock).where(Product.sku == "P00001")).one() == ("Renamed", 2)
    assert connection.execute(sa.text("SELECT sku, difference FROM stock_log")).all() == [("P00001", 1)]

step("CALL of a procedure that gives two results")
raw = engine.raw_connection()
cursor = raw.cursor()
cursor.callproc("lines_of", (1,))
assert cursor.fetchall() == ((1, "P00008"), (2, "P00016"), (3, "P00024"))
assert cursor.nextset() and cursor.fetchall() == ((3,),)
raw.close()

step("relationships loaded by joins and by IN")
with Session(engine) as session:
    query = sa.select(Customer).options(selectinload(Customer.orders).selectinload(Order.lines).joinedload(Line.product)).order_by(Customer.id)
    ada = session.scalars(query).first()
    assert [(line.quantity, line.product.price) for line in ada.orders[0].lines] == [(n, decimal.Decimal(n)) for n in (1, 2, 3)]
    turnover = sa.select(Customer.name, sa.func.sum(Line.quantity * Product.price)).outerjoin(Customer.orders).outerjoin(Order.lines)
    turnover = turnover.outerjoin(Line.product).group_by(Customer.id).having(sa.func.count(Line.product_id) > 0)
    assert session.execute(turnover).all() == [("Ada Größe 鯉 🐟", decimal.Decimal(14))]
    unsold = sa.select(sa.func.count()).select_from(Product).where(~sa.exists().where(Line.product_id == Product.id))
    assert session.scalar(unsold) == 498
    assert session.scalar(sa.select(Customer.name).where(Customer.profile["n"].as_float() == 1.5)) == "Ada Größe 鯉 🐟"

step("locks: FOR UPDATE, SKIP LOCKED")
with Session(engine) as first, Session(engine) as second:
    held = first.scalars(sa.select(Product).where(Product.sku == "P00001").with_for_update()).one()
    others = sa.select(Product.sku).where(Product.sku.in_(["P00001", "P00002"])).with_for_update(skip_locked=True)
    assert second.scalars(others).all() == ["P00002"]
    second.rollback()
    held.stock -= 1
    first.commit()

step("windows and recursion")
place = sa.func.row_number().over(partition_by=Product.label, order_by=Product.price.desc()).label("place")
ranked = sa.select(Product.sku, place).subquery()
rows = rows_of(sa.select(ranked.c.sku).where(ranked.c.place == 1))
assert len(rows) == 12
numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 10))
rows = rows_of(sa.select(sa.func.sum(numbers.c.n)))
assert rows[0][0] == 55
both = sa.select(Product.id).where(Product.stock > 490).union(sa.select(Product.id).where(Product.stock < 5)).subquery()
rows = rows_of(sa.select(sa.func.count()).select_from(both))
assert rows[0][0] == 15, rows

step("a second migration, there and back")
with engine.begin() as connection:
    operations = Operations(MigrationContext.configure(connection))
    operations.add_column("customer", sa.Column("phone", sa.String(30), nullable=True))
    operations.add_column("customer", sa.Column("score", sa.Integer(), nullable=False, server_default="3"))
    operations.create_index("ix_customer_phone", "customer", ["phone"], unique=True)
    operations.alter_column("product", "label", new_column_name="title", existing_type=sa.String(200), type_=sa.String(250), existing_nullable=False)
    operations.alter_column("customer", "score", server_default=sa.text("5"), existing_type=sa.Integer(), existing_nullable=False)
    operations.add_column("order", sa.Column("seller_id", sa.Integer(), nullable=True))
    operations.create_foreign_key("fk_order_seller", "order", "customer", ["seller_id"], ["id"], ondelete="SET NULL")
    operations.create_check_constraint("ck_score", "customer", "score BETWEEN 0 AND 10")
    operations.create_table("tag", sa.Column("word", sa.String(20), primary_key=True), sa.Column("seen", mysql.TIMESTAMP(fsp=3), nullable=True))
    operations.bulk_insert(sa.table("tag", sa.column("word")), [{"word": "rot"}, {"word": "blau"}])
    operations.rename_table("tag", "label")
with engine.connect() as connection:
    found = {str(change[0]) if isinstance(change, tuple) else str(change[0][0]) for change in differences(connection)}
    assert {"remove_table", "remove_column", "add_column", "remove_index", "remove_fk"} <= found, found
with engine.begin() as connection:
    operations = Operations(MigrationContext.configure(connection))
    operations.drop_constraint("ck_score", "customer", type_="check")
    operations.drop_constraint("fk_order_seller", "order", type_="foreignkey")
    operations.drop_index("fk_order_seller", "order")
    operations.drop_column("order", "seller_id")
    operations.alter_column("product", "title", new_column_name="label", existing_type=sa.String(250), type_=sa.String(200), existing_nullable=False)
    operations.drop_index("ix_customer_phone", "customer")
    operations.drop_column("customer", "phone")
    operations.drop_column("customer", "score")
    operations.drop_table("label")
    operations.drop_table("stock_log")
    connection.execute(sa.text("DROP TRIGGER product_stock"))
with engine.connect() as connection:
    assert differences(connection) == [], differences(connection)

step("reflection")
reflected = sa.MetaData()
reflected.reflect(engine)
assert {key.target_fullname for key in reflected.tables["order_line"].foreign_keys} == {"order.id", "product.id"}
assert reflected.tables["product"].c.gross.computed.persisted is True
assert reflected.tables["order"].c.status.type.enums == ["placed", "paid", "sent"]
assert reflected.tables["product"].comment == "what is sold"
inspector = sa.inspect(engine)
assert [check["name"] for check in inspector.get_check_constraints("product")] == ["ck_product_price"]
assert inspector.get_foreign_keys("order")[0]["options"] == {"ondelete": "CASCADE"}

step("cascades")
with Session(engine) as session:
    session.delete(session.scalars(sa.select(Customer).where(Customer.name.like("Ada%"))).one())
    session.commit()
    assert session.scalar(sa.select(sa.func.count()).select_from(Line)) == 0

step("a generated column goes")
# mariadb-dump writes the values of generated columns, which MySQL refuses as well when the dump is loaded (3105).
with engine.begin() as connection:
    Operations(MigrationContext.configure(connection)).drop_column("product", "gross")
engine.dispose()
