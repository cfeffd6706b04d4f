"""What azd runs after provisioning: `python -m infra.database`, from the project's own folder."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
runpy.run_module("infra.database", run_name="__main__", alter_sys=True)
