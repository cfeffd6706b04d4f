"""Each test of this folder that asks for `deployed` runs for each network mode."""

import pytest

from tests.infra.template import MODES, Deployed


@pytest.fixture(params=MODES)
def deployed(request: pytest.FixtureRequest) -> Deployed:
    return Deployed(request.param)
