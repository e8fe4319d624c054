"""The regression suites: plan, run, report."""
