DROP VIEW dear_product;
ALTER TABLE product RENAME COLUMN in_stock TO stock, DROP COLUMN kind, MODIFY price DECIMAL(12,4) NOT NULL;
DROP INDEX customer_phone ON customer;
ALTER TABLE customer DROP COLUMN phone;
