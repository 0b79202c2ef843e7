"""The spiral of Malinin et al. 2021 and Tan et al. 2023: three arms, nothing between and around."""
