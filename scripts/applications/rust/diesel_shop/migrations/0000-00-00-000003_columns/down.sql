RENAME TABLE log_of_stock TO stock_logs;
DROP INDEX by_price ON products;
ALTER TABLE customers DROP phone, DROP score;
