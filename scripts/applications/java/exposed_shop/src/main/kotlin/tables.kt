import org.jetbrains.exposed.dao.Entity
import org.jetbrains.exposed.dao.EntityClass
import org.jetbrains.exposed.dao.IntEntity
import org.jetbrains.exposed.dao.IntEntityClass
import org.jetbrains.exposed.dao.UUIDEntity
import org.jetbrains.exposed.dao.UUIDEntityClass
import org.jetbrains.exposed.dao.id.EntityID
import org.jetbrains.exposed.dao.id.IdTable
import org.jetbrains.exposed.dao.id.IntIdTable
import org.jetbrains.exposed.dao.id.UUIDTable
import org.jetbrains.exposed.sql.ReferenceOption
import org.jetbrains.exposed.sql.SqlExpressionBuilder.greaterEq
import org.jetbrains.exposed.sql.Table
import org.jetbrains.exposed.sql.javatime.CurrentTimestamp
import org.jetbrains.exposed.sql.javatime.date
import org.jetbrains.exposed.sql.javatime.datetime
import org.jetbrains.exposed.sql.javatime.duration
import org.jetbrains.exposed.sql.javatime.timestamp
import org.jetbrains.exposed.sql.json.json
import java.math.BigDecimal
import java.util.UUID

enum class Status { PLACED, PAID }

object Customers : IntIdTable("customer") {
    val email = varchar("email", 190).uniqueIndex()
    val name = varchar("name", 100).index("by_name")
    val joined = date("joined")
    val profile = json<String>("profile", { it }, { it }).nullable()
    val referrer = optReference("referrer_id", Customers, onDelete = ReferenceOption.SET_NULL)
    val made = timestamp("made").defaultExpression(CurrentTimestamp)
}

object Products : IdTable<String>("product") {
    val sku = char("sku", 12)
    override val id = sku.entityId()
    override val primaryKey = PrimaryKey(sku)
    val price = decimal("price", 12, 4).check("price_is_positive") { it greaterEq BigDecimal.ZERO }
    val stock = integer("stock").default(0)
    val weight = double("weight").nullable()
    val picture = blob("picture").nullable()
    val isSold = bool("is_sold").default(true)
    val serial = ulong("serial").nullable()
}

object Orders : UUIDTable("order") {
    val customer = reference("customer_id", Customers, onDelete = ReferenceOption.CASCADE)
    val placed = datetime("placed")
    val waits = duration("waits").nullable()
    val status = enumerationByName<Status>("status", 10).default(Status.PLACED)
}

object Lines : Table("order_line") {
    val order = reference("order_id", Orders, onDelete = ReferenceOption.CASCADE)
    val product = reference("sku", Products, onDelete = ReferenceOption.RESTRICT)
    val quantity = short("quantity")
    override val primaryKey = PrimaryKey(order, product)
}

/** The table of customers as a later version of the program has it. */
object CustomersLater : IntIdTable("customer") {
    val email = varchar("email", 190).uniqueIndex()
    val name = varchar("name", 200).index("by_name")
    val joined = date("joined")
    val profile = json<String>("profile", { it }, { it }).nullable()
    val referrer = optReference("referrer_id", CustomersLater, onDelete = ReferenceOption.SET_NULL)
    val made = timestamp("made").defaultExpression(CurrentTimestamp)
    val phone = varchar("phone", 30).nullable().uniqueIndex("phone_is_unique")
    val score = integer("score").default(3)
}

class Customer(id: EntityID<Int>) : IntEntity(id) {
    companion object : IntEntityClass<Customer>(Customers)

    var email by Customers.email
    var name by Customers.name
    var joined by Customers.joined
    var profile by Customers.profile
    var referrer by Customer optionalReferencedOn Customers.referrer
    val orders by Order referrersOn Orders.customer
}

class Product(id: EntityID<String>) : Entity<String>(id) {
    companion object : EntityClass<String, Product>(Products)

    var price by Products.price
    var stock by Products.stock
    var weight by Products.weight
    var picture by Products.picture
    var serial by Products.serial
}

class Order(id: EntityID<UUID>) : UUIDEntity(id) {
    companion object : UUIDEntityClass<Order>(Orders)

    var customer by Customer referencedOn Orders.customer
    var placed by Orders.placed
    var waits by Orders.waits
    var status by Orders.status
    var products by Product via Lines
}
