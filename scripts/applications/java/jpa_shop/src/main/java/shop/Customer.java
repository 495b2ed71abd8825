package shop;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.OneToMany;

import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;

@Entity
public class Customer {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    @Column(length = 190, nullable = false, unique = true)
    String email;

    @Column(length = 100, nullable = false)
    String name;

    @Column(nullable = false)
    LocalDate joined;

    @JdbcTypeCode(SqlTypes.JSON)
    Map<String, Object> profile;

    @Embedded
    Address address;

    @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL, orphanRemoval = true)
    List<Order> orders = new ArrayList<>();

    @Embeddable
    record Address(@Column(length = 100) String street, @Column(length = 100) String city) {}

    protected Customer() {}

    Customer(String email, String name, LocalDate joined) {
        this.email = email;
        this.name = name;
        this.joined = joined;
    }
}
