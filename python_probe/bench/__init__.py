"""Measurements of the server's part on the simulated driver in C: ``npm run bench`` runs them.

Each module measures one thing: its ``measure()`` gives the rows of the table.
"""
