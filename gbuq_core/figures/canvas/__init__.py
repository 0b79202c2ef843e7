"""Sheets of linked heat maps and line charts: plain data, packed for the JavaScript beside it."""
