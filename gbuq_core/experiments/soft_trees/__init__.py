"""Functions drawn from soft trees (Cinquin et al. 2023, section 4), and a bandit that uses them."""
