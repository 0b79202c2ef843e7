"""Three uncertainties on one curve: what Home refits while its slider moves."""
