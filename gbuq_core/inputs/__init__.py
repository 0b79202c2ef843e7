"""What every estimator does with what a user passes: tables, targets, class labels, seeds."""
