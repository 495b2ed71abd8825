//! The shop's tables as diesel sees them after the second migration.

diesel::table! {
    customers (id) {
        id -> Bigint,
        email -> Varchar,
        name -> Varchar,
        joined -> Date,
        profile -> Nullable<Json>,
        referrer -> Nullable<Bigint>,
    }
}

diesel::table! {
    products (sku) {
        sku -> Varchar,
        price -> Decimal,
        stock -> Unsigned<Integer>,
        weight -> Nullable<Double>,
        picture -> Nullable<Blob>,
        is_sold -> Bool,
    }
}

diesel::table! {
    orders (id) {
        id -> Unsigned<Bigint>,
        customer_id -> Bigint,
        placed -> Datetime,
        arrives -> Nullable<Time>,
        seen -> Nullable<Timestamp>,
    }
}

diesel::table! {
    order_lines (order_id, sku) {
        order_id -> Unsigned<Bigint>,
        sku -> Varchar,
        quantity -> Smallint,
    }
}

diesel::table! {
    stock_logs (id) {
        id -> Integer,
        sku -> Varchar,
        difference -> Bigint,
    }
}

diesel::table! {
    dear_products (sku) {
        sku -> Varchar,
        price -> Decimal,
    }
}

diesel::joinable!(orders -> customers (customer_id));
diesel::joinable!(order_lines -> orders (order_id));
diesel::joinable!(order_lines -> products (sku));
diesel::allow_tables_to_appear_in_same_query!(customers, orders, order_lines, products);
