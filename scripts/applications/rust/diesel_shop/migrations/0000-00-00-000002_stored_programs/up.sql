CREATE TABLE stock_logs (id INT AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(12) NOT NULL, difference BIGINT NOT NULL);
CREATE TRIGGER product_stock AFTER UPDATE ON products FOR EACH ROW
BEGIN
  IF NEW.stock <> OLD.stock THEN
    INSERT INTO stock_logs (sku, difference) VALUES (NEW.sku, CAST(NEW.stock AS SIGNED) - CAST(OLD.stock AS SIGNED));
  END IF;
END;
CREATE FUNCTION in_stock (wanted VARCHAR(12)) RETURNS BIGINT READS SQL DATA RETURN (SELECT stock FROM products WHERE sku = wanted);
CREATE VIEW dear_products AS SELECT sku, price FROM products WHERE price > 60;
