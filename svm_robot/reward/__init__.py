"""See docs/map.md."""
