// golang-migrate with a shop's migrations: up, down, with its lock, and one that breaks half-way. Arguments: port, database.
package main

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log"
	"os"

	driver "github.com/go-sql-driver/mysql"
	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	"github.com/golang-migrate/migrate/v4/source/iofs"
)

//go:embed migrations/*.sql
var files embed.FS

// The last migration that is not broken, without what changes the columns that the trigger reads.
const GOOD = 2

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

func number(db *sql.DB, query string) (found int) {
	must(db.QueryRow(query).Scan(&found))
	return found
}

func main() {
	name := fmt.Sprintf("root@tcp(127.0.0.1:%s)/%s?multiStatements=true&charset=utf8mb4", os.Args[1], os.Args[2])
	source, err := iofs.New(files, "migrations")
	must(err)
	migrations, err := migrate.NewWithSourceInstance("iofs", source, "mysql://"+name)
	must(err)
	db, err := sql.Open("mysql", name)
	must(err)

	step("up, all the way down, and up again")
	must(migrations.Migrate(GOOD))
	must(migrations.Down())
	must(migrations.Migrate(GOOD))

	step("a procedure and a trigger do the work")
	_, err = db.Exec("INSERT INTO customer (email, name, profile) VALUES ('ada@example.org', 'Ada Größe 🐟', JSON_OBJECT('n', 1.5)); INSERT INTO product VALUES ('P1', 1.25, 10), ('P2', 200, 5)")
	must(err)
	for _, sku := range []string{"P1", "P2", "P1"} {
		_, err = db.Exec("CALL place(?, ?, ?)", "ada@example.org", sku, 2)
		must(err)
	}
	equal(number(db, "SELECT stock FROM product WHERE sku = 'P1'"), 6)
	_, err = db.Exec("CALL place('ada@example.org', 'P2', 20)")
	refused(30001, err)
	_, err = db.Exec("CALL place('eve@example.org', 'P2', 1)")
	refused(1644, err)
	equal(number(db, "SELECT SUM(stock) FROM product"), 9)
	_, err = db.Exec("UPDATE product SET sku = 'P3' WHERE sku = 'P2'")
	must(err)
	equal(number(db, "SELECT COUNT(*) FROM `order` WHERE sku = 'P3'"), 1)

	step("columns, indexes and a view, there and back")
	must(migrations.Steps(1))
	equal(number(db, "SELECT COUNT(*) FROM dear_product"), 1)
	_, err = db.Exec("INSERT INTO dear_product VALUES ('P4', 1)")
	refused(1369, err)
	must(migrations.Steps(-1))
	version, dirty, err := migrations.Version()
	must(err)
	equal(version, GOOD)
	equal(dirty, false)

	step("a migration that breaks half-way leaves a dirty version, which is repaired")
	must(migrations.Steps(1))
	failure := migrations.Steps(1)
	var broken database.Error
	if !errors.As(failure, &broken) && failure == nil {
		log.Panicf("found %v, expected an error of the database", failure)
	}
	equal(number(db, "SELECT version * 10 + dirty FROM schema_migrations"), 41)
	equal(number(db, "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'customer' AND column_name = 'city'"), 1)
	must(migrations.Force(3))
	_, err = db.Exec("ALTER TABLE customer DROP COLUMN city")
	must(err)

	step("its lock keeps a second one out")
	first, err := mysql.WithInstance(db, &mysql.Config{})
	must(err)
	must(first.Lock())
	equal(number(db, "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_type = 'USER LEVEL LOCK'") > 0, true)
	must(first.Unlock())
	_, err = migrations.Close()
	must(err)
}
