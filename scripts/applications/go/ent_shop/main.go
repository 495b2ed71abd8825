// A shop with ent: its client is generated from `schema`, its tables are made and changed by Atlas. Arguments: port, database.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/dialect/sql/sqljson"
	"entgo.io/ent/schema/field"
	driver "github.com/go-sql-driver/mysql"

	"shoal-applications/ent_shop/ent"
	"shoal-applications/ent_shop/ent/customer"
	"shoal-applications/ent_shop/ent/line"
	"shoal-applications/ent_shop/ent/migrate"
	"shoal-applications/ent_shop/ent/order"
	"shoal-applications/ent_shop/ent/product"
	"shoal-applications/ent_shop/ent/tag"
)

var ctx = context.Background()

func step(what string) { fmt.Println(what) }

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func get[T any](value T, err error) T {
	must(err)
	return value
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

// What Atlas would still change.
func pending(client *ent.Client) string {
	var statements strings.Builder
	must(client.Schema.WriteTo(ctx, &statements, migrate.WithDropColumn(true), migrate.WithDropIndex(true)))
	return strings.TrimSpace(statements.String())
}

func tables(client *ent.Client) {
	step("tables, twice, and nothing is left to change")
	must(client.Schema.Create(ctx))
	must(client.Schema.Create(ctx))
	equal(pending(client), "")

	step("a trigger and a procedure")
	get(client.ExecContext(ctx, "CREATE TABLE stock_logs (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12), difference BIGINT)"))
	get(client.ExecContext(ctx, "CREATE TRIGGER product_stock AFTER UPDATE ON products FOR EACH ROW BEGIN "+
		"IF NEW.stock <> OLD.stock THEN INSERT INTO stock_logs (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock); END IF; END"))
	get(client.ExecContext(ctx, "CREATE PROCEDURE stock_of (IN wanted CHAR(12)) SELECT stock FROM products WHERE sku = wanted"))
}

func insert(client *ent.Client) *ent.Customer {
	step("rows with their edges, in bulk")
	var builders []*ent.ProductCreate
	for number := range 500 {
		builders = append(builders, client.Product.Create().SetID(uint64(number+1)).SetSku(fmt.Sprint("P", number)).SetPrice(float64(number)/8).
			SetStock(number).SetPicture([]byte{0, 255, byte(number)}).SetText(strings.Repeat("fisch ", number%50)))
	}
	products := get(client.Product.CreateBulk(builders...).Save(ctx))
	tags := get(client.Tag.CreateBulk(client.Tag.Create().SetID("rot"), client.Tag.Create().SetID("blau 🐟")).Save(ctx))
	must(products[8].Update().AddTags(tags...).Exec(ctx))
	placed := time.Date(2024, 2, 29, 23, 59, 58, 123456000, time.UTC)
	ada := get(client.Customer.Create().SetEmail("ada@example.org").SetName("Ada Größe").SetJoined(placed).
		SetProfile(map[string]any{"n": 1.5, "tags": []string{"a", "b"}}).Save(ctx))
	get(client.Customer.Create().SetEmail("bob@example.org").SetName("Bob").SetJoined(placed).SetReferrer(ada).Save(ctx))
	bought := get(client.Order.Create().SetPlaced(placed).SetCustomer(ada).Save(ctx))
	for _, number := range []int{8, 16, 24} {
		get(client.Line.Create().SetOrder(bought).SetProduct(products[number]).SetQuantity(int16(number / 8)).Save(ctx))
	}
	found := get(client.Order.Query().WithCustomer().WithLines(func(query *ent.LineQuery) {
		query.WithProduct(func(query *ent.ProductQuery) { query.WithTags() }).Order(line.ByQuantity())
	}).Only(ctx))
	equal(found.Placed.Equal(placed), true)
	equal(found.Edges.Customer.Name, "Ada Größe")
	equal(found.Status, order.StatusPlaced)
	equal(len(found.Edges.Lines), 3)
	equal(len(found.Edges.Lines[0].Edges.Product.Edges.Tags), 2)
	equal(get(ada.QueryReferred().Only(ctx)).Name, "Bob")
	return ada
}

func transactions(client *ent.Client) {
	step("transactions: rolled back, and with locks on several connections at once")
	tx := get(client.Tx(ctx))
	get(tx.Product.Update().SetStock(0).Save(ctx))
	_, err := tx.Customer.Create().SetEmail("ada@example.org").SetName("Ada again").SetJoined(time.Now()).Save(ctx)
	refused(1062, err)
	equal(ent.IsConstraintError(err), true)
	must(tx.Rollback())
	var all sync.WaitGroup
	for range 10 {
		all.Add(1)
		go func() {
			defer all.Done()
			tx := get(client.Tx(ctx))
			held := get(tx.Product.Query().Where(product.Sku("P100")).ForUpdate().Only(ctx))
			must(held.Update().SetStock(held.Stock - 2).Exec(ctx))
			must(tx.Commit())
		}()
	}
	all.Wait()
	equal(get(client.Product.Query().Where(product.Sku("P100")).Only(ctx)).Stock, 80)
	rows := get(client.QueryContext(ctx, "CALL stock_of(?)", "P100"))
	stock := get(sql.ScanInt(rows))
	must(rows.Close())
	equal(stock, 80)
	rows = get(client.QueryContext(ctx, "SELECT COUNT(*) FROM stock_logs WHERE difference = -2"))
	equal(get(sql.ScanInt(rows)), 10)
	must(rows.Close())
}

func upserts(client *ent.Client) {
	step("upserts")
	must(client.Product.CreateBulk(
		client.Product.Create().SetID(1000).SetSku("P2").SetPrice(7).SetStock(22),
		client.Product.Create().SetID(1001).SetSku("NEW").SetPrice(1),
	).OnConflict().Update(func(change *ent.ProductUpsert) { change.UpdateStock() }).Exec(ctx))
	must(client.Product.Create().SetID(1002).SetSku("P3").SetPrice(8).OnConflict().AddStock(100).Exec(ctx))
	must(client.Product.Create().SetID(1003).SetSku("P3").SetPrice(8).OnConflict().Ignore().Exec(ctx))
	equal(get(client.Product.Query().Where(product.Sku("P2")).Only(ctx)).Stock, 22)
	equal(get(client.Product.Query().Where(product.Sku("P3")).Only(ctx)).Stock, 103)
	equal(get(client.Product.Query().Count(ctx)), 501)
	equal(get(client.Product.Update().Where(product.SkuIn("P4", "P5")).AddStock(10).Save(ctx)), 2)
}

func queries(client *ent.Client) {
	step("edges in conditions, groups, JSON, pages")
	equal(get(client.Customer.Query().Where(customer.HasOrdersWith(order.HasLinesWith(line.HasProductWith(product.Sku("P8"))))).Count(ctx)), 1)
	equal(get(client.Product.Query().Where(product.HasTagsWith(tag.ID("rot"))).Only(ctx)).Sku, "P8")
	equal(get(client.Product.Query().Where(product.Not(product.HasLines())).Count(ctx)), 498)
	var groups []struct {
		Joined time.Time `json:"joined"`
		Count  int       `json:"count"`
	}
	must(client.Customer.Query().GroupBy(customer.FieldJoined).Aggregate(ent.Count()).Scan(ctx, &groups))
	equal(len(groups), 1)
	equal(groups[0].Count, 2)
	var sums []struct {
		Sum, Max float64
	}
	must(client.Product.Query().Aggregate(ent.As(ent.Sum(product.FieldPrice), "Sum"), ent.As(ent.Max(product.FieldPrice), "Max")).Scan(ctx, &sums))
	equal(sums[0].Max, 62.375)
	equal(get(client.Customer.Query().Where(func(selector *sql.Selector) {
		selector.Where(sqljson.ValueEQ(customer.FieldProfile, 1.5, sqljson.Path("n")))
	}).Count(ctx)), 1)
	equal(get(client.Customer.Query().Where(func(selector *sql.Selector) {
		selector.Where(sqljson.ValueContains(customer.FieldProfile, "b", sqljson.Path("tags")))
	}).Count(ctx)), 1)
	page := get(client.Product.Query().Order(product.ByPrice(sql.OrderDesc()), product.ByID()).Offset(100).Limit(50).All(ctx))
	equal(len(page), 50)
	equal(page[0].Sku, "P399")
	most := get(client.Customer.Query().Order(customer.ByOrdersCount(sql.OrderDesc())).First(ctx))
	equal(most.Name, "Ada Größe")
	equal(get(client.Product.Query().Where(product.SkuHasPrefix("P49"), product.PriceGT(61)).Count(ctx)), 10)
	equal(get(client.Product.Query().Where(product.SkuContainsFold("p8")).Count(ctx)), 11)
	skus := client.Product.Query().Where(product.PriceGT(62)).Modify(func(selector *sql.Selector) { selector.Select(sql.As("LOWER(sku)", "sku")).OrderBy("sku") })
	equal(get(skus.Strings(ctx))[0], "p497")
}

func migrations(client *ent.Client) {
	step("migrations: columns, indexes and foreign keys come, change and go")
	changed := get(schema.CopyTables(migrate.Tables))
	for _, table := range changed {
		switch table.Name {
		case "customers":
			phone := &schema.Column{Name: "phone", Type: field.TypeString, Size: 30, Nullable: true}
			score := &schema.Column{Name: "score", Type: field.TypeInt32, Default: 3}
			table.Columns = append(table.Columns, phone, score)
			table.Indexes = append(table.Indexes, &schema.Index{Name: "phone_is_unique", Unique: true, Columns: []*schema.Column{phone}})
		case "lines":
			table.Columns[1].Type = field.TypeInt64
		case "orders":
			table.Columns[2].Enums = append(table.Columns[2].Enums, "sent")
		}
	}
	must(migrate.Create(ctx, client.Schema, changed, schema.WithDropIndex(true), schema.WithDropColumn(true)))
	rows := get(client.QueryContext(ctx, "SELECT score FROM customers ORDER BY id LIMIT 1"))
	equal(get(sql.ScanInt(rows)), 3)
	must(rows.Close())
	if pending(client) == "" {
		log.Panic("the changes were not seen")
	}
	must(client.Schema.Create(ctx, migrate.WithDropIndex(true), migrate.WithDropColumn(true)))
	equal(pending(client), "")
}

func main() {
	name := fmt.Sprintf("root@tcp(127.0.0.1:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC", os.Args[1], os.Args[2])
	client := get(ent.Open(dialect.MySQL, name))
	tables(client)
	ada := insert(client)
	transactions(client)
	upserts(client)
	queries(client)
	migrations(client)

	step("cascades, and what constraints refuse")
	_, err := client.Product.Delete().Where(product.Sku("P16")).Exec(ctx)
	refused(1451, err)
	_, err = client.Product.Update().Where(product.Sku("P16")).SetPrice(-1).Save(ctx)
	refused(3819, err)
	must(client.Customer.DeleteOne(ada).Exec(ctx))
	equal(get(client.Order.Query().Count(ctx))+get(client.Line.Query().Count(ctx)), 0)
	equal(get(client.Customer.Query().Where(customer.HasReferrer()).Exist(ctx)), false)
	must(client.Close())
}
