"""Route templates as ASP.NET Core reads them (functions-host C1)."""

import pytest

from simulator.host.web.template import InvalidTemplate, Template, decode_path


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("jobs/{id:int}", "/jobs/7", {"id": "7"}),
        ("jobs/{id:int}", "/JOBS/-7/", {"id": "-7"}),
        ("jobs/{id:int}", "/jobs/2147483648", None),
        ("jobs/{id:long}", "/jobs/2147483648", {"id": "2147483648"}),
        ("jobs/{id}", "/jobs", None),
        ("jobs/{id}", "/jobs//", None),
        ("jobs/{id}", "/jobs/a/b", None),
        ("/jobs", "/jobs", {}),
        ("", "/", {}),
        ("{page?}", "/", {}),
        ("list/{page:int?}", "/list", {}),
        ("list/{page:int?}", "/list/x", None),
        ("list/{page=1}/{size=20}", "/list/3", {"page": "3", "size": "20"}),
        ("{*rest}", "/", {}),
        ("{*rest}", "/a/b/", {"rest": "a/b/"}),
        ("files/{**rest}", "/files/a", {"rest": "a"}),
        ("{name}.{ext}", "/a.b.c", {"name": "a.b", "ext": "c"}),
        ("{n:range(1,9)}", "/10", None),
        ("{n:min(3):max(5)}", "/4", {"n": "4"}),
        ("{s:length(2,3)}", "/abcd", None),
        ("{s:alpha}", "/ab1", None),
        ("{b:bool}", "/TRUE", {"b": "TRUE"}),
        ("{g:guid}", "/0af76519-16cd-43dd-8448-eb211c80319c", {"g": "0af76519-16cd-43dd-8448-eb211c80319c"}),
        (r"{d:regex(^\d{{3}}$)}", "/123", {"d": "123"}),
        (r"{d:regex(^\d{{3}}$)}", "/1234", None),
        ("{{literal}}", "/{literal}", {}),
    ],
)
def test_template_when_matched_then_the_values_or_nothing(
    template: str, path: str, values: dict[str, str] | None
) -> None:
    assert Template(template).match(path) == values


@pytest.mark.parametrize(
    "template",
    ["a//b", "{a}/{A}", "{a?}/b", "{*a}/b", "x{a?}", "{a:unknown}", "{a:int(3)}", "{a:regex([)}", "{", "a}", "{}"],
)
def test_template_when_malformed_then_it_is_refused(template: str) -> None:
    with pytest.raises(InvalidTemplate):
        Template(template)


def test_path_when_decoded_then_an_encoded_slash_stays() -> None:
    assert decode_path("/a%20b/c%2Fd%2fe/%C3%A4") == "/a b/c%2Fd%2fe/ä"
