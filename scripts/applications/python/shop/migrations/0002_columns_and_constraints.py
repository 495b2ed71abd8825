"""Columns and constraints that a shop learns later that it needs, rows moved to them, and statements of its own."""

import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models


def stock_of_old_products(apps, schema_editor):
    apps.get_model("shop", "Product").objects.filter(stock=None).update(stock=7)


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_first")]
    operations = [
        migrations.RenameField("Customer", "full_name", "name"),
        migrations.AlterField("Customer", "name", models.CharField(db_comment="as on the parcel", db_index=True, max_length=100)),
        migrations.AlterField("Customer", "email", models.EmailField(max_length=190, unique=True)),
        migrations.AddField("Customer", "phone", models.CharField(max_length=30, null=True)),
        migrations.AddField(
            "Customer",
            "referrer",
            models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="referred", to="shop.customer"
            ),
        ),
        migrations.AddIndex("Customer", models.Index(django.db.models.functions.text.Lower("name"), name="name_in_lower_case")),
        migrations.RunPython(stock_of_old_products, migrations.RunPython.noop),
        migrations.AlterField("Product", "stock", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AlterField("Product", "price", models.DecimalField(decimal_places=4, max_digits=12)),
        migrations.RemoveField("Product", "colour"),
        migrations.AddField(
            "Product",
            "value",
            models.GeneratedField(
                db_persist=True,
                expression=models.F("price") * models.F("stock"),
                output_field=models.DecimalField(decimal_places=4, max_digits=20),
            ),
        ),
        migrations.AddConstraint("Product", models.CheckConstraint(condition=models.Q(price__gte=0), name="price_is_positive")),
        migrations.AddIndex("Product", models.Index(fields=["title", "-price"], name="dearest_of_title")),
        migrations.AlterField("Order", "placed", models.DateTimeField(db_index=True)),
        migrations.RunSQL(
            [
                "CREATE TABLE stock_log (id INT AUTO_INCREMENT PRIMARY KEY, sku VARCHAR(12) NOT NULL, difference BIGINT NOT NULL)",
                "CREATE TRIGGER product_stock AFTER UPDATE ON shop_product FOR EACH ROW BEGIN IF NEW.stock <> OLD.stock THEN "
                "INSERT INTO stock_log (sku, difference) VALUES (NEW.sku, CAST(NEW.stock AS SIGNED) - CAST(OLD.stock AS SIGNED)); END IF; END",
                "CREATE PROCEDURE stock_of (IN wanted VARCHAR(12)) READS SQL DATA SELECT stock FROM shop_product WHERE sku = wanted",
                "CREATE VIEW dear_product AS SELECT sku, price FROM shop_product WHERE price > 60",
            ],
            ["DROP VIEW dear_product", "DROP PROCEDURE stock_of", "DROP TRIGGER product_stock", "DROP TABLE stock_log"],
        ),
    ]
