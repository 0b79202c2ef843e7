"""Speed and paper-table runs: each prints a table and, with ``--json``, writes its numbers."""
