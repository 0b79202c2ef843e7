"""Experiments behind benchmarks/FINDINGS.md, one module a question."""
