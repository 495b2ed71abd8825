CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(12) NOT NULL, difference INT NOT NULL);

DELIMITER //
CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW
BEGIN
  IF NEW.stock <> OLD.stock THEN
    INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock);
  END IF;
END//
CREATE PROCEDURE order_total (IN wanted BINARY(16), OUT total DECIMAL(12,2))
BEGIN
  SELECT SUM(l.quantity * p.price) INTO total FROM line l JOIN product p ON p.id = l.product_id WHERE l.order_id = wanted;
END//
DELIMITER ;

CREATE VIEW dear_product AS SELECT id, sku, price FROM product WHERE price > 60;
