"""What the system achieves, measured from outside: `python -m benchmarks NAME`. README.md says what each one shows."""
