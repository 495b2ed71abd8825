"""The shop's first version."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            "Customer",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.EmailField(max_length=190)),
                ("full_name", models.CharField(max_length=80)),
                ("joined", models.DateField()),
                ("profile", models.JSONField(default=dict)),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.CreateModel("Tag", [("word", models.CharField(max_length=30, primary_key=True, serialize=False))]),
        migrations.CreateModel(
            "Product",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sku", models.CharField(max_length=12, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("price", models.DecimalField(decimal_places=2, max_digits=10)),
                ("stock", models.IntegerField(null=True)),
                ("weight", models.FloatField(null=True)),
                ("picture", models.BinaryField(null=True)),
                ("colour", models.CharField(default="grey", max_length=20)),
                ("tags", models.ManyToManyField(related_name="products", to="shop.tag")),
            ],
        ),
        migrations.CreateModel(
            "Order",
            [
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("placed", models.DateTimeField()),
                ("waits", models.DurationField(null=True)),
                ("status", models.CharField(choices=[("placed", "Placed"), ("paid", "Paid")], default="placed", max_length=10)),
                (
                    "customer",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="orders", to="shop.customer"),
                ),
            ],
        ),
        migrations.CreateModel(
            "Line",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("quantity", models.SmallIntegerField()),
                ("order", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="lines", to="shop.order")),
                (
                    "product",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="lines", to="shop.product"),
                ),
            ],
            options={"unique_together": {("order", "product")}},
        ),
    ]
