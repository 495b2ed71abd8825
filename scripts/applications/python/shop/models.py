"""What the shop is after its last migration."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower


class Customer(models.Model):
    email = models.EmailField(max_length=190, unique=True)
    name = models.CharField(max_length=100, db_index=True, db_comment="as on the parcel")
    joined = models.DateField()
    profile = models.JSONField(default=dict)
    referrer = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="referred")
    phone = models.CharField(max_length=30, null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(Lower("name"), name="name_in_lower_case")]


class Tag(models.Model):
    word = models.CharField(max_length=30, primary_key=True)


class Product(models.Model):
    sku = models.CharField(max_length=12, unique=True)
    title = models.CharField(max_length=200)
    price = models.DecimalField(max_digits=12, decimal_places=4)
    stock = models.PositiveIntegerField(default=0, db_default=0)
    weight = models.FloatField(null=True)
    picture = models.BinaryField(null=True)
    tags = models.ManyToManyField(Tag, related_name="products")
    value = models.GeneratedField(expression=F("price") * F("stock"), output_field=models.DecimalField(max_digits=20, decimal_places=4), db_persist=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(price__gte=0), name="price_is_positive")]
        indexes = [models.Index(fields=["title", "-price"], name="dearest_of_title")]


class Order(models.Model):
    class Status(models.TextChoices):
        PLACED = "placed"
        PAID = "paid"

    id = models.UUIDField(primary_key=True)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="orders")
    placed = models.DateTimeField(db_index=True)
    waits = models.DurationField(null=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PLACED)


class Line(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="lines")
    quantity = models.SmallIntegerField()

    class Meta:
        unique_together = [("order", "product")]
