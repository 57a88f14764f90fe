import pytest

from sampler.common.errors import InputError, InputErrors, noting, refuse_noted


def noted(*errors: InputError, within: str = "") -> list[str]:
    found: list[InputError] = []
    for error in errors:
        with noting(found, within):
            raise error
    return [f"{each.field}: {each.problem}" for each in found]


def test_what_is_noted_does_not_stop():
    assert noted(InputError("a", "x"), InputError("b", "y")) == ["a: x", "b: y"]


def test_several_at_once_are_noted_one_by_one():
    several = InputErrors([InputError("a", "x"), InputErrors([InputError("b", "y")] * 2)])
    assert [type(error) for error in several.errors] == [InputError, InputErrors]
    assert noted(InputErrors([InputError("a", "x"), InputError("b", "y")])) == ["a: x", "b: y"]


def test_the_document_is_named_before_the_field_unless_it_is_already():
    assert noted(InputError("low", "x"), within="space") == ["space.low: x"]
    assert noted(InputError("space.name", "x"), within="space") == ["space.name: x"]
    assert noted(InputError("space", "x"), within="space") == ["space: x"]
    assert noted(InputError("space (mine)", "x"), within="space") == ["space (mine): x"]
    assert noted(InputError("spaces", "x"), within="space") == ["space.spaces: x"]
    assert noted(InputError("metrics.waf", "x"), within="trials[2]") == [
        "trials[2].metrics.waf: x"
    ]


def test_other_errors_are_not_noted():
    found: list[InputError] = []
    with pytest.raises(ValueError, match="other"), noting(found):
        raise ValueError("other")
    assert found == []


def test_nothing_noted_refuses_nothing():
    refuse_noted([])


def test_one_is_refused_as_it_is():
    one = InputError("a", "x")
    with pytest.raises(InputError) as caught:
        refuse_noted([one])
    assert caught.value is one


def test_several_are_refused_together_in_one_line():
    errors = [InputError("a", "x"), InputError("b", "y"), InputError("c", "z")]
    with pytest.raises(InputErrors) as caught:
        refuse_noted(errors)
    assert caught.value.errors == tuple(errors)
    assert str(caught.value) == "a: x; b: y; c: z"
    assert (caught.value.field, caught.value.problem) == ("a", "x; b: y; c: z")
