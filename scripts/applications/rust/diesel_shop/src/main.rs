//! A shop with diesel over MySQL's C library: its migrations up and down, typed queries, a pool. Arguments: port, database.

mod schema;

use std::error::Error;

use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use diesel::dsl::{count_star, exists, insert_into, insert_or_ignore_into, max, not, replace_into, sql, sum};
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::{DatabaseErrorKind, Error as QueryError};
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use schema::{customers, dear_products, order_lines, orders, products, stock_logs};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Debug, PartialEq, Clone, Queryable, Selectable, Insertable, Identifiable)]
#[diesel(table_name = products, primary_key(sku), check_for_backend(diesel::mysql::Mysql))]
struct Product {
    sku: String,
    price: BigDecimal,
    stock: u32,
    weight: Option<f64>,
    picture: Option<Vec<u8>>,
    is_sold: bool,
}

#[derive(Insertable)]
#[diesel(table_name = customers)]
struct NewCustomer<'a> {
    email: &'a str,
    name: &'a str,
    joined: NaiveDate,
    profile: Option<serde_json::Value>,
    referrer: Option<i64>,
}

#[derive(Debug, PartialEq, Queryable, Selectable, Identifiable)]
#[diesel(table_name = customers)]
struct Customer {
    id: i64,
    name: String,
    joined: NaiveDate,
    profile: Option<serde_json::Value>,
}

#[derive(Debug, PartialEq, Queryable, Selectable, Identifiable, Associations)]
#[diesel(table_name = orders, belongs_to(Customer))]
struct Order {
    id: u64,
    customer_id: i64,
    placed: NaiveDateTime,
    arrives: Option<NaiveTime>,
    seen: Option<NaiveDateTime>,
}

#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, Identifiable, Associations)]
#[diesel(table_name = order_lines, primary_key(order_id, sku), belongs_to(Order))]
struct Line {
    order_id: u64,
    sku: String,
    quantity: i16,
}

fn step(what: &str) {
    println!("{what}");
}

fn moment() -> NaiveDateTime {
    "2024-02-29T23:59:58.123456".parse().expect("a time")
}

fn price(eighths: u32) -> BigDecimal {
    BigDecimal::from(eighths * 125) / 1000
}

fn migrate(connection: &mut MysqlConnection) -> Result {
    step("migrations: up, all the way down, up again, and a step back");
    connection.run_pending_migrations(MIGRATIONS)?;
    connection.revert_all_migrations(MIGRATIONS)?;
    connection.run_pending_migrations(MIGRATIONS)?;
    connection.revert_last_migration(MIGRATIONS)?;
    assert_eq!(connection.applied_migrations()?.len(), 2);
    assert!(connection.has_pending_migration(MIGRATIONS)?);
    Ok(())
}

fn insert(connection: &mut MysqlConnection) -> Result<i64> {
    step("rows of all types, one and many");
    let profile = serde_json::json!({"n": 1.5, "tags": ["a", "b"]});
    let ada = connection.transaction::<_, QueryError, _>(|connection| {
        let ada = NewCustomer { email: "ada@example.org", name: "Ada Größe 鯉 🐟", joined: moment().date(), profile: Some(profile.clone()), referrer: None };
        insert_into(customers::table).values(&ada).execute(connection)?;
        let ada: i64 = diesel::select(sql::<BigInt>("CAST(LAST_INSERT_ID() AS SIGNED)")).get_result(connection)?;
        let bob = NewCustomer { email: "bob@example.org", name: "Bob", joined: moment().date(), profile: None, referrer: Some(ada) };
        insert_into(customers::table).values(&bob).execute(connection)?;
        let rows: Vec<_> = (0..500)
            .map(|number| Product {
                sku: format!("P{number:05}"),
                price: price(number),
                stock: number,
                weight: Some(f64::from(number) / 3.0),
                picture: Some((0..=255).collect()),
                is_sold: number % 2 == 0,
            })
            .collect();
        assert_eq!(insert_into(products::table).values(&rows).execute(connection)?, 500);
        let order = (orders::id.eq(7), orders::customer_id.eq(ada), orders::placed.eq(moment()), orders::arrives.eq(NaiveTime::from_hms_opt(12, 30, 1)));
        insert_into(orders::table).values(order).execute(connection)?;
        let lines: Vec<_> = [8, 16, 24].map(|number| Line { order_id: 7, sku: format!("P{number:05}"), quantity: number / 8 }).into();
        insert_into(order_lines::table).values(&lines).execute(connection)?;
        Ok(ada)
    })?;
    let found = products::table.find("P00008").select(Product::as_select()).first(connection)?;
    assert_eq!((found.price, found.stock, found.weight, found.is_sold), (BigDecimal::from(1), 8, Some(8.0 / 3.0), true));
    assert_eq!(found.picture.map(|picture| picture.len()), Some(256));
    let found = customers::table.find(ada).select(Customer::as_select()).first(connection)?;
    assert_eq!((found.name.as_str(), found.profile, found.joined), ("Ada Größe 鯉 🐟", Some(profile), moment().date()));
    let found = orders::table.select(Order::as_select()).first(connection)?;
    assert_eq!((found.placed, found.arrives, found.seen), (moment(), NaiveTime::from_hms_opt(12, 30, 1), None));
    Ok(ada)
}

fn transactions(connection: &mut MysqlConnection, pool: &Pool<ConnectionManager<MysqlConnection>>) -> Result {
    step("transactions: rolled back, nested, and many at once");
    connection.transaction::<_, QueryError, _>(|connection| {
        diesel::update(products::table.find("P00001")).set(products::stock.eq(products::stock + 10)).execute(connection)?;
        let inner = connection.transaction::<(), QueryError, _>(|connection| {
            diesel::delete(order_lines::table).execute(connection)?;
            let again = NewCustomer { email: "ada@example.org", name: "A", joined: moment().date(), profile: None, referrer: None };
            insert_into(customers::table).values(&again).execute(connection)?;
            Ok(())
        });
        assert!(matches!(inner, Err(QueryError::DatabaseError(DatabaseErrorKind::UniqueViolation, _))), "{inner:?}");
        Ok(())
    })?;
    assert_eq!(order_lines::table.count().get_result::<i64>(connection)?, 3);
    let takers: Vec<_> = (0..10)
        .map(|_| {
            let pool = pool.clone();
            std::thread::spawn(move || {
                let mut connection = pool.get().expect("a connection");
                connection.transaction::<_, QueryError, _>(|connection| {
                    let stock: u32 = products::table.find("P00100").select(products::stock).for_update().first(connection)?;
                    diesel::update(products::table.find("P00100")).set(products::stock.eq(stock - 2)).execute(connection)
                })
            })
        })
        .collect();
    for taker in takers {
        assert_eq!(taker.join().expect("a taker")?, 1);
    }
    assert_eq!(products::table.find("P00100").select(products::stock).first::<u32>(connection)?, 80);
    let logged = stock_logs::table.select((count_star(), sum(stock_logs::difference))).first::<(i64, Option<BigDecimal>)>(connection)?;
    assert_eq!(logged, (11, Some(BigDecimal::from(-10))));
    Ok(())
}

fn upserts(connection: &mut MysqlConnection) -> Result {
    step("upserts: ON DUPLICATE KEY UPDATE, INSERT IGNORE, REPLACE");
    let row = |sku: &str, stock| (products::sku.eq(sku.to_owned()), products::price.eq(BigDecimal::from(1)), products::stock.eq(stock));
    for (sku, affected) in [("P00002", 2), ("NEW", 1)] {
        let upsert = insert_into(products::table).values(row(sku, 5_u32)).on_conflict(diesel::dsl::DuplicatedKeys).do_update();
        assert_eq!(upsert.set(products::stock.eq(products::stock + 20)).execute(connection)?, affected, "{sku}");
    }
    assert_eq!(insert_or_ignore_into(products::table).values(row("NEW", 9)).execute(connection)?, 0);
    assert_eq!(replace_into(products::table).values(row("NEW", 9)).execute(connection)?, 2);
    let stocks = products::table.filter(products::sku.eq_any(["P00002", "NEW"])).order(products::sku).select(products::stock);
    assert_eq!(stocks.load::<u32>(connection)?, [9, 22]);
    Ok(())
}

fn queries(connection: &mut MysqlConnection, ada: i64) -> Result {
    step("joins, groups, subqueries, pages, JSON, a function and a view");
    let rows = customers::table
        .inner_join(orders::table.inner_join(order_lines::table.inner_join(products::table)))
        .group_by(customers::id)
        .having(count_star().gt(2))
        .select((customers::id, sum(order_lines::quantity), max(order_lines::quantity)))
        .load::<(i64, Option<i64>, Option<i16>)>(connection)?;
    assert_eq!(rows, [(ada, Some(6), Some(3))]);
    let everybody = customers::table.left_join(orders::table).order(customers::id).select((customers::name, orders::id.nullable()));
    assert_eq!(everybody.load::<(String, Option<u64>)>(connection)?, [("Ada Größe 鯉 🐟".into(), Some(7)), ("Bob".into(), None)]);
    let owners = customers::table.order(customers::id).select(Customer::as_select()).load(connection)?;
    let theirs = Order::belonging_to(&owners).select(Order::as_select()).load(connection)?;
    let lines = Line::belonging_to(&theirs).select(Line::as_select()).load(connection)?;
    let lines_of: Vec<usize> = lines.grouped_by(&theirs).iter().map(Vec::len).collect();
    assert_eq!((theirs.len(), lines_of), (1, vec![3]));
    let sold = exists(order_lines::table.filter(order_lines::sku.eq(products::sku)));
    assert_eq!(products::table.filter(not(sold)).count().get_result::<i64>(connection)?, 498);
    let page = products::table.order((products::price.desc(), products::sku)).select(products::sku).limit(50).offset(100).load::<String>(connection)?;
    assert_eq!((page.len(), page[0].as_str()), (50, "P00399"));
    let tagged = customers::table.filter(sql::<Bool>("JSON_CONTAINS(profile, ").bind::<Text, _>("\"b\"").sql(", '$.tags')"));
    assert_eq!(tagged.select(customers::id).load::<i64>(connection)?, [ada]);
    assert_eq!(products::table.filter(products::sku.like("P0049%").and(products::price.gt(price(495)))).count().get_result::<i64>(connection)?, 4);
    let stock: i64 = diesel::select(sql::<BigInt>("in_stock(").bind::<Text, _>("P00100").sql(")")).get_result(connection)?;
    assert_eq!(stock, 80);
    assert_eq!(dear_products::table.filter(dear_products::price.lt(BigDecimal::from(61))).count().get_result::<i64>(connection)?, 7);
    let streamed: u64 = products::table.select(products::stock).load_iter::<u32, diesel::connection::DefaultLoadingMode>(connection)?.map(|row| row.map(u64::from)).sum::<QueryResult<u64>>()?;
    assert_eq!(streamed, 124_750 + 10 + 20 - 20 + 9);
    Ok(())
}

fn refusals(connection: &mut MysqlConnection, ada: i64) -> Result {
    step("foreign keys and checks refuse, keys cascade");
    let sold = diesel::delete(products::table.find("P00008")).execute(connection);
    assert!(matches!(sold, Err(QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _))), "{sold:?}");
    let orphan = insert_into(order_lines::table).values(&Line { order_id: 7, sku: "none".into(), quantity: 1 }).execute(connection);
    assert!(matches!(orphan, Err(QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _))), "{orphan:?}");
    let negative = diesel::update(products::table.find("P00008")).set(products::price.eq(BigDecimal::from(-1))).execute(connection);
    assert!(matches!(negative, Err(QueryError::DatabaseError(DatabaseErrorKind::CheckViolation, _))), "{negative:?}");
    step("the last migration, with rows");
    connection.run_pending_migrations(MIGRATIONS)?;
    diesel::delete(customers::table.find(ada)).execute(connection)?;
    assert_eq!(order_lines::table.count().get_result::<i64>(connection)?, 0);
    assert_eq!(customers::table.filter(customers::referrer.is_not_null()).count().get_result::<i64>(connection)?, 0);
    Ok(())
}

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().collect();
    let url = format!("mysql://root@127.0.0.1:{}/{}", arguments[1], arguments[2]);
    let pool = Pool::builder().max_size(5).build(ConnectionManager::<MysqlConnection>::new(&url))?;
    let mut connection = MysqlConnection::establish(&url)?;
    migrate(&mut connection)?;
    let ada = insert(&mut connection)?;
    transactions(&mut connection, &pool)?;
    upserts(&mut connection)?;
    queries(&mut connection, ada)?;
    refusals(&mut connection, ada)
}
