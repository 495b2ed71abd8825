DROP TABLE order_line, `order`, product, customer;
