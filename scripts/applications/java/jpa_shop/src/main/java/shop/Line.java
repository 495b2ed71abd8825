package shop;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;

@Entity
public class Line {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    @ManyToOne(optional = false)
    Order order;

    @ManyToOne(optional = false)
    Product product;

    short quantity;

    protected Line() {}

    Line(Order order, Product product, int quantity) {
        this.order = order;
        this.product = product;
        this.quantity = (short) quantity;
    }
}
