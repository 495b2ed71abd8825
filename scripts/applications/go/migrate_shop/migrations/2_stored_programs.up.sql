CREATE TRIGGER order_takes AFTER INSERT ON `order` FOR EACH ROW
BEGIN
  DECLARE left_over INT;
  UPDATE product SET stock = stock - NEW.quantity WHERE sku = NEW.sku;
  SELECT stock INTO left_over FROM product WHERE sku = NEW.sku;
  IF left_over < 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'sold out', MYSQL_ERRNO = 30001;
  END IF;
END;
CREATE PROCEDURE place (IN wanted_email VARCHAR(190), IN wanted_sku CHAR(12), IN wanted SMALLINT)
BEGIN
  DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer';
  BEGIN
    DECLARE found_id INT UNSIGNED;
    SELECT id INTO found_id FROM customer WHERE email = wanted_email;
    INSERT INTO `order` (customer_id, sku, quantity) VALUES (found_id, wanted_sku, wanted);
  END;
END;
CREATE EVENT forget ON SCHEDULE EVERY 1 WEEK STARTS '2030-01-01 00:00:00' ON COMPLETION PRESERVE DO DELETE FROM `order` WHERE quantity = 0;
