//! A shop with SeaORM: its migrations up and down, entities with relations, transactions. Arguments: port, database.

mod entities;
mod migrations;

use std::error::Error;

use entities::{customer, order, order_line, product};
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::sqlx::mysql::MySqlDatabaseError;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ConnectOptions, Database, DatabaseConnection, DbBackend, FromQueryResult, JoinType, LoaderTrait, QueryOrder,
    QuerySelect, QueryTrait, RuntimeErr, Statement, TransactionTrait,
};
use sea_orm_migration::{MigratorTrait, SchemaManager};

use migrations::Migrator;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn step(what: &str) {
    println!("{what}");
}

/// That something is refused with a number of MySQL's.
fn refused<T>(number: u16, result: std::result::Result<T, DbErr>) {
    let error = result.err().unwrap_or_else(|| panic!("{number} was expected"));
    let (DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) = &error else { panic!("{error}") };
    let cause = cause.as_database_error().expect("the server refuses").downcast_ref::<MySqlDatabaseError>();
    assert_eq!(cause.number(), number, "{error}");
}

fn moment() -> DateTime {
    "2024-02-29T23:59:58.123456".parse().expect("a time")
}

async fn migrate(db: &DatabaseConnection) -> Result {
    step("migrations: up, down, up again, refreshed, status");
    Migrator::up(db, Some(2)).await?;
    Migrator::down(db, None).await?;
    assert!(!SchemaManager::new(db).has_table("customer").await?);
    Migrator::up(db, None).await?;
    let manager = SchemaManager::new(db);
    assert!(manager.has_column("customer", "phone").await? && manager.has_index("customer", "by_phone").await?);
    Migrator::refresh(db).await?;
    Migrator::down(db, Some(1)).await?;
    assert_eq!(Migrator::get_pending_migrations(db).await?.len(), 1);
    assert!(!manager.has_column("customer", "phone").await?);
    Ok(())
}

async fn insert(db: &DatabaseConnection) -> Result<customer::Model> {
    step("rows with their relations, one and many");
    let profile = serde_json::json!({"n": 1.5, "tags": ["a", "b"]});
    let transaction = db.begin().await?;
    let person = |email: &str, name: &str, profile| customer::ActiveModel {
        email: Set(email.into()),
        name: Set(name.into()),
        joined: Set(moment().date()),
        profile: Set(profile),
        ..Default::default()
    };
    let ada = person("ada@example.org", "Ada Größe 鯉 🐟", Some(profile.clone())).insert(&transaction).await?;
    person("bob@example.org", "Bob", None).insert(&transaction).await?;
    let products = (0..500).map(|number| product::ActiveModel {
        sku: Set(format!("P{number:05}")),
        price: Set(Decimal::new(i64::from(number) * 125, 3)),
        stock: Set(number),
        kind: Set(if number > 480 { product::Kind::Dear } else { product::Kind::Cheap }),
        picture: Set(Some((0..=255).collect())),
    });
    product::Entity::insert_many(products).exec(&transaction).await?;
    let placed = order::ActiveModel { id: Set(Uuid::from_u128(1)), customer_id: Set(ada.id), placed: Set(moment()) }.insert(&transaction).await?;
    let lines = [8_i16, 16, 24].map(|number| order_line::ActiveModel { order_id: Set(placed.id), sku: Set(format!("P{number:05}")), quantity: Set(number / 8) });
    order_line::Entity::insert_many(lines).exec(&transaction).await?;
    transaction.commit().await?;

    let found = customer::Entity::find().filter(customer::Column::Email.eq("ada@example.org")).one(db).await?.expect("Ada");
    assert_eq!((found.profile.as_ref(), found.joined), (Some(&profile), moment().date()));
    assert_eq!(order::Entity::find_by_id(Uuid::from_u128(1)).one(db).await?, Some(placed));
    let dearest = product::Entity::find().filter(product::Column::Kind.eq(product::Kind::Dear)).order_by_desc(product::Column::Price).one(db).await?.expect("one");
    assert_eq!((dearest.price, dearest.picture.map(|picture| picture.len())), (Decimal::new(62_375, 3), Some(256)));
    Ok(ada)
}

async fn transactions(db: &DatabaseConnection) -> Result {
    step("transactions: rolled back, nested, and many at once");
    let outer = db.begin().await?;
    let again = customer::ActiveModel { email: Set("ada@example.org".into()), name: Set("A".into()), joined: Set(moment().date()), ..Default::default() };
    let inner = outer.begin().await?;
    product::Entity::update_many().col_expr(product::Column::Stock, Expr::value(0)).exec(&inner).await?;
    let refusal = again.insert(&inner).await;
    assert!(matches!(refusal.as_ref().err().and_then(DbErr::sql_err), Some(SqlErr::UniqueConstraintViolation(_))), "{refusal:?}");
    refused(1062, refusal);
    inner.rollback().await?;
    product::Entity::update_many()
        .col_expr(product::Column::Stock, Expr::col(product::Column::Stock).add(10))
        .filter(product::Column::Sku.is_in(["P00001", "P00002"]))
        .exec(&outer)
        .await?;
    outer.commit().await?;
    let mut takers = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let db = db.clone();
        takers.spawn(async move {
            let transaction = db.begin().await?;
            let held = product::Entity::find_by_id("P00100").lock_exclusive().one(&transaction).await?.expect("a product");
            let stock = held.stock;
            product::ActiveModel { stock: Set(stock - 2), ..held.into() }.update(&transaction).await?;
            transaction.commit().await
        });
    }
    while let Some(taken) = takers.join_next().await {
        taken??;
    }
    assert_eq!(product::Entity::find_by_id("P00100").one(db).await?.map(|one| one.stock), Some(80));
    let called = db.query_one(Statement::from_sql_and_values(DbBackend::MySql, "CALL stock_of(?)", ["P00001".into()])).await?.expect("a row");
    assert_eq!(called.try_get_by_index::<i32>(0)?, 11);
    let logged = db.query_one(Statement::from_string(DbBackend::MySql, "SELECT COUNT(*) FROM stock_log")).await?.expect("a row");
    assert_eq!(logged.try_get_by_index::<i64>(0)?, 12);
    Ok(())
}

async fn upserts(db: &DatabaseConnection) -> Result {
    step("upserts");
    let one = |sku: &str, stock| product::ActiveModel { sku: Set(sku.into()), price: Set(Decimal::ONE), stock: Set(stock), kind: Set(product::Kind::Cheap), picture: Set(None) };
    let on_conflict = OnConflict::column(product::Column::Sku).update_column(product::Column::Stock).to_owned();
    product::Entity::insert_many([one("P00003", 33), one("NEW", 1)]).on_conflict(on_conflict).exec_without_returning(db).await?;
    let nothing = OnConflict::column(product::Column::Sku).do_nothing_on([product::Column::Sku]).to_owned();
    product::Entity::insert(one("P00003", 44)).on_conflict(nothing).exec_without_returning(db).await?;
    let found = product::Entity::find_by_id("P00003").one(db).await?.expect("one");
    assert_eq!((found.stock, found.price), (33, Decimal::new(375, 3)));
    assert_eq!(product::Entity::find().count(db).await?, 501);
    Ok(())
}

#[derive(FromQueryResult)]
struct Turnover {
    name: String,
    sum: Decimal,
    lines: i64,
}

async fn queries(db: &DatabaseConnection, ada: &customer::Model) -> Result {
    step("relations, groups, JSON, pages");
    let orders = customer::Entity::find().find_with_related(order::Entity).order_by_asc(customer::Column::Id).all(db).await?;
    assert_eq!(orders.iter().map(|(_, orders)| orders.len()).collect::<Vec<_>>(), [1, 0]);
    let all = order::Entity::find().all(db).await?;
    let bought = all.load_many_to_many(product::Entity, order_line::Entity, db).await?;
    assert_eq!(bought[0].len(), 3);
    assert_eq!(ada.find_related(order::Entity).count(db).await?, 1);
    let turnover = customer::Entity::find()
        .select_only()
        .column(customer::Column::Name)
        .column_as(Expr::cust("SUM(order_line.quantity * product.price)"), "sum")
        .column_as(order_line::Column::Sku.count(), "lines")
        .join(JoinType::InnerJoin, customer::Relation::Order.def())
        .join(JoinType::InnerJoin, order::Relation::OrderLine.def())
        .join(JoinType::InnerJoin, order_line::Relation::Product.def())
        .group_by(customer::Column::Id)
        .into_model::<Turnover>()
        .one(db)
        .await?
        .expect("a row");
    assert_eq!((turnover.name.as_str(), turnover.sum, turnover.lines), ("Ada Größe 鯉 🐟", Decimal::from(14), 3));
    let with_tag = customer::Entity::find().filter(Expr::cust_with_values("JSON_CONTAINS(profile, ?, '$.tags')", [r#""b""#])).count(db).await?;
    assert_eq!(with_tag, 1);
    let pages = product::Entity::find().order_by_desc(product::Column::Price).order_by_asc(product::Column::Sku).paginate(db, 50);
    assert_eq!((pages.num_pages().await?, pages.fetch_page(2).await?[0].sku.as_str()), (11, "P00399"));
    let mut cursor = product::Entity::find().cursor_by(product::Column::Sku);
    let page = cursor.after("P00100").first(5).all(db).await?;
    assert_eq!(page.last().map(|last| last.sku.as_str()), Some("P00105"));
    let sold = order_line::Entity::find().select_only().column(order_line::Column::Sku).into_query();
    assert_eq!(product::Entity::find().filter(product::Column::Sku.in_subquery(sold)).count(db).await?, 3);
    Ok(())
}

async fn refusals(db: &DatabaseConnection, ada: customer::Model) -> Result {
    step("foreign keys and checks refuse, keys cascade");
    refused(1451, product::Entity::delete_by_id("P00008").exec(db).await);
    let orphan = order_line::ActiveModel { order_id: Set(Uuid::from_u128(1)), sku: Set("none".into()), quantity: Set(1) };
    refused(1452, orphan.insert(db).await);
    let negative = product::Entity::update_many().col_expr(product::Column::Price, Expr::value(-1)).exec(db).await;
    refused(3819, negative);
    step("the last migration, with rows");
    Migrator::up(db, None).await?;
    let found = db.query_one(Statement::from_string(DbBackend::MySql, "SELECT score FROM customer WHERE email LIKE 'ada%'")).await?.expect("a row");
    assert_eq!(found.try_get_by_index::<i16>(0)?, 3);
    ada.delete(db).await?;
    assert_eq!(order_line::Entity::find().count(db).await? + order::Entity::find().count(db).await?, 0);
    Ok(())
}

#[tokio::main]
async fn main() -> Result {
    let arguments: Vec<String> = std::env::args().collect();
    let mut options = ConnectOptions::new(format!("mysql://root@127.0.0.1:{}/{}", arguments[1], arguments[2]));
    options.max_connections(5).sqlx_logging(false);
    let db = Database::connect(options).await?;
    migrate(&db).await?;
    let ada = insert(&db).await?;
    transactions(&db).await?;
    upserts(&db).await?;
    queries(&db, &ada).await?;
    refusals(&db, ada).await?;
    db.close().await?;
    Ok(())
}
