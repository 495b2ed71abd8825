package shop;

import java.math.BigDecimal;

public class Line {
    public String sku;
    public int quantity;
    public BigDecimal price;
}
