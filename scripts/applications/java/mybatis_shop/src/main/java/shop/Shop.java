package shop;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;

import org.apache.ibatis.annotations.Delete;
import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Options;
import org.apache.ibatis.annotations.Param;
import org.apache.ibatis.annotations.Select;
import org.apache.ibatis.annotations.Update;
import org.apache.ibatis.cursor.Cursor;
import org.apache.ibatis.session.RowBounds;

/** What the shop asks of the server: here, and what is built of conditions in `Shop.xml`. */
public interface Shop {
    @Insert("INSERT INTO customer (email, name, joined, profile) VALUES (#{email}, #{name}, #{joined}, #{profile})")
    @Options(useGeneratedKeys = true, keyProperty = "id")
    int insertCustomer(Customer customer);

    @Insert("INSERT INTO `order` (customer_id, placed) VALUES (#{customer.id}, #{placed})")
    @Options(useGeneratedKeys = true, keyProperty = "id")
    int insertOrder(Order order);

    @Insert("INSERT INTO order_line VALUES (#{order}, #{sku}, #{quantity})")
    int insertLine(@Param("order") long order, @Param("sku") String sku, @Param("quantity") int quantity);

    int insertProducts(@Param("products") List<Product> products);

    List<Order> orders(@Param("email") String email, @Param("skus") List<String> skus);

    int change(@Param("sku") String sku, @Param("price") BigDecimal price, @Param("stock") Integer stock);

    void total(Map<String, Object> parameters);

    @Select("SELECT * FROM customer WHERE email = #{email}")
    Customer customer(String email);

    @Select("SELECT * FROM product WHERE sku = #{sku} FOR UPDATE")
    Product lock(String sku);

    @Select("SELECT * FROM product ORDER BY price DESC, sku")
    List<Product> dearest(RowBounds page);

    @Select("SELECT * FROM product")
    @Options(fetchSize = Integer.MIN_VALUE)
    Cursor<Product> all();

    @Insert("INSERT INTO product (sku, price, stock) VALUES (#{sku}, #{price}, #{stock}) AS fresh ON DUPLICATE KEY UPDATE stock = product.stock + fresh.stock")
    int upsert(Product product);

    @Select("SELECT FIND_IN_SET('cheap', flags) > 0 AS is_cheap, COUNT(*) AS number, AVG(price) AS mean FROM product GROUP BY is_cheap ORDER BY is_cheap")
    List<Map<String, Object>> kinds();

    @Select("SELECT email FROM customer WHERE profile->>'$.tags[1]' = #{tag}")
    List<String> withTag(String tag);

    @Select("SELECT COUNT(*) FROM ${table}")
    long count(@Param("table") String table);

    @Update("UPDATE product SET title = CONCAT('Product ', TRIM(LEADING '0' FROM SUBSTR(sku, 2)))")
    int entitle();

    @Delete("DELETE FROM customer WHERE email = #{email}")
    int deleteCustomer(String email);

    @Delete("DELETE FROM product WHERE sku = #{sku}")
    int deleteProduct(String sku);
}
