"""Where things lie in a checkout."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
NPM_PINS = ROOT / "simulator" / "stack" / "npm"
NPM_PACKAGES = ROOT / ".local" / "npm"
LOCAL_SETTINGS = ROOT / "local.settings.json"
LOCAL_SETTINGS_EXAMPLE = ROOT / "local.settings.json.example"
