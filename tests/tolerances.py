"""How closely two numbers must agree on every processor, and why that much can be asked.

Processors differ in the order in which BLAS and vector units add, in fused multiply-adds, and in
the last digit of exp and log. Each of these is a rounding of eps = 2.2e-16 relative. A tolerance
below 1e-7 is one of these, or a comment beside it says why it holds.
"""

# Relative. The same positive terms in another order, or one formula in two ways: n eps for n terms,
# 1e-12 for the few thousand terms of a test. Terms of both signs may lose two digits more.
SAME_SUM = 1e-10

# Relative. Differences and variances of numbers that are a thousand times larger, densities far in
# a tail, solutions of systems with a condition of up to 1e6: they lose six of sixteen digits.
CANCELLED = 1e-7

# Absolute, for numbers of order one that should be zero or whose sums cancel: 4,500 roundings.
ZERO = 1e-12

# Absolute, for numbers of order a thousand, or of order one behind a solve: four million roundings.
NEAR_ZERO = 1e-9

# Relative. Tables to download have nine digits: at most half a unit of the ninth is lost.
NINE_DIGITS = 1e-8
