"""A person at a terminal: single keys in, a screen to draw on, and a verdict on each episode."""
