//! The shop's tables as SeaORM sees them.

pub mod customer {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "customer")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(unique)]
        pub email: String,
        pub name: String,
        pub joined: Date,
        pub profile: Option<Json>,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(has_many = "super::order::Entity")]
        Order,
    }

    impl Related<super::order::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Order.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod product {
    use sea_orm::entity::prelude::*;

    #[derive(Copy, Clone, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
    #[sea_orm(rs_type = "String", db_type = "Enum", enum_name = "kind")]
    pub enum Kind {
        #[sea_orm(string_value = "cheap")]
        Cheap,
        #[sea_orm(string_value = "dear")]
        Dear,
    }

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "product")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub sku: String,
        #[sea_orm(column_type = "Decimal(Some((12, 4)))")]
        pub price: Decimal,
        pub stock: i32,
        pub kind: Kind,
        pub picture: Option<Vec<u8>>,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(has_many = "super::order_line::Entity")]
        OrderLine,
    }

    impl Related<super::order::Entity> for Entity {
        fn to() -> RelationDef {
            super::order_line::Relation::Order.def()
        }

        fn via() -> Option<RelationDef> {
            Some(super::order_line::Relation::Product.def().rev())
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod order {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "order")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: Uuid,
        pub customer_id: i64,
        pub placed: DateTime,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(belongs_to = "super::customer::Entity", from = "Column::CustomerId", to = "super::customer::Column::Id")]
        Customer,
        #[sea_orm(has_many = "super::order_line::Entity")]
        OrderLine,
    }

    impl Related<super::customer::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Customer.def()
        }
    }

    impl Related<super::product::Entity> for Entity {
        fn to() -> RelationDef {
            super::order_line::Relation::Product.def()
        }

        fn via() -> Option<RelationDef> {
            Some(super::order_line::Relation::Order.def().rev())
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod order_line {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_line")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub order_id: Uuid,
        #[sea_orm(primary_key, auto_increment = false)]
        pub sku: String,
        pub quantity: i16,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(belongs_to = "super::order::Entity", from = "Column::OrderId", to = "super::order::Column::Id")]
        Order,
        #[sea_orm(belongs_to = "super::product::Entity", from = "Column::Sku", to = "super::product::Column::Sku")]
        Product,
    }

    impl Related<super::order::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Order.def()
        }
    }

    impl Related<super::product::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Product.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}
