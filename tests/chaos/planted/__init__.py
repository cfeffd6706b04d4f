"""What the auditor is tested with."""
