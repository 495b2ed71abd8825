package shop;

import java.io.PrintStream;
import java.math.BigDecimal;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

import org.apache.ibatis.cursor.Cursor;
import org.apache.ibatis.datasource.pooled.PooledDataSource;
import org.apache.ibatis.exceptions.PersistenceException;
import org.apache.ibatis.mapping.Environment;
import org.apache.ibatis.migration.DataSourceConnectionProvider;
import org.apache.ibatis.migration.MigrationLoader;
import org.apache.ibatis.migration.operations.DownOperation;
import org.apache.ibatis.migration.operations.StatusOperation;
import org.apache.ibatis.migration.operations.UpOperation;
import org.apache.ibatis.migration.options.DatabaseOperationOption;
import org.apache.ibatis.session.Configuration;
import org.apache.ibatis.session.ExecutorType;
import org.apache.ibatis.session.RowBounds;
import org.apache.ibatis.session.SqlSession;
import org.apache.ibatis.session.SqlSessionFactory;
import org.apache.ibatis.session.SqlSessionFactoryBuilder;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;

/** A shop with MyBatis: its migrations up and down, mappers of annotations and XML, transactions. Arguments: port, database. */
public class Main {
    private static final LocalDateTime MOMENT = LocalDateTime.of(2024, 2, 29, 23, 59, 58, 123_456_000);

    private final PooledDataSource source;
    private final SqlSessionFactory sessions;

    private Main(String port, String database) {
        // As most programs have it: texts are sent as they are, and batches as one statement.
        String url = "jdbc:mysql://127.0.0.1:" + port + "/" + database + "?rewriteBatchedStatements=true&connectionTimeZone=UTC";
        source = new PooledDataSource("com.mysql.cj.jdbc.Driver", url, "root", "");
        Configuration configuration = new Configuration(new Environment("shop", new JdbcTransactionFactory(), source));
        configuration.setMapUnderscoreToCamelCase(true);
        // The mapper's XML is found beside it.
        configuration.addMapper(Shop.class);
        sessions = new SqlSessionFactoryBuilder().build(configuration);
    }

    private static void step(String what) {
        System.out.println(what);
    }

    private static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }

    private static void refused(int number, Callable<?> work) throws Exception {
        try {
            work.call();
        } catch (PersistenceException error) {
            equal(((SQLException) error.getCause()).getErrorCode(), number);
            return;
        }
        throw new AssertionError(number + " was expected");
    }

    private void migrate() throws Exception {
        step("migrations: up, all the way down, up again, but for the last");
        DataSourceConnectionProvider connections = new DataSourceConnectionProvider(source);
        MigrationLoader loader = new ResourceLoader("001_shop", "002_stored_programs", "003_columns");
        DatabaseOperationOption options = new DatabaseOperationOption();
        options.setStopOnError(true);
        PrintStream nowhere = new PrintStream(PrintStream.nullOutputStream());
        new UpOperation().operate(connections, loader, options, nowhere);
        new DownOperation(3).operate(connections, loader, options, nowhere);
        new UpOperation(2).operate(connections, loader, options, nowhere);
        StatusOperation status = new StatusOperation().operate(connections, loader, options, nowhere);
        equal(status.getAppliedCount(), 2);
        equal(status.getPendingCount(), 1);
    }

    private void insert() throws Exception {
        step("rows: one with its key, many in a statement, many in a batch");
        List<Product> products = new ArrayList<>();
        byte[] picture = new byte[256];
        for (int number = 0; number < 256; number++) {
            picture[number] = (byte) number;
        }
        for (int number = 0; number < 500; number++) {
            BigDecimal price = BigDecimal.valueOf(number).divide(BigDecimal.valueOf(8));
            products.add(new Product(String.format("P%05d", number), price, number, picture, number < 240 ? "new,cheap" : ""));
        }
        try (SqlSession session = sessions.openSession()) {
            Shop shop = session.getMapper(Shop.class);
            equal(shop.insertProducts(products), 500);
            Customer ada = new Customer("ada@example.org", "Ada Größe 鯉 🐟", MOMENT.toLocalDate(), "{\"n\": 1.5, \"tags\": [\"a\", \"b\"]}");
            shop.insertCustomer(ada);
            shop.insertCustomer(new Customer("bob@example.org", "Bob", LocalDate.of(1999, 12, 31), null));
            Order order = new Order();
            order.customer = ada;
            order.placed = MOMENT;
            shop.insertOrder(order);
            equal(ada.id, 1);
            equal(order.id, 1L);
            session.commit();
        }
        try (SqlSession session = sessions.openSession(ExecutorType.BATCH)) {
            for (int number : new int[] {8, 16, 24}) {
                session.getMapper(Shop.class).insertLine(1, String.format("P%05d", number), number / 8);
            }
            session.commit();
        }
        try (SqlSession session = sessions.openSession()) {
            Customer ada = session.getMapper(Shop.class).customer("ada@example.org");
            equal(ada.name, "Ada Größe 鯉 🐟");
            equal(ada.joined, MOMENT.toLocalDate());
            Product product = session.getMapper(Shop.class).lock("P00003");
            equal(product.price, new BigDecimal("0.3750"));
            equal(Arrays.equals(product.picture, picture), true);
            equal(product.flags, "new,cheap");
        }
    }

    private void transactions() throws Exception {
        step("transactions: rolled back, and many at once");
        try (SqlSession session = sessions.openSession()) {
            Shop shop = session.getMapper(Shop.class);
            equal(shop.change("P00001", null, 11), 1);
            refused(1062, () -> shop.insertCustomer(new Customer("ada@example.org", "Ada again", MOMENT.toLocalDate(), null)));
            session.rollback();
            equal(shop.lock("P00001").stock, 1);
        }
        var threads = Executors.newFixedThreadPool(5);
        List<Callable<Integer>> takers = new ArrayList<>();
        for (int number = 0; number < 20; number++) {
            takers.add(() -> {
                try (SqlSession session = sessions.openSession()) {
                    Shop shop = session.getMapper(Shop.class);
                    int changed = shop.change("P00100", null, shop.lock("P00100").stock - 2);
                    session.commit();
                    return changed;
                }
            });
        }
        for (var taken : threads.invokeAll(takers)) {
            equal(taken.get(), 1);
        }
        threads.shutdown();
        try (SqlSession session = sessions.openSession()) {
            equal(session.getMapper(Shop.class).lock("P00100").stock, 60);
            equal(session.getMapper(Shop.class).count("stock_log"), 20L);
        }
    }

    private void queries() throws Exception {
        step("joins into objects, conditions, pages, a stream, upserts, JSON");
        try (SqlSession session = sessions.openSession(true)) {
            Shop shop = session.getMapper(Shop.class);
            Order order = shop.orders("ada@example.org", null).get(0);
            equal(order.lines.size(), 3);
            equal(order.customer.name, "Ada Größe 鯉 🐟");
            equal(order.placed, MOMENT);
            equal(shop.orders(null, List.of("P00008", "P00016", "P00009")).get(0).lines.size(), 2);
            equal(shop.dearest(new RowBounds(100, 50)).get(0).sku, "P00399");
            long seen = 0;
            try (Cursor<Product> all = shop.all()) {
                for (Product product : all) {
                    seen += product.stock;
                }
            }
            equal(seen, 124_750L - 40);
            equal(shop.upsert(new Product("P00002", BigDecimal.ONE, 20, null, null)), 2);
            equal(shop.upsert(new Product("NEW", BigDecimal.ONE, 20, null, null)), 1);
            equal(shop.lock("P00002").stock, 22);
            List<Map<String, Object>> kinds = shop.kinds();
            equal(kinds.get(0).get("number"), 261L);
            equal(kinds.get(1).get("mean"), new BigDecimal("14.93750000"));
            equal(shop.withTag("b"), List.of("ada@example.org"));

            step("CALL with OUT and INOUT");
            Map<String, Object> parameters = new HashMap<>(Map.of("order", 1L, "tax", new BigDecimal("0.19")));
            shop.total(parameters);
            equal(parameters.get("total"), new BigDecimal("14.00"));
            equal(parameters.get("tax"), new BigDecimal("2.66"));
        }
    }

    private void refusals() throws Exception {
        step("the last migration, with rows");
        MigrationLoader loader = new ResourceLoader("001_shop", "002_stored_programs", "003_columns");
        new UpOperation().operate(new DataSourceConnectionProvider(source), loader, new DatabaseOperationOption(), null);
        try (SqlSession session = sessions.openSession(true)) {
            Shop shop = session.getMapper(Shop.class);
            equal(shop.entitle(), 501);
            step("foreign keys and checks refuse, keys cascade");
            refused(1451, () -> shop.deleteProduct("P00008"));
            refused(1452, () -> shop.insertLine(1, "none", 1));
            refused(3819, () -> shop.change("P00008", BigDecimal.ONE.negate(), null));
            refused(1264, () -> shop.insertLine(1, "P00001", 40_000));
            equal(shop.deleteCustomer("ada@example.org"), 1);
            equal(shop.count("order_line"), 0L);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Main shop = new Main(arguments[0], arguments[1]);
        shop.migrate();
        shop.insert();
        shop.transactions();
        shop.queries();
        shop.refusals();
        shop.source.forceCloseAll();
    }
}
