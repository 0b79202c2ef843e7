"""What tests of jobs share."""

# Reached only by a test that hangs; no time is asserted.
HANG = 60


class Counted:
    """A fit that counts how often it is computed."""

    def __init__(self, value="value"):
        self.value, self.calls = value, 0

    def __call__(self, job):
        self.calls += 1
        return self.value
