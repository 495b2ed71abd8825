DROP EVENT forget;
DROP PROCEDURE place;
DROP TRIGGER order_takes;
