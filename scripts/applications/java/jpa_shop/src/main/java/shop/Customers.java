package shop;

import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;

import org.springframework.data.jpa.repository.EntityGraph;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;

public interface Customers extends JpaRepository<Customer, Long> {
    /** What a customer has paid, as a query gives it. */
    interface Turnover {
        String getName();

        BigDecimal getPaid();

        long getLines();
    }

    @EntityGraph(attributePaths = {"orders", "orders.customer"})
    Optional<Customer> findByEmail(String email);

    @Query(
            "SELECT c.name AS name, SUM(l.quantity * p.price) AS paid, COUNT(l) AS lines "
                    + "FROM Customer c LEFT JOIN c.orders o LEFT JOIN o.lines l LEFT JOIN l.product p GROUP BY c.id, c.name HAVING COUNT(l) >= :least ORDER BY c.id")
    List<Turnover> turnover(long least);

    @Query(value = "SELECT email FROM customer WHERE JSON_CONTAINS(profile, JSON_QUOTE(:tag), '$.tags')", nativeQuery = true)
    List<String> withTag(String tag);

    List<Customer> findByAddressCityOrderByNameDesc(String city);
}
