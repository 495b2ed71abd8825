"""The application of `django_shop.py`: its models and their migrations."""
