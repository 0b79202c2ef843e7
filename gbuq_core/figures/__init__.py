"""Results become pictures here: arrays in, specifications out, no estimator and no streamlit.

`panels` describes heatmap sheets, `encoding` packs them for the one JavaScript renderer under
``canvas/``, `standalone` writes the same sheets as a self-contained HTML file, `colour` holds
the colour maps and the colour of each method.
"""
