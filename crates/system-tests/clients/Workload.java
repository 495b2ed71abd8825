// The workload of `clients_real.rs`, with Connector/J. Arguments: port, user, password, database, properties of the URL.

import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Objects;

public class Workload {
    static final int ROWS = 300;
    static final String INSERT =
        "INSERT INTO goods (name, price, made, seen, facts, picture, ratio, serial, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

    static Object[] row(int number) {
        byte[] picture = new byte[512];
        for (int offset = 0; offset < picture.length; offset++) picture[offset] = (byte) (number + offset);
        return new Object[] {
            "Größe 鯉 🐟 " + number,
            new BigDecimal(String.format("%d.%06d", number, number)),
            number % 2 == 0 ? LocalDate.of(2024, 2, 29) : LocalDate.of(1999, 12, 31),
            LocalDateTime.of(2024, 2, 29, 23, 59, 58, number * 1000),
            "{\"n\": " + number + ", \"deep\": {\"x\": null}, \"tags\": [\"a\", \"ü\"]}",
            picture,
            number / 3.0,
            new BigInteger("18446744073709551615").subtract(BigInteger.valueOf(number)),
            number % 3 == 0 ? null : "note " + number,
        };
    }

    static void check(String what, Object found, Object expected) {
        if (!Objects.deepEquals(found, expected)) {
            throw new AssertionError(what + ": " + found + " instead of " + expected);
        }
    }

    static void fill(PreparedStatement statement, Object[] values) throws SQLException {
        for (int column = 0; column < values.length; column++) {
            // To statements that the server prepares, Connector/J sends a BigInteger as a signed number of 64 bits.
            Object value = values[column] instanceof BigInteger ? values[column].toString() : values[column];
            statement.setObject(column + 1, value);
        }
    }

    static long count(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM goods WHERE price >= 1000")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    static String md5(byte[] bytes) throws Exception {
        return new BigInteger(1, MessageDigest.getInstance("MD5").digest(bytes)).toString(16);
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:mysql://127.0.0.1:" + arguments[0] + "/" + arguments[3] + arguments[4];
        try (Connection connection = DriverManager.getConnection(url, arguments[1], arguments[2])) {
            insertAndRead(connection);
            transactions(connection);
            bigValue(connection);
            // The account is in the server's cache by now.
            try (Connection again = DriverManager.getConnection(url, arguments[1], arguments[2]);
                    ResultSet rows = again.createStatement().executeQuery("SELECT CURRENT_USER()")) {
                rows.next();
                check("the account", rows.getString(1).split("@")[0], arguments[1]);
            }
            try (ResultSet rows = connection.createStatement()
                    .executeQuery("SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression_algorithm')")) {
                while (rows.next()) System.out.println(rows.getString(1) + "=" + rows.getString(2));
            }
        }
    }

    static void insertAndRead(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                "CREATE TABLE goods (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, "
                + "price DECIMAL(20,6) NOT NULL, made DATE, seen DATETIME(6), facts JSON, picture LONGBLOB, ratio DOUBLE, "
                + "serial BIGINT UNSIGNED UNIQUE, note VARCHAR(20))");
        }
        connection.setAutoCommit(false);
        try (PreparedStatement insert = connection.prepareStatement(INSERT, Statement.RETURN_GENERATED_KEYS)) {
            for (int number = 0; number < ROWS; number++) {
                fill(insert, row(number));
                insert.addBatch();
                if (number % 50 == 49) insert.executeBatch();
            }
            check("a key was generated", insert.getGeneratedKeys().next(), true);
        }
        connection.commit();
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT name, price, made, seen, facts, picture, ratio, serial, note FROM goods WHERE id > ? ORDER BY id")) {
            select.setInt(1, 0);
            ResultSet rows = select.executeQuery();
            for (int number = 0; number < ROWS; number++) {
                check("row " + number + " is there", rows.next(), true);
                Object[] expected = row(number);
                Object[] found = {
                    rows.getString(1), rows.getBigDecimal(2), rows.getObject(3, LocalDate.class),
                    rows.getObject(4, LocalDateTime.class), rows.getString(5), rows.getBytes(6), rows.getDouble(7),
                    rows.getObject(8), rows.getString(9),
                };
                for (int column = 0; column < found.length; column++) {
                    check("row " + number + ", column " + (column + 1), found[column], expected[column]);
                }
            }
            check("no more rows", rows.next(), false);
        }
    }

    static void transactions(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            check("updated", statement.executeUpdate("UPDATE goods SET price = price + 1000"), ROWS);
            check("within the transaction", count(connection), (long) ROWS);
            connection.rollback();
            check("after rollback", count(connection), 0L);
            try (PreparedStatement update = connection.prepareStatement("UPDATE goods SET price = price + ? WHERE id = ?")) {
                update.setBigDecimal(1, new BigDecimal("0.5"));
                update.setInt(2, 1);
                update.executeUpdate();
            }
            Savepoint here = connection.setSavepoint("here");
            statement.executeUpdate("DELETE FROM goods");
            connection.rollback(here);
            connection.commit();
        }
        try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
            fill(insert, row(7));
            insert.executeUpdate();
            throw new AssertionError("a duplicate key was taken");
        } catch (SQLIntegrityConstraintViolationException error) {
            check("the duplicate", error.getErrorCode(), 1062);
        }
        connection.rollback();
    }

    static void bigValue(Connection connection) throws Exception {
        byte[] big = new byte[17 << 20];
        for (int offset = 0; offset < big.length; offset++) big[offset] = (byte) offset;
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO goods (name, price, picture) VALUES ('big', 1, ?)")) {
            insert.setBytes(1, big);
            insert.executeUpdate();
        }
        connection.commit();
        try (ResultSet rows = connection.createStatement().executeQuery("SELECT picture FROM goods WHERE name = 'big'")) {
            rows.next();
            check("the big value", md5(rows.getBytes(1)), md5(big));
        }
    }
}
