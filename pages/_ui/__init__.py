"""What pages share: the canvas component and other pieces that need streamlit."""
