package shop;

import java.time.LocalDate;

public class Customer {
    public Integer id;
    public String email;
    public String name;
    public LocalDate joined;
    public String profile;

    public Customer() {}

    public Customer(String email, String name, LocalDate joined, String profile) {
        this.email = email;
        this.name = name;
        this.joined = joined;
        this.profile = profile;
    }
}
