package shop;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

import jakarta.persistence.EntityManager;
import jakarta.persistence.ParameterMode;
import jakarta.persistence.PersistenceContext;

import org.flywaydb.core.Flyway;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.flyway.FlywayMigrationStrategy;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.NestedRuntimeException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A shop with Spring Data JPA on Hibernate: tables by Flyway and by Hibernate, compared with the entities, repositories, transactions. Arguments: port, database.
 */
@SpringBootApplication
@EnableJpaRepositories(considerNestedRepositories = true)
public class Main {
    private static final LocalDateTime MOMENT = LocalDateTime.of(2024, 2, 29, 23, 59, 58, 123_456_000);

    @PersistenceContext private EntityManager entities;
    private final Products products;
    private final Customers customers;
    private final TransactionTemplate transaction;
    private UUID order;

    Main(Products products, Customers customers, PlatformTransactionManager transactions) {
        this.products = products;
        this.customers = customers;
        this.transaction = new TransactionTemplate(transactions);
    }

    /** Flyway makes everything, drops it, and makes it again. */
    @Bean
    static FlywayMigrationStrategy thereAndBack() {
        return flyway -> {
            if (flyway.info().applied().length > 0) {
                flyway.validate();
                return;
            }
            flyway.migrate();
            Flyway.configure().configuration(flyway.getConfiguration()).cleanDisabled(false).load().clean();
            flyway.migrate();
        };
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
        } catch (NestedRuntimeException error) {
            equal(((SQLException) error.getMostSpecificCause()).getErrorCode(), number);
            return;
        }
        throw new AssertionError(number + " was expected");
    }

    private static BigDecimal eighths(int number) {
        return new BigDecimal(number).divide(new BigDecimal(8)).setScale(4);
    }

    private void insert() {
        step("entities with what belongs to them, in batches");
        byte[] picture = new byte[70_000];
        picture[69_999] = 1;
        transaction.executeWithoutResult(status -> {
            List<Product> all = new ArrayList<>();
            for (int number = 0; number < 200; number++) {
                Product product = new Product(String.format("P%05d", number), eighths(number), number);
                product.weight = number / 3.0;
                product.picture = number == 3 ? picture : null;
                all.add(product);
            }
            all.get(8).tags.addAll(List.of("rot", "blau 🐟"));
            products.saveAll(all);
            Customer ada = new Customer("ada@example.org", "Ada Größe 鯉 🐟", MOMENT.toLocalDate());
            ada.profile = Map.of("n", 1.5, "tags", List.of("a", "b"));
            ada.address = new Customer.Address("Am Teich 1", "Ulm");
            Order bought = new Order(ada, MOMENT);
            for (int number : new int[] {8, 16, 24}) {
                bought.lines.add(new Line(bought, all.get(number), number / 8));
            }
            ada.orders.add(bought);
            customers.save(ada);
            customers.save(new Customer("bob@example.org", "Bob", LocalDate.of(1999, 12, 31)));
            order = bought.id;
        });
        transaction.executeWithoutResult(status -> {
            Customer ada = customers.findByEmail("ada@example.org").orElseThrow();
            equal(ada.profile, Map.of("n", 1.5, "tags", List.of("a", "b")));
            equal(ada.address, new Customer.Address("Am Teich 1", "Ulm"));
            equal(ada.orders.get(0).placed, MOMENT);
            equal(ada.orders.get(0).status, Order.Status.PLACED);
            equal(ada.orders.get(0).lines.stream().map(line -> line.product.sku).toList(), List.of("P00024", "P00016", "P00008"));
            equal(products.findBySku("P00003").orElseThrow().picture.length, 70_000);
            equal(products.findByTagsContains("blau 🐟").get(0).price, eighths(8));
        });
    }

    private void kinds() {
        step("kinds of entities in tables of their own, keys of a generator");
        transaction.executeWithoutResult(status -> {
            for (int number = 0; number < 60; number++) {
                Delivery.Parcel parcel = new Delivery.Parcel();
                parcel.grams = number;
                parcel.sent = Instant.ofEpochSecond(1_700_000_000 + number, 123_456_000);
                parcel.about = LocalTime.of(12, 30);
                parcel.waits = Duration.ofMinutes(number);
                parcel.note = "Grüße ".repeat(number);
                entities.persist(parcel);
            }
            Delivery.Letter letter = new Delivery.Letter();
            letter.size = 'ß';
            letter.isFragile = true;
            entities.persist(letter);
        });
        transaction.executeWithoutResult(status -> {
            var all = entities.createQuery("SELECT d FROM Delivery d ORDER BY d.id", Delivery.class).getResultList();
            equal(all.size(), 61);
            equal(all.get(7).sent, Instant.ofEpochSecond(1_700_000_007, 123_456_000));
            equal(all.get(7).about, LocalTime.of(12, 30));
            equal(all.get(7).waits, Duration.ofMinutes(7));
            equal(((Delivery.Letter) all.get(60)).size, 'ß');
        });
    }

    private void transactions() throws Exception {
        step("transactions: rolled back, versions, locks of many at once");
        refused(1062, () -> transaction.execute(status -> {
            products.deliver(1000, BigDecimal.ZERO);
            return customers.saveAndFlush(new Customer("ada@example.org", "Ada again", LocalDate.now()));
        }));
        Product stale = products.findBySku("P00001").orElseThrow();
        Product fresh = products.findBySku("P00001").orElseThrow();
        fresh.stock += 10;
        products.save(fresh);
        try {
            stale.stock = 0;
            products.save(stale);
            throw new AssertionError("a stale row was saved");
        } catch (OptimisticLockingFailureException expected) {
            equal(products.findBySku("P00001").orElseThrow().stock, 11);
        }
        var threads = Executors.newFixedThreadPool(5);
        List<Callable<Integer>> takers = new ArrayList<>();
        for (int number = 0; number < 20; number++) {
            takers.add(() -> transaction.execute(status -> products.lock("P00100").stock -= 2));
        }
        for (var taken : threads.invokeAll(takers)) {
            taken.get();
        }
        threads.shutdown();
        equal(products.findBySku("P00100").orElseThrow().stock, 60);
        equal(products.log("P00100").size(), 20);
        equal(products.log("P00001"), List.of(10));
        TransactionTemplate serializable = new TransactionTemplate(transaction.getTransactionManager());
        serializable.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
        equal(serializable.execute(status -> products.count()), 200L);
        TransactionTemplate readOnly = new TransactionTemplate(transaction.getTransactionManager());
        readOnly.setReadOnly(true);
        equal(readOnly.execute(status -> customers.count()), 2L);
    }

    private void queries() {
        step("derived queries, JPQL, pages, streams, native statements");
        var page = products.findByPriceGreaterThan(eighths(99), PageRequest.of(1, 30, Sort.by("price").descending().and(Sort.by("sku"))));
        equal(page.getTotalElements(), 100L);
        equal(page.getTotalPages(), 4);
        equal(page.getContent().get(0).sku, "P00169");
        equal(products.countBySkuStartingWithIgnoreCaseAndStockBetween("p0001", 10, 15), 6L);
        equal(products.unsold().size(), 197);
        equal(transaction.execute(status -> {
            try (var some = products.streamByStockLessThan(5)) {
                return some.mapToInt(product -> product.stock).sum();
            }
        }), 0 + 2 + 3 + 4);
        equal(transaction.execute(status -> products.deliver(1, eighths(189))), 10);
        equal(transaction.execute(status -> products.upsert("P00002", 20) * 10 + products.upsert("NEW", 5)), 21);
        equal(products.dear(), 0L);
        var turnover = customers.turnover(0);
        equal(turnover.size(), 2);
        equal(turnover.get(0).getPaid().compareTo(new BigDecimal(14)), 0);
        equal(turnover.get(1).getPaid(), null);
        equal(customers.turnover(3).get(0).getLines(), 3L);
        equal(customers.withTag("b"), List.of("ada@example.org"));
        equal(customers.findByAddressCityOrderByNameDesc("Ulm").size(), 1);
        transaction.executeWithoutResult(status -> {
            var place = entities.createQuery("SELECT YEAR(o.placed), MONTH(o.placed), o.status, COUNT(DISTINCT o.customer) FROM Order o GROUP BY 1, 2, 3", Object[].class);
            equal(List.of(place.getSingleResult()), List.of(2024, 2, Order.Status.PLACED, 1L));
            var call = entities.createStoredProcedureQuery("order_total");
            call.registerStoredProcedureParameter("wanted", byte[].class, ParameterMode.IN);
            call.registerStoredProcedureParameter("total", BigDecimal.class, ParameterMode.OUT);
            call.setParameter("wanted", ByteBuffer.allocate(16).putLong(order.getMostSignificantBits()).putLong(order.getLeastSignificantBits()).array());
            call.execute();
            equal(call.getOutputParameterValue("total"), new BigDecimal("14.00"));
        });
    }

    private void refusals() throws Exception {
        step("foreign keys and checks refuse, orphans go");
        Product sold = products.findBySku("P00008").orElseThrow();
        refused(1451, () -> transaction.execute(status -> {
            Product again = products.findById(sold.id).orElseThrow();
            products.delete(again);
            products.flush();
            return again;
        }));
        refused(3819, () -> {
            sold.price = BigDecimal.ONE.negate();
            return products.save(sold);
        });
        transaction.executeWithoutResult(status -> customers.findByEmail("ada@example.org").orElseThrow().orders.get(0).lines.remove(0));
        equal(transaction.execute(status -> entities.createQuery("SELECT COUNT(l) FROM Line l", Long.class).getSingleResult()), 2L);
        transaction.executeWithoutResult(status -> customers.delete(customers.findByEmail("ada@example.org").orElseThrow()));
        equal(transaction.execute(status -> entities.createQuery("SELECT COUNT(o) FROM Order o", Long.class).getSingleResult()), 0L);
    }

    private static ConfigurableApplicationContext start(String[] arguments, String tables) {
        SpringApplication application = new SpringApplication(Main.class);
        application.setDefaultProperties(Map.of(
                "spring.datasource.url", "jdbc:mysql://127.0.0.1:" + arguments[0] + "/" + arguments[1],
                "spring.datasource.username", "root",
                "spring.datasource.hikari.maximum-pool-size", "6",
                "spring.jpa.hibernate.ddl-auto", tables,
                "spring.jpa.properties.hibernate.jdbc.batch_size", "50",
                "spring.jpa.properties.hibernate.jdbc.time_zone", "UTC",
                "spring.jpa.properties.hibernate.preferred_uuid_jdbc_type", "BINARY",
                "spring.main.banner-mode", "off",
                "logging.level.root", "off"));
        return application.run();
    }

    public static void main(String[] arguments) throws Exception {
        step("tables: Flyway's, there, back and there again, and those that Hibernate adds");
        start(arguments, "update").close();
        step("the tables are those of the entities");
        try (var context = start(arguments, "validate")) {
            Main shop = context.getBean(Main.class);
            shop.insert();
            shop.kinds();
            shop.transactions();
            shop.queries();
            shop.refusals();
        }
    }
}
