"""The heart of Malinin et al. 2021, section 4: no rows inside, noisier rows around."""
