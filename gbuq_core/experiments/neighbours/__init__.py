"""The training rows behind a prediction: IBUG (Brophy and Lowd 2022, section 4) on known noise."""
