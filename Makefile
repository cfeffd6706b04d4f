# Every target is one command, and `python -m simulator <target>` is the same without make.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
endif

.DEFAULT_GOAL := help
.PHONY: help run reset setup test replay chaos check screenshots infra-snapshot

help run reset setup test replay chaos check screenshots infra-snapshot:
	@$(if $(PYTHON),,$(error Python 3.11 or newer is needed, and none is on PATH))exec "$(PYTHON)" -m simulator $@ $(ARGS)
