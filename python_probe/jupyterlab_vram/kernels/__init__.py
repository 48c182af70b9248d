"""Kernels: who runs, who holds what, and the doors into them."""
