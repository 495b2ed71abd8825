-- // what runs in the server
CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku CHAR(12) NOT NULL, difference INT NOT NULL);
-- @DELIMITER //
CREATE TRIGGER product_stock AFTER UPDATE ON product FOR EACH ROW
BEGIN
  IF NEW.stock <> OLD.stock THEN
    INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, NEW.stock - OLD.stock);
  END IF;
END//
CREATE PROCEDURE order_total (IN wanted BIGINT, OUT total DECIMAL(12,2), INOUT tax DECIMAL(12,2))
BEGIN
  SELECT SUM(l.quantity * p.price) INTO total FROM order_line l JOIN product p USING (sku) WHERE l.order_id = wanted;
  SET tax = total * tax;
END//
-- @DELIMITER ;
-- //@UNDO
DROP PROCEDURE order_total;
DROP TRIGGER product_stock;
DROP TABLE stock_log;
