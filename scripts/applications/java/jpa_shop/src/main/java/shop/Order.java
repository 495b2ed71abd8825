package shop;

import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;

@Entity
@Table(name = "orders")
public class Order {
    enum Status {
        PLACED,
        PAID
    }

    @Id
    @GeneratedValue(strategy = GenerationType.UUID)
    UUID id;

    @ManyToOne(optional = false, fetch = FetchType.LAZY)
    Customer customer;

    @Column(nullable = false)
    LocalDateTime placed;

    @Enumerated(EnumType.STRING)
    @Column(nullable = false)
    Status status = Status.PLACED;

    @OneToMany(mappedBy = "order", cascade = CascadeType.ALL, orphanRemoval = true)
    @OrderBy("quantity DESC")
    List<Line> lines = new ArrayList<>();

    protected Order() {}

    Order(Customer customer, LocalDateTime placed) {
        this.customer = customer;
        this.placed = placed;
    }
}
