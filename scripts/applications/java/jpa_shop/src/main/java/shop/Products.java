package shop;

import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import jakarta.persistence.LockModeType;

import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Lock;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;

public interface Products extends JpaRepository<Product, Long> {
    Optional<Product> findBySku(String sku);

    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @Query("SELECT p FROM Product p WHERE p.sku = :sku")
    Product lock(String sku);

    Page<Product> findByPriceGreaterThan(BigDecimal price, Pageable page);

    List<Product> findByTagsContains(String word);

    long countBySkuStartingWithIgnoreCaseAndStockBetween(String start, int low, int high);

    @Query("SELECT p FROM Product p WHERE NOT EXISTS (SELECT l FROM Line l WHERE l.product = p)")
    List<Product> unsold();

    Stream<Product> streamByStockLessThan(int stock);

    @Modifying(clearAutomatically = true)
    @Query("UPDATE Product p SET p.stock = p.stock + :number WHERE p.price > :price")
    int deliver(int number, BigDecimal price);

    @Modifying
    @Query(
            value = "INSERT INTO product (sku, price, stock, version) VALUES (:sku, 1, :stock, 0) AS fresh ON DUPLICATE KEY UPDATE stock = product.stock + fresh.stock",
            nativeQuery = true)
    int upsert(String sku, int stock);

    @Query(value = "SELECT difference FROM stock_log WHERE sku = :sku ORDER BY id", nativeQuery = true)
    List<Integer> log(String sku);

    @Query(value = "SELECT COUNT(*) FROM dear_product", nativeQuery = true)
    long dear();
}
