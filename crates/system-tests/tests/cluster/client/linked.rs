//! Linked operations find what SQL's joins find.

use shoal_client::{Key, Linked, Tuple};

use super::*;

const TABLES: [&str; 4] = [
    "CREATE TABLE orders (id INT NOT NULL PRIMARY KEY, customer BIGINT, sku VARCHAR(40), day INT NOT NULL, KEY day (day))",
    "CREATE TABLE customers (id SMALLINT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, region INT NOT NULL)",
    "CREATE TABLE parts (parent INT NOT NULL, number INT NOT NULL, note VARCHAR(10), PRIMARY KEY (parent, number), \
     KEY note (note))",
    "CREATE TABLE products (id INT NOT NULL PRIMARY KEY, sku VARCHAR(10) NOT NULL, price DECIMAL(8,2) NOT NULL, \
     UNIQUE KEY sku (sku))",
];

/// Linked operations, what is shown of them, and the statement that finds the same.
type Case = (Linked, Vec<(usize, &'static str)>, &'static str);

/// As `CONCAT_WS(',', ...)` would show the columns, NULL as `-`.
fn shown(tuples: &[Tuple], columns: &[(usize, &str)]) -> Vec<String> {
    let cell = |tuple: &Tuple, (operation, name): (usize, &str)| {
        let value = tuple[operation].as_ref().map(|row| row.get(name).unwrap()).unwrap_or_default();
        match value.is_null() {
            true => "-".to_owned(),
            false => String::from_utf8(value.to_text().to_vec()).unwrap(),
        }
    };
    let line = |tuple: &Tuple| columns.iter().map(|&column| cell(tuple, column)).collect::<Vec<_>>().join(",");
    let mut lines: Vec<String> = tuples.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn linked_operations_find_what_joins_find() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    for statement in TABLES {
        sql.execute(statement).unwrap();
    }
    let mut fill = |table: &str, rows: Vec<String>| {
        rows.chunks(500).for_each(|rows| {
            sql.execute(&format!("INSERT INTO {table} VALUES {}", rows.join(","))).unwrap();
        });
    };
    // Customers that are not there, that are NULL, and that no customer's number can be; names in another case.
    let customer = |id: i64| match id % 7 {
        0 => "NULL".to_owned(),
        1 => "1000000".to_owned(),
        _ => (id % 60).to_string(),
    };
    let order = |id: i64| format!("({id}, {}, 'SKU-{}', {})", customer(id), id % 50, id % 10);
    fill(
        "orders",
        (0..1200).map(order).chain([String::from("(5000, 3, 'one that is far too long', 1)")]).collect(),
    );
    fill("customers", (0..50).map(|id| format!("({id}, 'name {}', {})", id % 5, id % 3)).collect());
    let parts = (0..900).flat_map(|parent| (0..parent % 4).map(move |number| (parent, number)));
    fill("parts", parts.map(|(parent, number)| format!("({parent}, {number}, 'n{}')", parent % 20)).collect());
    fill("products", (0..40).map(|id| format!("({id}, 'sku-{id}', {id}.50)")).collect());

    let client = connect(&address);
    let [orders, customers, parts, products] =
        ["orders", "customers", "parts", "products"].map(|name| table(&client, name));
    let cases: Vec<Case> = vec![
        (
            Linked::scan(&orders, Scan::new()).then_get(&customers, [Key::column(0, "customer")]),
            vec![(0, "id"), (1, "name")],
            "SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer",
        ),
        (
            Linked::scan(&orders, Scan::new()).then_get(&customers, [Key::column(0, "customer")]).left(),
            vec![(0, "id"), (1, "id"), (1, "region")],
            "SELECT o.id, IFNULL(c.id, '-'), IFNULL(c.region, '-') FROM orders o \
             LEFT JOIN customers c ON c.id = o.customer",
        ),
        (
            Linked::scan(&orders, Scan::new().index("day").equal(int(3)).columns(&["id", "sku"]))
                .then_scan(&parts, "PRIMARY", [Key::column(0, "id")])
                .columns(&["number"])
                .then_get_unique(&products, "sku", [Key::column(0, "sku")])
                .columns(&["price"]),
            vec![(0, "id"), (1, "number"), (2, "price")],
            "SELECT o.id, p.number, r.price FROM orders o JOIN parts p ON p.parent = o.id \
             JOIN products r ON r.sku = o.sku WHERE o.day = 3",
        ),
        (
            Linked::scan(&orders, Scan::new().filter(Filter::less("id", 300)))
                .then_scan(&parts, "PRIMARY", [Key::column(0, "id")])
                .left()
                .filter(Filter::less("number", 2))
                .then_get_unique(&products, "sku", [Key::column(0, "sku")])
                .left()
                .filter(Filter::less("price", 20)),
            vec![(0, "id"), (1, "number"), (2, "price")],
            "SELECT o.id, IFNULL(p.number, '-'), IFNULL(r.price, '-') FROM orders o \
             LEFT JOIN parts p ON p.parent = o.id AND p.number < 2 \
             LEFT JOIN products r ON r.sku = o.sku AND r.price < 20 WHERE o.id < 300",
        ),
        (
            // A tree with a second key column, a constant, and an index with many rows for each key.
            Linked::scan(&customers, Scan::new().filter(Filter::equal("region", 1)))
                .then_scan(&orders, "day", [Key::column(0, "region")])
                .filter(Filter::less("id", 40))
                .then_get(&parts, [Key::column(1, "id"), Key::value(1)])
                .then_scan(&parts, "note", [Key::column(2, "note")]),
            vec![(0, "id"), (1, "id"), (2, "number"), (3, "parent"), (3, "number")],
            "SELECT c.id, o.id, p.number, q.parent, q.number FROM customers c JOIN orders o ON o.day = c.region \
             JOIN parts p ON p.parent = o.id AND p.number = 1 JOIN parts q ON q.note = p.note \
             WHERE c.region = 1 AND o.id < 40",
        ),
        (
            Linked::get_unique(&products, "sku", vec![Value::str("SKU-7")])
                .filter(Filter::less("id", 100))
                .then_get(&orders, [Key::column(0, "id")])
                .then_get(&customers, [Key::column(1, "customer")])
                .left(),
            vec![(0, "sku"), (1, "id"), (2, "id")],
            "SELECT r.sku, o.id, IFNULL(c.id, '-') FROM products r JOIN orders o ON o.id = r.id \
             LEFT JOIN customers c ON c.id = o.customer WHERE r.sku = 'sku-7'",
        ),
    ];
    for (linked, columns, query) in &cases {
        let mut expected = sql.text(query).unwrap();
        expected.sort();
        assert!(!expected.is_empty(), "{query}");
        client.block_on(async {
            assert_eq!(shown(&client.linked(linked).await.unwrap(), columns), expected, "{query}");
            for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
                let mut transaction = client.begin(isolation);
                let found = transaction.linked_all(linked).await.unwrap();
                assert_eq!(shown(&found, columns), expected, "{isolation:?}: {query}");
                transaction.commit().await.unwrap();
            }
            let mut locking = client.begin(Isolation::ReadCommitted);
            let found = locking.linked_all(&linked.clone().mode(LOCKED)).await.unwrap();
            assert_eq!(shown(&found, columns), expected, "locking: {query}");
        });
    }
    client.block_on(async {
        // A snapshot of everything, and a transaction's own rows.
        let (linked, columns, query) = &cases[0];
        let mut expected = sql.text(query).unwrap();
        let mut snapshot = client.begin(Isolation::RepeatableRead);
        snapshot.get(&orders, &int(1), ReadMode::default()).await.unwrap();
        let mut own = client.begin(Isolation::ReadCommitted);
        own.insert(&customers, &[], vec![Value::Int(55), Value::str("own"), Value::Int(9)]).await.unwrap();
        sql.execute("DELETE FROM customers WHERE id = 2").unwrap();
        expected.sort();
        assert_eq!(shown(&snapshot.linked_all(linked).await.unwrap(), columns), expected);
        let found = shown(&own.linked_all(linked).await.unwrap(), columns);
        assert!(
            found.iter().any(|line| line.ends_with(",own")) && !expected.iter().any(|line| line.ends_with(",own"))
        );
        // What cannot be linked is refused before anything is read.
        let first = || Linked::scan(&orders, Scan::new());
        let wrong = [
            (first().then_get(&customers, [Key::column(1, "id")]), 1210),
            (first().then_get(&customers, [Key::column(0, "nothing")]), 1054),
            (first().then_get(&customers, [Key::column(0, "sku")]), 1210),
            (first().then_get(&parts, [Key::column(0, "id")]), 1058),
            (first().then_get_unique(&orders, "day", [Key::column(0, "id")]), 1210),
            (first().then_scan(&orders, "none", [Key::column(0, "id")]), 1176),
            (first().then_get(&customers, [Key::value(1_000_000)]), 1264),
        ];
        for (linked, number) in wrong {
            assert_eq!(client.linked(&linked).await.unwrap_err().errno(), number);
        }
    });
}
