CREATE TABLE customer (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(190) NOT NULL UNIQUE,
  name VARCHAR(100) NOT NULL,
  joined DATE NOT NULL,
  profile JSON,
  street VARCHAR(100),
  city VARCHAR(100),
  KEY by_name (name, joined)
) COMMENT 'whoever buys';
CREATE TABLE product (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  sku VARCHAR(12) NOT NULL,
  price DECIMAL(12,4) NOT NULL,
  stock INT NOT NULL,
  weight DOUBLE,
  picture LONGBLOB,
  version BIGINT NOT NULL,
  UNIQUE KEY by_sku (sku),
  CONSTRAINT price_is_positive CHECK (price >= 0)
);
CREATE TABLE orders (
  id BINARY(16) NOT NULL PRIMARY KEY,
  customer_id BIGINT NOT NULL,
  placed DATETIME(6) NOT NULL,
  status ENUM('PAID', 'PLACED') NOT NULL,
  CONSTRAINT order_of FOREIGN KEY (customer_id) REFERENCES customer (id)
);
CREATE TABLE line (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  order_id BINARY(16) NOT NULL,
  product_id BIGINT NOT NULL,
  quantity SMALLINT NOT NULL,
  UNIQUE KEY once (order_id, product_id),
  CONSTRAINT line_of FOREIGN KEY (order_id) REFERENCES orders (id),
  CONSTRAINT product_of FOREIGN KEY (product_id) REFERENCES product (id)
);
