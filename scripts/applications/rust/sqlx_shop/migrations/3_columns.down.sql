UPDATE product SET kind = 'cheap' WHERE kind = 'fair';
ALTER TABLE product RENAME COLUMN kilograms TO weight, ALTER COLUMN stock SET DEFAULT 0, MODIFY kind ENUM('cheap', 'dear') DEFAULT 'cheap';
ALTER TABLE customer DROP COLUMN score, DROP KEY by_phone, DROP COLUMN phone;
