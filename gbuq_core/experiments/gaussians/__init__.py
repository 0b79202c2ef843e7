"""The 25 Gaussians of Tan et al. 2023, section 4: Langevin samplers race over one density."""
