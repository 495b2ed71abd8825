//! The shop's migrations: its tables, stored programs, and what a later version changes.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    binary_null, date, date_time, decimal_len, enumeration, integer, json_null, pk_auto, small_integer, string_len, string_len_uniq, uuid,
};
use sea_orm_migration::sea_orm::ConnectionTrait;

pub struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(Tables), Box::new(StoredPrograms), Box::new(Columns)]
    }
}

fn name(word: &'static str) -> Alias {
    Alias::new(word)
}

macro_rules! named {
    ($migration:ident, $name:literal) => {
        struct $migration;

        impl MigrationName for $migration {
            fn name(&self) -> &str {
                $name
            }
        }
    };
}

named!(Tables, "m01_tables");
named!(StoredPrograms, "m02_stored_programs");
named!(Columns, "m03_columns");

#[async_trait::async_trait]
impl MigrationTrait for Tables {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let customer = Table::create()
            .table(name("customer"))
            .if_not_exists()
            .col(pk_auto(name("id")).big_integer())
            .col(string_len_uniq(name("email"), 190))
            .col(string_len(name("name"), 100).comment("as on the parcel"))
            .col(date(name("joined")))
            .col(json_null(name("profile")))
            .to_owned();
        let product = Table::create()
            .table(name("product"))
            .col(string_len(name("sku"), 12).primary_key())
            .col(decimal_len(name("price"), 12, 4).check(Expr::col(name("price")).gte(0)))
            .col(integer(name("stock")).default(0))
            .col(enumeration(name("kind"), name("kind"), [name("cheap"), name("dear")]).default("cheap"))
            .col(binary_null(name("picture")).blob())
            .to_owned();
        let order = Table::create()
            .table(name("order"))
            .col(uuid(name("id")).primary_key())
            .col(ColumnDef::new(name("customer_id")).big_integer().not_null())
            .col(date_time(name("placed")).custom(name("datetime(6)")))
            .foreign_key(
                ForeignKey::create().name("order_of").from(name("order"), name("customer_id")).to(name("customer"), name("id")).on_delete(ForeignKeyAction::Cascade),
            )
            .to_owned();
        let line = Table::create()
            .table(name("order_line"))
            .col(uuid(name("order_id")))
            .col(string_len(name("sku"), 12))
            .col(small_integer(name("quantity")))
            .primary_key(Index::create().col(name("order_id")).col(name("sku")))
            .foreign_key(
                ForeignKey::create().name("line_of").from(name("order_line"), name("order_id")).to(name("order"), name("id")).on_delete(ForeignKeyAction::Cascade),
            )
            .foreign_key(ForeignKey::create().name("product_of").from(name("order_line"), name("sku")).to(name("product"), name("sku")))
            .to_owned();
        for table in [customer, product, order, line] {
            manager.create_table(table).await?;
        }
        manager.create_index(Index::create().name("by_name").table(name("customer")).col(name("name")).col(name("joined")).to_owned()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["order_line", "order", "product", "customer"] {
            manager.drop_table(Table::drop().table(name(table)).to_owned()).await?;
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl MigrationTrait for StoredPrograms {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for statement in [
            "CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(12) NOT NULL, difference INT NOT NULL)",
            "CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW BEGIN IF NEW.stock <> OLD.stock THEN \
             INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock); END IF; END",
            "CREATE PROCEDURE stock_of (IN wanted VARCHAR(12)) SELECT stock FROM product WHERE sku = wanted",
        ] {
            manager.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for statement in ["DROP PROCEDURE stock_of", "DROP TRIGGER product_stock", "DROP TABLE stock_log"] {
            manager.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Columns {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let customer = Table::alter()
            .table(name("customer"))
            .add_column(ColumnDef::new(name("phone")).string_len(30).null())
            .add_column(ColumnDef::new(name("score")).small_integer().not_null().default(3))
            .modify_column(string_len(name("name"), 200))
            .to_owned();
        manager.alter_table(customer).await?;
        manager.create_index(Index::create().name("by_phone").table(name("customer")).col(name("phone")).unique().to_owned()).await?;
        manager.rename_table(Table::rename().table(name("stock_log"), name("log_of_stock")).to_owned()).await?;
        manager.alter_table(Table::alter().table(name("order")).add_column(ColumnDef::new(name("seller_id")).big_integer().null()).to_owned()).await?;
        let seller = ForeignKey::create().name("seller_of").from(name("order"), name("seller_id")).to(name("customer"), name("id")).on_delete(ForeignKeyAction::SetNull).to_owned();
        manager.create_foreign_key(seller).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_foreign_key(ForeignKey::drop().name("seller_of").table(name("order")).to_owned()).await?;
        manager.alter_table(Table::alter().table(name("order")).drop_column(name("seller_id")).to_owned()).await?;
        manager.rename_table(Table::rename().table(name("log_of_stock"), name("stock_log")).to_owned()).await?;
        manager.drop_index(Index::drop().name("by_phone").table(name("customer")).to_owned()).await?;
        let customer = Table::alter()
            .table(name("customer"))
            .drop_column(name("phone"))
            .drop_column(name("score"))
            .modify_column(string_len(name("name"), 100))
            .to_owned();
        manager.alter_table(customer).await
    }
}
