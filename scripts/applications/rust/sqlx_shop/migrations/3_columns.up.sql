ALTER TABLE customer ADD COLUMN phone VARCHAR(30) AFTER name, ADD UNIQUE KEY by_phone (phone), ADD COLUMN score TINYINT UNSIGNED NOT NULL DEFAULT 3;
ALTER TABLE product RENAME COLUMN weight TO kilograms, ALTER COLUMN stock SET DEFAULT 1, MODIFY kind ENUM('cheap', 'fair', 'dear') DEFAULT 'fair';
UPDATE product SET kind = 'dear' WHERE price > 60;
