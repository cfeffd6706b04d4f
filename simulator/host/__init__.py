"""A local stand-in for `func start`: it runs a folder's function_app.py as the Functions host and its worker do.

What it reproduces, and what not, is listed in README.md beside this file.
"""
