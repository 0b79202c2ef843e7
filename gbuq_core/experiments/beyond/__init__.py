"""Beyond the rows: what trees, a process and the law of several voices say where no row is."""
