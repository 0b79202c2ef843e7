"""What is new to a forest: MACAU's novelty scores (Merilinna 2023, section 3.4) as maps."""
