CREATE TABLE customer (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(190) NOT NULL,
  name VARCHAR(100) NOT NULL COMMENT 'as on the parcel',
  joined DATE NOT NULL,
  profile JSON,
  changed TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  UNIQUE KEY by_email (email)
);
CREATE TABLE product (
  sku CHAR(12) PRIMARY KEY,
  price DECIMAL(12,4) NOT NULL,
  gross DECIMAL(12,2) AS (price * 1.19) STORED,
  stock INT NOT NULL DEFAULT 0,
  weight FLOAT,
  picture MEDIUMBLOB,
  kind ENUM('cheap', 'dear') DEFAULT 'cheap',
  is_sold BOOLEAN NOT NULL DEFAULT TRUE,
  CONSTRAINT price_is_positive CHECK (price >= 0)
);
CREATE TABLE `order` (
  id BINARY(16) PRIMARY KEY,
  customer_id BIGINT UNSIGNED NOT NULL,
  placed DATETIME(6) NOT NULL,
  arrives TIME(3),
  made YEAR,
  KEY by_customer (customer_id, placed),
  CONSTRAINT order_of FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE
);
CREATE TABLE order_line (
  order_id BINARY(16) NOT NULL,
  sku CHAR(12) NOT NULL,
  quantity SMALLINT NOT NULL,
  PRIMARY KEY (order_id, sku),
  CONSTRAINT line_of FOREIGN KEY (order_id) REFERENCES `order` (id) ON DELETE CASCADE,
  CONSTRAINT product_of FOREIGN KEY (sku) REFERENCES product (sku) ON UPDATE CASCADE
);
