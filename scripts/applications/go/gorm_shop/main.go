// A shop with GORM: AutoMigrate, its Migrator, associations, hooks, transactions, upserts. Arguments: port, database.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Customer struct {
	gorm.Model
	Email    string          `gorm:"size:190;not null;uniqueIndex"`
	Name     string          `gorm:"size:100;index:by_name,priority:1;comment:as on the parcel"`
	Joined   time.Time       `gorm:"type:date;index:by_name,priority:2"`
	Profile  json.RawMessage `gorm:"type:json"`
	Orders   []Order         `gorm:"constraint:OnDelete:CASCADE"`
	Referrer *uint
}

type Product struct {
	ID      uint64  `gorm:"primaryKey"`
	Sku     string  `gorm:"type:char(12);uniqueIndex"`
	Price   float64 `gorm:"type:decimal(12,4);check:price_is_positive,price >= 0"`
	Stock   int     `gorm:"not null;default:0"`
	Picture []byte
	Tags    []Tag `gorm:"many2many:product_tags"`
}

type Tag struct {
	Word string `gorm:"primaryKey;size:30"`
}

type Order struct {
	ID         uint
	CustomerID uint
	Placed     time.Time `gorm:"precision:6"`
	Lines      []Line    `gorm:"constraint:OnDelete:CASCADE"`
}

type Line struct {
	OrderID   uint   `gorm:"primaryKey"`
	ProductID uint64 `gorm:"primaryKey"`
	Quantity  int16
	Product   Product
}

// The same table with what a later version of the program has.
type CustomerWithPhone struct {
	Customer
	Phone *string `gorm:"size:30;uniqueIndex:phone_is_unique"`
	Score int     `gorm:"not null;default:3"`
}

func (CustomerWithPhone) TableName() string { return "customers" }

func step(what string) { fmt.Println(what) }

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func equal[T comparable](found, expected T) {
	if found != expected {
		log.Panicf("found %v, expected %v", found, expected)
	}
}

func refused(number uint16, err error) {
	var refusal *driver.MySQLError
	if !errors.As(err, &refusal) || refusal.Number != number {
		log.Panicf("found %v, expected %d", err, number)
	}
}

func count(db *gorm.DB) (rows int64) {
	must(db.Count(&rows).Error)
	return rows
}

func schema(db *gorm.DB) {
	step("AutoMigrate, twice")
	models := []any{&Customer{}, &Tag{}, &Product{}, &Order{}, &Line{}}
	must(db.AutoMigrate(models...))
	must(db.AutoMigrate(models...))

	step("a trigger, a procedure and a view")
	must(db.Exec("CREATE TABLE stock_logs (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12), difference BIGINT)").Error)
	must(db.Exec("CREATE TRIGGER product_stock AFTER UPDATE ON products FOR EACH ROW BEGIN " +
		"IF NEW.stock <> OLD.stock THEN INSERT INTO stock_logs (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock); END IF; END").Error)
	must(db.Exec("CREATE PROCEDURE stock_of (IN wanted CHAR(12)) SELECT stock FROM products WHERE sku = wanted").Error)
	must(db.Migrator().CreateView("dear_products", gorm.ViewOption{Query: db.Model(&Product{}).Where("price > 60")}))
}

func insert(db *gorm.DB) Customer {
	step("rows with their associations, in batches")
	var products []Product
	for number := range 500 {
		products = append(products, Product{Sku: fmt.Sprint("P", number), Price: float64(number) / 8, Stock: number, Picture: []byte{0, 255, byte(number)}})
	}
	must(db.CreateInBatches(&products, 100).Error)
	must(db.Model(&products[8]).Association("Tags").Append(&Tag{Word: "rot"}, &Tag{Word: "blau 🐟"}))
	placed := time.Date(2024, 2, 29, 23, 59, 58, 123456000, time.UTC)
	order := Order{Placed: placed}
	for _, number := range []int{8, 16, 24} {
		order.Lines = append(order.Lines, Line{ProductID: products[number].ID, Quantity: int16(number / 8)})
	}
	ada := Customer{Email: "ada@example.org", Name: "Ada Größe", Joined: placed, Profile: json.RawMessage(`{"n": 1.5}`), Orders: []Order{order}}
	must(db.Create(&ada).Error)
	must(db.Create(&Customer{Email: "bob@example.org", Name: "Bob", Joined: placed, Profile: json.RawMessage("null"), Referrer: &ada.ID}).Error)
	var found Customer
	must(db.Preload("Orders.Lines.Product.Tags").First(&found, "email = ?", ada.Email).Error)
	equal(found.Orders[0].Placed.Equal(placed), true)
	equal(len(found.Orders[0].Lines), 3)
	equal(string(found.Profile), `{"n": 1.5}`)
	equal(len(found.Orders[0].Lines[0].Product.Tags), 2)
	return ada
}

func transactions(db *gorm.DB) {
	step("transactions: rolled back, nested, with locks")
	refused(1062, db.Transaction(func(tx *gorm.DB) error {
		must(tx.Model(&Product{}).Where("1 = 1").Update("stock", 0).Error)
		return tx.Create(&Customer{Email: "ada@example.org", Name: "Ada again", Joined: time.Now(), Profile: json.RawMessage("{}")}).Error
	}))
	must(db.Transaction(func(tx *gorm.DB) error {
		inner := tx.Transaction(func(nested *gorm.DB) error {
			must(nested.Where("1 = 1").Delete(&Line{}).Error)
			return errors.New("back")
		})
		equal(inner.Error(), "back")
		var product Product
		must(tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&product, "sku = ?", "P1").Error)
		return tx.Model(&product).Update("stock", gorm.Expr("stock + ?", 10)).Error
	}))
	equal(count(db.Model(&Line{})), 3)
	var stock int
	must(db.Raw("CALL stock_of(?)", "P1").Scan(&stock).Error)
	equal(stock, 11)
	equal(count(db.Table("stock_logs").Where("difference = 10")), 1)
}

func upserts(db *gorm.DB) {
	step("upserts, FirstOrCreate")
	rows := []Product{{Sku: "P2", Price: 7, Stock: 22}, {Sku: "NEW", Price: 1}}
	must(db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"stock"})}).Create(&rows).Error)
	must(db.Clauses(clause.Insert{Modifier: "IGNORE"}).Create(&Product{Sku: "P2", Price: 8}).Error)
	must(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Product{Sku: "P2", Price: 8}).Error)
	var product Product
	must(db.Where(Product{Sku: "P2"}).Attrs(Product{Price: 9}).FirstOrCreate(&product).Error)
	equal(product.Price, 0.25)
	equal(product.Stock, 22)
	equal(count(db.Model(&Product{})), 501)
}

func queries(db *gorm.DB) {
	step("joins, groups, subqueries, pages")
	var turnover []struct {
		Name string
		Sum  *float64
	}
	must(db.Model(&Customer{}).Select("customers.name, SUM(l.quantity * p.price) AS sum").Joins("LEFT JOIN orders o ON o.customer_id = customers.id").
		Joins("LEFT JOIN `lines` l ON l.order_id = o.id").Joins("LEFT JOIN products p ON p.id = l.product_id").
		Group("customers.id").Order("customers.id").Scan(&turnover).Error)
	equal(*turnover[0].Sum, 14)
	equal(turnover[1].Sum, nil)
	equal(count(db.Model(&Product{}).Where("id IN (?)", db.Model(&Line{}).Select("product_id"))), 3)
	equal(count(db.Table("(?) AS dear", db.Model(&Product{}).Where("price > ?", 60))), 19)
	equal(count(db.Table("dear_products")), 19)
	equal(count(db.Model(&Customer{}).Where("profile->>'$.n' = ?", "1.5")), 1)
	var lines []Line
	must(db.Joins("Product").Order("`Product`.`price` DESC").Limit(2).Find(&lines).Error)
	equal(lines[0].Product.Sku, "P24")
	seen := 0
	must(db.Model(&Product{}).FindInBatches(&[]Product{}, 200, func(tx *gorm.DB, _ int) error { seen += int(tx.RowsAffected); return nil }).Error)
	equal(seen, 501)
	var place []int
	must(db.Model(&Product{}).Select("RANK() OVER (ORDER BY price)").Scan(&place).Error)
	equal(len(place), 501)
}

func migrations(db *gorm.DB) {
	step("migrations: columns, indexes and constraints come, change and go")
	migrator := db.Migrator()
	must(db.AutoMigrate(&CustomerWithPhone{}))
	must(db.AutoMigrate(&CustomerWithPhone{}))
	equal(migrator.HasColumn(&CustomerWithPhone{}, "phone"), true)
	equal(migrator.HasIndex(&CustomerWithPhone{}, "phone_is_unique"), true)
	must(migrator.RenameColumn(&Product{}, "picture", "image"))
	must(migrator.RenameColumn(&Product{}, "image", "picture"))
	must(migrator.RenameIndex(&CustomerWithPhone{}, "phone_is_unique", "unique_phone"))
	must(migrator.DropIndex(&CustomerWithPhone{}, "unique_phone"))
	must(migrator.DropColumn(&CustomerWithPhone{}, "score"))
	equal(migrator.HasConstraint(&Product{}, "price_is_positive"), true)
	must(migrator.DropConstraint(&Product{}, "price_is_positive"))
	must(migrator.CreateConstraint(&Product{}, "price_is_positive"))
	refused(3819, db.Model(&Product{}).Where("sku = ?", "P8").Update("price", -1).Error)
	must(migrator.RenameTable("stock_logs", "stock_log"))
	must(migrator.RenameTable("stock_log", "stock_logs"))
	columns, err := migrator.ColumnTypes(&Customer{})
	must(err)
	for _, column := range columns {
		if column.Name() == "email" {
			length, _ := column.Length()
			nullable, _ := column.Nullable()
			equal(length, 190)
			equal(nullable, false)
		}
	}
	tables, err := migrator.GetTables()
	must(err)
	// The view among them.
	equal(len(tables), 8)
}

func main() {
	name := fmt.Sprintf("root@tcp(127.0.0.1:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC", os.Args[1], os.Args[2])
	db, err := gorm.Open(mysql.Open(name), &gorm.Config{PrepareStmt: true, Logger: logger.Default.LogMode(logger.Silent)})
	must(err)
	schema(db)
	ada := insert(db)
	transactions(db)
	upserts(db)
	queries(db)
	migrations(db)

	step("soft deletes, hard ones, and what foreign keys refuse")
	refused(1451, db.Exec("DELETE FROM products WHERE sku = 'P16'").Error)
	refused(1452, db.Create(&Order{CustomerID: 4711, Placed: time.Now()}).Error)
	must(db.Delete(&ada).Error)
	equal(count(db.Model(&Customer{})), 1)
	must(db.Unscoped().Delete(&ada).Error)
	equal(count(db.Model(&Line{})), 0)
}
