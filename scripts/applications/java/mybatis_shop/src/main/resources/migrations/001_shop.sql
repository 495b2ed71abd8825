-- // the shop's tables, and MyBatis's own
CREATE TABLE CHANGELOG (
  ID NUMERIC(20,0) NOT NULL PRIMARY KEY,
  APPLIED_AT VARCHAR(25) NOT NULL,
  DESCRIPTION VARCHAR(255) NOT NULL
);
CREATE TABLE customer (
  id INT AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(190) NOT NULL,
  name VARCHAR(100) NOT NULL COMMENT 'as on the parcel',
  joined DATE NOT NULL,
  profile JSON,
  changed TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  UNIQUE KEY by_email (email)
);
CREATE TABLE product (
  sku CHAR(12) PRIMARY KEY,
  price DECIMAL(12,4) NOT NULL,
  stock INT NOT NULL DEFAULT 0,
  picture BLOB,
  flags SET('new', 'cheap', 'heavy') NOT NULL DEFAULT '',
  CONSTRAINT price_is_positive CHECK (price >= 0)
);
CREATE TABLE `order` (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  customer_id INT NOT NULL,
  placed DATETIME(6) NOT NULL,
  KEY by_customer (customer_id, placed DESC),
  CONSTRAINT order_of FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE
);
CREATE TABLE order_line (
  order_id BIGINT UNSIGNED NOT NULL,
  sku CHAR(12) NOT NULL,
  quantity SMALLINT NOT NULL,
  PRIMARY KEY (order_id, sku),
  CONSTRAINT line_of FOREIGN KEY (order_id) REFERENCES `order` (id) ON DELETE CASCADE,
  CONSTRAINT product_of FOREIGN KEY (sku) REFERENCES product (sku)
);
-- //@UNDO
DROP TABLE order_line;
DROP TABLE `order`;
DROP TABLE product;
DROP TABLE customer;
DROP TABLE CHANGELOG;
