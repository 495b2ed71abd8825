// The workload of `clients_real.rs`, with go-sql-driver/mysql. Arguments: port, user, password, database, way, file with the authority.
package main

import (
	"bytes"
	"crypto/md5"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const rowCount = 300

const insert = "INSERT INTO goods (name, price, made, seen, facts, picture, ratio, serial, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

type good struct {
	name    string
	price   string
	made    time.Time
	seen    time.Time
	facts   string
	picture []byte
	ratio   float64
	serial  uint64
	note    sql.NullString
}

func row(number int) good {
	one := good{
		name:    fmt.Sprintf("Größe 鯉 🐟 %d", number),
		price:   fmt.Sprintf("%d.%06d", number, number),
		made:    time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		seen:    time.Date(2024, 2, 29, 23, 59, 58, number*1000, time.UTC),
		facts:   fmt.Sprintf(`{"n": %d, "tags": ["a", "ü"], "deep": {"x": null}}`, number),
		picture: make([]byte, 512),
		ratio:   float64(number) / 3,
		serial:  18446744073709551615 - uint64(number),
		note:    sql.NullString{String: fmt.Sprintf("note %d", number), Valid: number%3 != 0},
	}
	if number%2 != 0 {
		one.made = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	}
	if !one.note.Valid {
		one.note.String = ""
	}
	for offset := range one.picture {
		one.picture[offset] = byte(number + offset)
	}
	return one
}

func (one good) values() []any {
	return []any{one.name, one.price, one.made, one.seen, one.facts, one.picture, one.ratio, one.serial, one.note}
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func check(what string, found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		log.Panicf("%s: %v instead of %v", what, found, expected)
	}
}

func meaning(text string) (value any) {
	must(json.Unmarshal([]byte(text), &value))
	return value
}

func open(arguments []string) *sql.DB {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", "127.0.0.1:"+arguments[0]
	config.User, config.Passwd, config.DBName = arguments[1], arguments[2], arguments[3]
	config.ParseTime = true
	if strings.Contains(arguments[4], "tls") {
		authority, err := os.ReadFile(arguments[5])
		must(err)
		roots := x509.NewCertPool()
		check("the authority is read", roots.AppendCertsFromPEM(authority), true)
		config.TLS = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	}
	if strings.Contains(arguments[4], "zlib") {
		must(config.Apply(mysql.EnableCompression(true)))
	}
	connector, err := mysql.NewConnector(config)
	must(err)
	return sql.OpenDB(connector)
}

func insertAndRead(database *sql.DB) {
	_, err := database.Exec("CREATE TABLE goods (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, " +
		"price DECIMAL(20,6) NOT NULL, made DATE, seen DATETIME(6), facts JSON, picture LONGBLOB, ratio DOUBLE, " +
		"serial BIGINT UNSIGNED UNIQUE, note VARCHAR(20))")
	must(err)
	transaction, err := database.Begin()
	must(err)
	statement, err := transaction.Prepare(insert)
	must(err)
	for number := 0; number < rowCount; number++ {
		_, err = statement.Exec(row(number).values()...)
		must(err)
	}
	must(transaction.Commit())
	rows, err := database.Query(
		"SELECT name, price, made, seen, facts, picture, ratio, serial, note FROM goods WHERE id > ? ORDER BY id", 0)
	must(err)
	number := 0
	for ; rows.Next(); number++ {
		var found good
		must(rows.Scan(&found.name, &found.price, &found.made, &found.seen, &found.facts, &found.picture, &found.ratio,
			&found.serial, &found.note))
		expected := row(number)
		check("facts", meaning(found.facts), meaning(expected.facts))
		found.facts = expected.facts
		check(fmt.Sprintf("row %d", number), found, expected)
	}
	must(rows.Err())
	check("rows", number, rowCount)
}

func transactions(database *sql.DB) {
	count := func(from interface {
		QueryRow(string, ...any) *sql.Row
	}) (number int) {
		must(from.QueryRow("SELECT COUNT(*) FROM goods WHERE price >= 1000").Scan(&number))
		return number
	}
	transaction, err := database.Begin()
	must(err)
	_, err = transaction.Exec("UPDATE goods SET price = price + 1000")
	must(err)
	check("within the transaction", count(transaction), rowCount)
	must(transaction.Rollback())
	check("after rollback", count(database), 0)
	transaction, err = database.Begin()
	must(err)
	_, err = transaction.Exec("UPDATE goods SET price = price + ? WHERE id = ?", "0.5", 1)
	must(err)
	for _, text := range []string{"SAVEPOINT here", "DELETE FROM goods", "ROLLBACK TO SAVEPOINT here"} {
		_, err = transaction.Exec(text)
		must(err)
	}
	must(transaction.Commit())
	_, err = database.Exec(insert, row(7).values()...)
	var refused *mysql.MySQLError
	check("a duplicate key is refused", errors.As(err, &refused) && refused.Number == 1062, true)
}

func bigValue(database *sql.DB) {
	pattern := make([]byte, 256)
	for offset := range pattern {
		pattern[offset] = byte(offset)
	}
	big := bytes.Repeat(pattern, 17<<12)
	_, err := database.Exec("INSERT INTO goods (name, price, picture) VALUES ('big', 1, ?)", big)
	must(err)
	var found []byte
	must(database.QueryRow("SELECT picture FROM goods WHERE name = 'big'").Scan(&found))
	check("the big value", md5.Sum(found), md5.Sum(big))
}

func main() {
	arguments := os.Args[1:]
	database := open(arguments)
	defer database.Close()
	insertAndRead(database)
	transactions(database)
	bigValue(database)
	// The account is in the server's cache by now.
	again := open(arguments)
	defer again.Close()
	var account string
	must(again.QueryRow("SELECT CURRENT_USER()").Scan(&account))
	check("the account", strings.Split(account, "@")[0], arguments[1])
	rows, err := database.Query("SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression_algorithm')")
	must(err)
	for rows.Next() {
		var name, value string
		must(rows.Scan(&name, &value))
		fmt.Printf("%s=%s\n", name, value)
	}
	must(rows.Err())
}
