import pytest

from temper.report.numbers import absolute, percent, signed, spread


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (224.0, "224"),
        (212.2, "212.20"),
        (1_000_000, "1,000,000"),
        (0.0, "0"),
        (-0.0, "0"),
        (0.00026, "<0.01"),
        (123_456.7, "123,457"),
        (9_999_999_999.0, "9,999,999,999"),
        (2.5e12, "2.5e+12"),
    ],
)
def test_absolute(value: float, text: str) -> None:
    assert absolute(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (14.0, "+14"),
        (-3.25, "-3.25"),
        (0.0, "0"),
        (-0.0, "0"),
        (-0.001, "-<0.01"),
        (14.003, "+14.00"),
    ],
)
def test_signed(value: float, text: str) -> None:
    assert signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (6.6667, "+6.7 %"),
        (-0.0, "0 %"),
        (0.3781, "+0.38 %"),
        (-0.0001, "-<0.01 %"),
        (0.996, "+1.0 %"),
        (99.96, "+100 %"),
        (-123.4, "-123 %"),
        (1e9, "+>9999 %"),
        (None, "n/a"),
    ],
)
def test_percent(value: float | None, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "±0"),
        (2.5, "±2.50"),
        (0.0001, "±<0.01"),
        # Never less than it is.
        (10.01, "±11"),
        (1_797.2, "±1,798"),
        (None, ""),
    ],
)
def test_spread(value: float | None, text: str) -> None:
    assert spread(value) == text
