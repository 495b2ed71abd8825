DROP TABLE order_lines, orders, products, customers;
