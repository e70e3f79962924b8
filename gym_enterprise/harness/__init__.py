"""Driving whole episodes: one loop for demonstration, checks and evaluation."""
