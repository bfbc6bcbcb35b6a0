"""A stand-in for mlx, for tests: tokens are bytes, and memory is a number."""
