/* A shop with Exposed: tables and their migrations, its language of queries, entities. Arguments: port, database. */

import org.jetbrains.exposed.exceptions.ExposedSQLException
import org.jetbrains.exposed.sql.Database
import org.jetbrains.exposed.sql.JoinType
import org.jetbrains.exposed.sql.SchemaUtils
import org.jetbrains.exposed.sql.SortOrder
import org.jetbrains.exposed.sql.SqlExpressionBuilder.eq
import org.jetbrains.exposed.sql.SqlExpressionBuilder.greater
import org.jetbrains.exposed.sql.SqlExpressionBuilder.less
import org.jetbrains.exposed.sql.SqlExpressionBuilder.like
import org.jetbrains.exposed.sql.SqlExpressionBuilder.plus
import org.jetbrains.exposed.sql.and
import org.jetbrains.exposed.sql.avg
import org.jetbrains.exposed.sql.batchInsert
import org.jetbrains.exposed.sql.batchUpsert
import org.jetbrains.exposed.sql.count
import org.jetbrains.exposed.sql.deleteAll
import org.jetbrains.exposed.sql.deleteWhere
import org.jetbrains.exposed.sql.insert
import org.jetbrains.exposed.sql.insertAndGetId
import org.jetbrains.exposed.sql.insertIgnore
import org.jetbrains.exposed.sql.json.contains
import org.jetbrains.exposed.sql.json.extract
import org.jetbrains.exposed.sql.lowerCase
import org.jetbrains.exposed.sql.notExists
import org.jetbrains.exposed.sql.replace
import org.jetbrains.exposed.sql.selectAll
import org.jetbrains.exposed.sql.statements.api.ExposedBlob
import org.jetbrains.exposed.sql.sum
import org.jetbrains.exposed.sql.transactions.transaction
import org.jetbrains.exposed.sql.union
import org.jetbrains.exposed.sql.update
import org.jetbrains.exposed.sql.upsert
import java.math.BigDecimal
import java.sql.SQLException
import java.time.Duration
import java.time.LocalDate
import java.time.LocalDateTime
import java.util.UUID
import java.util.concurrent.Callable
import java.util.concurrent.Executors

val MOMENT: LocalDateTime = LocalDateTime.of(2024, 2, 29, 23, 59, 58, 123_456_000)
val TABLES = arrayOf(Customers, Products, Orders, Lines)

fun step(what: String) = println(what)

fun equal(found: Any?, expected: Any?) {
    if (found != expected) throw AssertionError("found $found, expected $expected")
}

fun refused(number: Int, work: () -> Unit) {
    try {
        transaction {
            maxAttempts = 1
            work()
        }
    } catch (error: ExposedSQLException) {
        equal((error.cause as SQLException).errorCode, number)
        return
    }
    throw AssertionError("$number was expected")
}

fun sku(number: Int) = "P%05d".format(number)

fun eighths(number: Int): BigDecimal = BigDecimal(number).divide(BigDecimal(8)).setScale(4)

fun stock(sku: String) = transaction { Products.selectAll().where { Products.id eq sku }.single()[Products.stock] }

fun tables() {
    step("tables: made, dropped, made again, and nothing is left to change")
    transaction { SchemaUtils.create(*TABLES) }
    transaction { SchemaUtils.drop(*TABLES) }
    transaction { SchemaUtils.create(*TABLES) }
    transaction { equal(MigrationUtils.statementsRequiredForDatabaseMigration(*TABLES, withLogs = false), emptyList<String>()) }
    step("a trigger and a procedure")
    transaction {
        exec("CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12) NOT NULL, difference INT NOT NULL)")
        exec(
            "CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW BEGIN IF NEW.stock <> OLD.stock THEN " +
                "INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock); END IF; END",
        )
        exec("CREATE PROCEDURE stock_of (IN wanted CHAR(12)) SELECT stock FROM product WHERE sku = wanted")
    }
}

fun insert(): UUID {
    step("rows of all types, one and many, and entities")
    val order = transaction {
        Products.batchInsert(0 until 500) { number ->
            this[Products.id] = sku(number)
            this[Products.price] = eighths(number)
            this[Products.stock] = number
            this[Products.weight] = number / 3.0
            this[Products.picture] = ExposedBlob(ByteArray(256) { it.toByte() })
            this[Products.serial] = ULong.MAX_VALUE - number.toULong()
        }
        val ada = Customer.new {
            email = "ada@example.org"
            name = "Ada Größe 鯉 🐟"
            joined = MOMENT.toLocalDate()
            profile = """{"n": 1.5, "tags": ["a", "b"]}"""
        }
        Customer.new {
            email = "bob@example.org"
            name = "Bob"
            joined = LocalDate.of(1999, 12, 31)
            referrer = ada
        }
        val order = Order.new {
            customer = ada
            placed = MOMENT
            waits = Duration.ofHours(3).plusNanos(5_000)
        }
        for (number in listOf(8, 16, 24)) {
            Lines.insert {
                it[Lines.order] = order.id
                it[product] = sku(number)
                it[quantity] = (number / 8).toShort()
            }
        }
        order.id.value
    }
    transaction {
        val found = Order.findById(order)!!
        equal(listOf(found.placed, found.waits, found.status), listOf(MOMENT, Duration.ofHours(3).plusNanos(5_000), Status.PLACED))
        equal(found.products.map { it.price }.sorted(), listOf(eighths(8), eighths(16), eighths(24)))
        equal(found.customer.orders.count(), 1L)
        equal(Customer.find { Customers.name eq "Bob" }.single().referrer?.name, "Ada Größe 鯉 🐟")
        val product = Product[sku(3)]
        equal(product.picture!!.bytes.size, 256)
        equal(product.serial, ULong.MAX_VALUE - 3u)
    }
    return order
}

fun transactions() {
    step("transactions: rolled back, nested, and many at once")
    refused(1062) {
        Products.update { it[stock] = 0 }
        Customers.insertAndGetId {
            it[email] = "ada@example.org"
            it[name] = "Ada again"
            it[joined] = LocalDate.now()
        }
    }
    transaction {
        Products.update({ Products.id eq sku(1) }) { it[stock] = stock + 10 }
        val save = connection.setSavepoint("before")
        Lines.deleteAll()
        connection.rollback(save)
    }
    transaction { equal(Lines.selectAll().count(), 3L) }
    equal(stock(sku(1)), 11)
    val threads = Executors.newFixedThreadPool(5)
    val takers = List(20) {
        Callable {
            transaction {
                val held = Products.selectAll().where { Products.id eq sku(100) }.forUpdate().single()[Products.stock]
                Products.update({ Products.id eq sku(100) }) { it[stock] = held - 2 }
            }
        }
    }
    threads.invokeAll(takers).forEach { equal(it.get(), 1) }
    threads.shutdown()
    equal(stock(sku(100)), 60)
    transaction { equal(exec("SELECT COUNT(*) FROM stock_log") { it.next(); it.getInt(1) }, 21) }
    transaction { equal(exec("CALL stock_of('${sku(100)}')") { it.next(); it.getInt(1) }, 60) }
}

fun upserts() {
    step("upserts: ON DUPLICATE KEY UPDATE, INSERT IGNORE, REPLACE")
    transaction {
        Products.upsert(onUpdate = { it[Products.stock] = Products.stock + 20 }) {
            it[id] = sku(2)
            it[price] = BigDecimal.ONE
        }
        Products.batchUpsert(listOf(sku(3), "NEW")) { name ->
            this[Products.id] = name
            this[Products.price] = BigDecimal.ONE
            this[Products.stock] = 33
        }
        Products.insertIgnore {
            it[id] = "NEW"
            it[price] = BigDecimal.TEN
        }
        equal(Products.selectAll().where { Products.id eq "NEW" }.single()[Products.price], BigDecimal("1.0000"))
        Products.replace {
            it[id] = "NEW"
            it[price] = BigDecimal.TEN
        }
    }
    equal(listOf(stock(sku(2)), stock(sku(3)), stock("NEW")), listOf(22, 33, 0))
}

fun queries() {
    step("joins, groups, subqueries, pages, JSON")
    transaction {
        val bought = Lines.quantity.sum()
        val lines = Lines.product.count()
        val turnover = Customers.join(Orders, JoinType.LEFT, Customers.id, Orders.customer).join(Lines, JoinType.LEFT, Orders.id, Lines.order)
            .join(Products, JoinType.LEFT, Lines.product, Products.id).select(Customers.name, lines, bought).groupBy(Customers.id).orderBy(Customers.id).map { listOf(it[Customers.name], it[lines], it[bought]) }
        equal(turnover, listOf(listOf("Ada Größe 鯉 🐟", 3L, 6.toShort()), listOf("Bob", 0L, null)))
        val mean = Products.price.avg(8)
        equal(Products.select(mean).where { Products.stock less 3 }.single()[mean], BigDecimal("5.00000000"))
        equal(Products.selectAll().where { notExists(Lines.selectAll().where { Lines.product eq Products.id }) }.count(), 498L)
        val page = Products.selectAll().orderBy(Products.price to SortOrder.DESC, Products.id to SortOrder.ASC).limit(50).offset(100).map { it[Products.id].value }
        equal(page.size to page[0], 50 to sku(399))
        val some = Products.select(Products.id).where { Products.stock greater 497 }.union(Products.select(Products.id).where { Products.id like "P0000%" })
        equal(some.count(), 12L)
        equal(Customers.selectAll().where { Customers.profile.extract<Double>(".n") eq 1.5 }.count(), 1L)
        equal(Customers.selectAll().where { Customers.profile.contains("\"b\"", ".tags") and (Customers.name.lowerCase() like "ada%") }.count(), 1L)
    }
}

fun migrations() {
    step("migrations: columns, indexes and types come, change and go")
    // What Exposed finds in the database it remembers for the rest of the transaction.
    transaction {
        val there = MigrationUtils.statementsRequiredForDatabaseMigration(CustomersLater, withLogs = false)
        equal(there.size >= 4, true)
        there.forEach { exec(it) }
    }
    transaction {
        equal(MigrationUtils.statementsRequiredForDatabaseMigration(CustomersLater, withLogs = false), emptyList<String>())
        equal(CustomersLater.selectAll().first()[CustomersLater.score], 3)
    }
    transaction { MigrationUtils.statementsRequiredForDatabaseMigration(Customers, withLogs = false).forEach { exec(it) } }
    transaction { equal(MigrationUtils.statementsRequiredForDatabaseMigration(Customers, withLogs = false), emptyList<String>()) }
}

fun refusals(order: UUID) {
    step("foreign keys and checks refuse, keys cascade")
    refused(1451) { Products.deleteWhere { id eq sku(8) } }
    refused(1452) {
        Lines.insert {
            it[Lines.order] = order
            it[product] = "none"
            it[quantity] = 1
        }
    }
    refused(3819) { Products.update({ Products.id eq sku(8) }) { it[price] = BigDecimal.ONE.negate() } }
    transaction {
        Customer.find { Customers.email eq "ada@example.org" }.single().delete()
        equal(Lines.selectAll().count(), 0L)
        equal(Customer.find { Customers.name eq "Bob" }.single().referrer, null)
    }
}

fun main(arguments: Array<String>) {
    val (port, name) = arguments
    Database.connect("jdbc:mysql://127.0.0.1:$port/$name", driver = "com.mysql.cj.jdbc.Driver", user = "root", password = "")
    tables()
    val order = insert()
    transactions()
    upserts()
    queries()
    migrations()
    refusals(order)
}
