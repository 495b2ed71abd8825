package shop;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Inheritance;
import jakarta.persistence.InheritanceType;
import jakarta.persistence.Table;

/** A table that Hibernate makes, with its own generator of keys and a table for each kind. */
@Entity
@Inheritance(strategy = InheritanceType.JOINED)
@Table(indexes = @Index(name = "by_day", columnList = "sent DESC"))
public class Delivery {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE)
    Long id;

    Instant sent;
    LocalTime about;
    Duration waits;
    boolean isFragile;

    @Column(columnDefinition = "text")
    String note;

    @Entity
    public static class Parcel extends Delivery {
        @Column(nullable = false)
        int grams;
    }

    @Entity
    public static class Letter extends Delivery {
        char size;
    }
}
