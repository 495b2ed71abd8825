-- // what a later version of the program needs
ALTER TABLE customer ADD COLUMN phone VARCHAR(30) AFTER name, ADD UNIQUE KEY by_phone (phone);
ALTER TABLE product ADD COLUMN title VARCHAR(200) NOT NULL DEFAULT 'none', ADD KEY by_title (title(20));
-- //@UNDO
ALTER TABLE product DROP KEY by_title, DROP COLUMN title;
ALTER TABLE customer DROP KEY by_phone, DROP COLUMN phone;
