package shop;

import java.math.BigDecimal;
import java.util.HashSet;
import java.util.Set;

import jakarta.persistence.CollectionTable;
import jakarta.persistence.Column;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.Lob;
import jakarta.persistence.Version;

@Entity
public class Product {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    @Column(length = 12, nullable = false, unique = true)
    String sku;

    @Column(precision = 12, scale = 4, nullable = false)
    BigDecimal price;

    int stock;
    Double weight;

    @Lob
    @Column(length = 1 << 24)
    byte[] picture;

    /** Hibernate refuses a change of a row that another transaction has changed meanwhile. */
    @Version
    long version;

    /** In a table that no migration makes, but Hibernate. */
    @ElementCollection
    @CollectionTable(name = "product_tag", joinColumns = @JoinColumn(name = "product_id"))
    @Column(name = "word", length = 30, nullable = false)
    Set<String> tags = new HashSet<>();

    protected Product() {}

    Product(String sku, BigDecimal price, int stock) {
        this.sku = sku;
        this.price = price;
        this.stock = stock;
    }
}
