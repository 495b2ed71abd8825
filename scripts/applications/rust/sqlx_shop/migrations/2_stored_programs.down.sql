DROP VIEW dear_product;
DROP PROCEDURE stock_between;
DROP FUNCTION with_tax;
DROP TRIGGER product_stock;
DROP TABLE stock_log;
