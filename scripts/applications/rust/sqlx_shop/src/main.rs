//! A shop with sqlx: its migrations up and down, prepared statements on a pool of connections, streams. Arguments: port, database.

use std::path::Path;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use futures_util::TryStreamExt;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use sqlx::migrate::Migrator;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::types::Json;
use sqlx::{Acquire, Column, Executor, FromRow, QueryBuilder, Row, TypeInfo};
use uuid::Uuid;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Profile {
    n: f64,
    tags: Vec<String>,
}

/// Of a column that may be NULL, as sqlx finds that ENUM is not ENUM otherwise.
#[derive(Debug, PartialEq, Clone, Copy, sqlx::Type)]
#[sqlx(rename_all = "lowercase")]
enum Kind {
    Cheap,
    Fair,
    Dear,
}

#[derive(Debug, FromRow)]
struct Product {
    sku: String,
    price: Decimal,
    gross: Option<Decimal>,
    stock: i32,
    weight: Option<f32>,
    picture: Option<Vec<u8>>,
    kind: Option<Kind>,
    is_sold: bool,
}

fn step(what: &str) {
    println!("{what}");
}

/// That something is refused with a number of MySQL's.
fn refused<T>(number: u16, result: sqlx::Result<T>) {
    let error = result.err().unwrap_or_else(|| panic!("{number} was expected"));
    let error = error.into_database_error().expect("the server refuses");
    let found = error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>().number();
    assert_eq!(found, number, "{error}");
}

async fn number(pool: &MySqlPool, query: &str) -> Result<i64> {
    Ok(sqlx::query_scalar(query).fetch_one(pool).await?)
}

fn moment() -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2024, 2, 29).unwrap().and_hms_micro_opt(23, 59, 58, 123_456).unwrap()
}

async fn migrate(pool: &MySqlPool) -> Result {
    let migrator = Migrator::new(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))).await?;
    step("migrations: up, all the way down, up again, and a step back");
    migrator.run(pool).await?;
    migrator.run(pool).await?;
    migrator.undo(pool, 0).await?;
    assert_eq!(number(pool, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").await?, 1);
    migrator.run(pool).await?;
    migrator.undo(pool, 2).await?;
    assert_eq!(number(pool, "SELECT COUNT(*) FROM _sqlx_migrations WHERE success").await?, 2);
    Ok(())
}

async fn insert(pool: &MySqlPool) -> Result {
    step("rows of all types, one and many");
    let profile = Json(Profile { n: 1.5, tags: vec!["a".into(), "b".into()] });
    let mut transaction = pool.begin().await?;
    let ada = sqlx::query("INSERT INTO customer (email, name, joined, profile) VALUES (?, ?, ?, ?)")
        .bind("ada@example.org")
        .bind("Ada Größe 鯉 🐟")
        .bind(moment().date())
        .bind(&profile)
        .execute(&mut *transaction)
        .await?
        .last_insert_id();
    let mut products = QueryBuilder::new("INSERT INTO product (sku, price, stock, weight, picture, kind) ");
    products.push_values(0..500_i32, |mut row, number| {
        let picture: Vec<u8> = (0..=255).collect();
        let kind = if number > 480 { Kind::Dear } else { Kind::Cheap };
        row.push_bind(format!("P{number:05}")).push_bind(Decimal::new(i64::from(number) * 125, 3)).push_bind(number);
        row.push_bind(number as f32 / 3.0).push_bind(picture).push_bind(kind);
    });
    assert_eq!(products.build().execute(&mut *transaction).await?.rows_affected(), 500);
    let order = Uuid::from_u128(1);
    sqlx::query("INSERT INTO `order` VALUES (?, ?, ?, ?, ?)")
        .bind(order)
        .bind(ada)
        .bind(moment())
        .bind(NaiveTime::from_hms_milli_opt(12, 30, 1, 250))
        .bind(2024_u16)
        .execute(&mut *transaction)
        .await?;
    for number in [8_i16, 16, 24] {
        let line = sqlx::query("INSERT INTO order_line VALUES (?, ?, ?)").bind(order).bind(format!("P{number:05}")).bind(number / 8);
        line.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;

    let product: Product = sqlx::query_as("SELECT * FROM product WHERE sku = ?").bind("P00008").fetch_one(pool).await?;
    assert_eq!((product.price, product.gross, product.stock), (Decimal::ONE, Some(Decimal::new(119, 2)), 8));
    assert_eq!((product.sku.as_str(), product.kind, product.is_sold), ("P00008", Some(Kind::Cheap), true));
    assert_eq!(product.picture.map(|picture| picture.len()), Some(256));
    assert!((product.weight.unwrap() - 8.0 / 3.0).abs() < 1e-6);
    let found: (Json<Profile>, NaiveDate) = sqlx::query_as("SELECT profile, joined FROM customer").fetch_one(pool).await?;
    assert_eq!(found, (profile, moment().date()));
    let found: (Uuid, NaiveDateTime, NaiveTime, u16) = sqlx::query_as("SELECT id, placed, arrives, made FROM `order`").fetch_one(pool).await?;
    assert_eq!(found, (order, moment(), NaiveTime::from_hms_milli_opt(12, 30, 1, 250).unwrap(), 2024));
    Ok(())
}

async fn transactions(pool: &MySqlPool) -> Result {
    step("transactions: rolled back, nested, dropped, and many at once");
    let mut outer = pool.begin().await?;
    sqlx::query("UPDATE product SET stock = stock + 10 WHERE sku = 'P00001'").execute(&mut *outer).await?;
    let mut inner = outer.begin().await?;
    sqlx::query("DELETE FROM order_line").execute(&mut *inner).await?;
    refused(1062, sqlx::query("INSERT INTO customer (email, name, joined) VALUES ('ada@example.org', 'A', '2020-01-01')").execute(&mut *inner).await);
    inner.rollback().await?;
    outer.commit().await?;
    let mut dropped = pool.begin().await?;
    sqlx::query("UPDATE product SET stock = 0").execute(&mut *dropped).await?;
    drop(dropped);
    assert_eq!(number(pool, "SELECT COUNT(*) FROM order_line").await?, 3);
    assert_eq!(number(pool, "SELECT CAST(SUM(stock) AS SIGNED) FROM product").await?, 124_760);
    let mut takers = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let pool = pool.clone();
        takers.spawn(async move {
            let mut transaction = pool.begin().await?;
            let stock: i32 = sqlx::query_scalar("SELECT stock FROM product WHERE sku = 'P00100' FOR UPDATE").fetch_one(&mut *transaction).await?;
            sqlx::query("UPDATE product SET stock = ? WHERE sku = 'P00100'").bind(stock - 2).execute(&mut *transaction).await?;
            transaction.commit().await
        });
    }
    while let Some(taken) = takers.join_next().await {
        taken??;
    }
    assert_eq!(number(pool, "SELECT CAST(stock AS SIGNED) FROM product WHERE sku = 'P00100'").await?, 80);
    assert_eq!(number(pool, "SELECT COUNT(*) FROM stock_log").await?, 11);
    Ok(())
}

async fn upserts(pool: &MySqlPool) -> Result {
    step("upserts: ON DUPLICATE KEY UPDATE, INSERT IGNORE, REPLACE");
    let upsert = "INSERT INTO product (sku, price, stock) VALUES (?, ?, ?) AS fresh ON DUPLICATE KEY UPDATE stock = product.stock + fresh.stock";
    for (sku, stock, affected) in [("P00002", 20, 2), ("NEW", 1, 1), ("NEW", 0, 0)] {
        let done = sqlx::query(upsert).bind(sku).bind(Decimal::ONE).bind(stock).execute(pool).await?;
        // The driver asks for rows found, of which one that stays as it is counts as well.
        assert_eq!(done.rows_affected(), if affected == 0 { 1 } else { affected }, "{sku}");
    }
    let ignored = sqlx::query("INSERT IGNORE INTO product (sku, price) VALUES ('NEW', 2)").execute(pool).await?;
    let replaced = sqlx::query("REPLACE INTO product (sku, price, stock) VALUES ('NEW', 3, 3)").execute(pool).await?;
    assert_eq!((ignored.rows_affected(), replaced.rows_affected()), (0, 2));
    assert_eq!(number(pool, "SELECT CAST(stock AS SIGNED) FROM product WHERE sku = 'P00002'").await?, 22);
    Ok(())
}

async fn queries(pool: &MySqlPool) -> Result {
    step("joins, groups, JSON, pages, a stream, CALL");
    let turnover: (String, Decimal, i64) = sqlx::query_as(
        "SELECT c.name, SUM(l.quantity * p.price), COUNT(*) FROM customer c JOIN `order` o ON o.customer_id = c.id \
         JOIN order_line l ON l.order_id = o.id JOIN product p USING (sku) GROUP BY c.id HAVING COUNT(*) > ?",
    )
    .bind(2)
    .fetch_one(pool)
    .await?;
    assert_eq!(turnover, ("Ada Größe 鯉 🐟".into(), Decimal::from(14), 3));
    let n: f64 = sqlx::query_scalar("SELECT CAST(profile->'$.n' AS DOUBLE) FROM customer WHERE profile->>'$.tags[1]' = ?").bind("b").fetch_one(pool).await?;
    assert_eq!(n, 1.5);
    let page: Vec<String> = sqlx::query_scalar("SELECT sku FROM product ORDER BY price DESC, sku LIMIT ? OFFSET ?").bind(50).bind(100).fetch_all(pool).await?;
    assert_eq!((page.len(), page[0].as_str()), (50, "P00399"));
    let mut seen = 0_i64;
    let mut rows = sqlx::query("SELECT sku, stock FROM product").fetch(pool);
    while let Some(row) = rows.try_next().await? {
        seen += i64::from(row.try_get::<i32, _>("stock")?);
        assert_eq!(row.column(1).type_info().name(), "INT");
    }
    drop(rows);
    assert_eq!(seen, number(pool, "SELECT CAST(SUM(stock) AS SIGNED) FROM product").await?);
    let called: Vec<(String, i32)> = sqlx::query_as("CALL stock_between(?, ?)").bind(490).bind(492).fetch_all(pool).await?;
    assert_eq!(called, [("P00490".into(), 490), ("P00491".into(), 491), ("P00492".into(), 492)]);
    let tax: Decimal = sqlx::query_scalar("SELECT with_tax(?)").bind(Decimal::from(100)).fetch_one(pool).await?;
    assert_eq!(tax, Decimal::from(119));
    assert_eq!(number(pool, "SELECT COUNT(*) FROM dear_product").await?, 19);
    let nothing: Option<String> = sqlx::query_scalar("SELECT sku FROM product WHERE sku = ?").bind("none").fetch_optional(pool).await?;
    assert_eq!(nothing, None);
    // What the driver learns of a statement that it only prepares.
    let described = pool.describe("SELECT id, email, profile FROM customer WHERE id = ?").await?;
    let types: Vec<_> = described.columns().iter().map(|column| column.type_info().name().to_owned()).collect();
    assert_eq!((types, described.nullable(0), described.nullable(2)), (vec!["BIGINT UNSIGNED".into(), "VARCHAR".into(), "JSON".into()], Some(false), Some(true)));
    Ok(())
}

async fn refusals(pool: &MySqlPool) -> Result {
    step("foreign keys and checks refuse, keys cascade");
    refused(1451, sqlx::query("DELETE FROM product WHERE sku = 'P00008'").execute(pool).await);
    refused(1452, sqlx::query("INSERT INTO order_line VALUES (?, 'none', 1)").bind(Uuid::from_u128(1)).execute(pool).await);
    refused(3819, sqlx::query("UPDATE product SET price = ? WHERE sku = 'P00008'").bind(Decimal::NEGATIVE_ONE).execute(pool).await);
    refused(3105, sqlx::query("UPDATE product SET gross = 1 WHERE sku = 'P00008'").execute(pool).await);
    sqlx::query("UPDATE product SET sku = 'RENAMED' WHERE sku = 'P00008'").execute(pool).await?;
    assert_eq!(number(pool, "SELECT COUNT(*) FROM order_line WHERE sku = 'RENAMED'").await?, 1);
    Ok(())
}

async fn last_migration(pool: &MySqlPool) -> Result {
    step("the last migration, with rows");
    let migrator = Migrator::new(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))).await?;
    migrator.run(pool).await?;
    let kinds: Vec<(Option<Kind>, i64)> = sqlx::query_as("SELECT kind, COUNT(*) FROM product GROUP BY kind ORDER BY kind").fetch_all(pool).await?;
    assert_eq!(kinds, [(Some(Kind::Cheap), 482), (Some(Kind::Dear), 19)]);
    sqlx::query("INSERT INTO product (sku, price) VALUES ('FAIR', 1)").execute(pool).await?;
    let fair: Product = sqlx::query_as("SELECT *, kilograms AS weight FROM product WHERE kind = 'fair'").fetch_one(pool).await?;
    assert_eq!((fair.sku.as_str(), fair.stock), ("FAIR", 1));
    sqlx::query("DELETE FROM customer").execute(pool).await?;
    assert_eq!(number(pool, "SELECT COUNT(*) FROM `order`").await?, 0);
    Ok(())
}

#[tokio::main]
async fn main() -> Result {
    let arguments: Vec<String> = std::env::args().collect();
    let options = MySqlConnectOptions::new().host("127.0.0.1").port(arguments[1].parse()?).username("root").database(&arguments[2]);
    let pool = MySqlPoolOptions::new().max_connections(5).connect_with(options).await?;
    migrate(&pool).await?;
    insert(&pool).await?;
    transactions(&pool).await?;
    upserts(&pool).await?;
    queries(&pool).await?;
    refusals(&pool).await?;
    last_migration(&pool).await?;
    pool.close().await;
    Ok(())
}
