"""Growing noise, and places without rows: MACAU (Merilinna 2023, section 4.1) and others."""
