DROP VIEW dear_products;
DROP FUNCTION in_stock;
DROP TRIGGER product_stock;
DROP TABLE stock_logs;
