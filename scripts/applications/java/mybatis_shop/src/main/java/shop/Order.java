package shop;

import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;

public class Order {
    public Long id;
    public Customer customer;
    public LocalDateTime placed;
    public List<Line> lines = new ArrayList<>();
}
