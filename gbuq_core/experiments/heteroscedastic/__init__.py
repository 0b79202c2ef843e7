"""Growing noise, and nothing beyond it: MACAU (Merilinna 2023, section 4.1) beside others."""
