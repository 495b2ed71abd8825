package shop;

import java.math.BigDecimal;

public class Product {
    public String sku;
    public BigDecimal price;
    public int stock;
    public byte[] picture;
    public String flags;

    public Product() {}

    public Product(String sku, BigDecimal price, int stock, byte[] picture, String flags) {
        this.sku = sku;
        this.price = price;
        this.stock = stock;
        this.picture = picture;
        this.flags = flags;
    }
}
