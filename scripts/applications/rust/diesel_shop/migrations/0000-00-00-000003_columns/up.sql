ALTER TABLE customers ADD phone VARCHAR(30) NULL, ADD score SMALLINT NOT NULL DEFAULT 3, ADD UNIQUE by_phone (phone);
CREATE INDEX by_price ON products (price DESC, sku);
RENAME TABLE stock_logs TO log_of_stock;
