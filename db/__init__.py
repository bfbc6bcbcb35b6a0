"""The database schema, as data."""
