"""A known mistake is recognized by the numbers it gives."""

from tests.checks.judged import sentence_of


def test_an_entropy_in_place_of_a_temperature_is_named():
    sentence = sentence_of(lambda scores, target: target, "temperature_for_entropy")
    assert sentence.endswith("you returned an entropy. Return the temperature that leads to it.")
