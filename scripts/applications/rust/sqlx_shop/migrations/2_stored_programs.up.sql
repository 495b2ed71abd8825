CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12) NOT NULL, difference INT NOT NULL);
CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW
BEGIN
  IF NEW.stock <> OLD.stock THEN
    INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock);
  END IF;
END;
CREATE FUNCTION with_tax (net DECIMAL(12,4)) RETURNS DECIMAL(12,4) DETERMINISTIC RETURN net * 1.19;
CREATE PROCEDURE stock_between (IN low INT, IN high INT)
BEGIN
  SELECT sku, stock FROM product WHERE stock BETWEEN low AND high ORDER BY stock;
END;
CREATE VIEW dear_product AS SELECT sku, price FROM product WHERE price > 60;
