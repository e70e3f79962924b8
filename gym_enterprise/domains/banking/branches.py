"""The two parts that the bank grew together from: who their customers are, and what these hold.

Ids are counted over both in this order, so a part that is added at the end leaves the records before it as
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

from gym_enterprise.domains.banking.knowledge import FACTS

Products = Callable[[int, date, Random], list[str]]
"""Number of a customer, date of birth and a source of chance → the products it holds."""

# fmt: off
FIRST_NAMES = (
    "Adela", "Bruno", "Carmen", "Dario", "Edith", "Farid", "Greta", "Hugo", "Imani", "Jonas", "Katya",
    "Leon", "Mabel", "Nadir", "Oona", "Pavel", "Quentin", "Rosa", "Silas", "Tamsin", "Ulrich", "Vera",
    "Wanda", "Xavier", "Yusuf", "Zelda",
)
LAST_NAMES = (
    "Abernethy", "Bellweather", "Castellano", "Dunmore", "Eastlake", "Farrow", "Gallimore", "Hargreave",
    "Ibarra", "Jernigan", "Kestrel", "Lindqvist", "Marchetti", "Northcott", "Okonjo", "Pemberton",
    "Quiroga", "Rasmussen", "Stavros", "Thackeray", "Underhill", "Valdivia", "Westerby", "Yarrow",
    "Zielinski",
)
_SEASIDE_FIRST_NAMES = (
    "Agnes", "Balthasar", "Celeste", "Davit", "Esme", "Florian", "Gwendolyn", "Henrik", "Ines", "Joachim",
    "Kamila", "Lorenz", "Marguerite", "Nikolai", "Odile", "Percival", "Renske", "Santiago", "Theodora",
    "Umberto", "Viola", "Wolfgang", "Yasmin", "Zacharias",
)
_SEASIDE_LAST_NAMES = (
    "Ainsworth", "Brandvold", "Carrington", "Delacroix", "Eberhardt", "Fitzwilliam", "Gundersen",
    "Holloway", "Ishikawa", "Juarez", "Kowalczyk", "Lamontagne", "Mwangi", "Nakamura", "Oyelaran",
    "Petrakis", "Rosenthal", "Szymanski", "Tremblay", "Vasquez", "Whitcombe", "Yamazaki",
)
# fmt: on
STREETS = ("Alder Row", "Bakehouse Lane", "Cooper Street", "Dovecote Hill", "Elm Terrace", "Ferry Road")
CITIES = (
    ("Port Selby", "30417"),
    ("Marlow Falls", "30552"),
    ("Ashgrove", "31208"),
    ("Tannery Bridge", "31990"),
)
_SEASIDE_CITIES = (
    ("Saltmarsh", "32075"),
    ("Gullhaven", "32118"),
    ("Cape Ember", "32340"),
    ("Quarry Sands", "32461"),
    ("Port Selby", "30417"),
)
_STUDENT_AGE = FACTS.period("products.campus.end_age", "years")


@dataclass(frozen=True)
class Branch:
    """One part of the bank."""

    seed: int
    """Of all that is drawn for it."""
    customers: int
    """How many it has."""
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    cities: tuple[tuple[str, str], ...]
    """Towns with their postal codes."""
    phone_area: str
    """First digits of the phone numbers."""
    purchases: tuple[int, int]
    """How many purchases an account with a card has: the fewest, and one more than the most."""
    products: Products
    namesakes: Mapping[int, int]
    """Customers (by number) that share the full name of an earlier one."""
    households: Mapping[int, int]
    """Customers (by number) that share the phone and street of an earlier one."""
    grown: bool
    """Whether customers were of age when they joined, and cards of one account have similar digits."""


def _in_town(number: int, born: date, draw: Random) -> list[str]:
    products = [draw.choices(("everyday", "plus", "premier"), (5, 4, 3))[0]]
    if number % 3 != 2:
        products.append(draw.choice(("harbor", "summit")))
    if number % 2 == 0:
        products.append(draw.choice(("reserve", "goal")))
    if number % 7 == 0:
        products.append("harbor" if "harbor" not in products else "summit")
    if number % 5 == 0:
        products.append(draw.choice(("everyday", "plus")))
    return products


def _by_the_sea(number: int, born: date, draw: Random) -> list[str]:
    checking = ["everyday", "plus", "premier", "anchor", "workbench", "voyager"]
    if born.year > 2026 - _STUDENT_AGE:
        checking.append("campus")
    products = draw.sample(checking, 2 if draw.random() < 0.3 else 1)
    if draw.random() < 0.7:
        cards = ("harbor", "summit", "beacon", "quay", "quay", "meridian", "meridian")
        products.append("workcard" if products[0] == "workbench" else draw.choice(cards))
    if draw.random() < 0.6:
        savings = ("reserve", "goal", "notice", "notice", "term", "bonus", "rainy")
        products += draw.sample(savings, 2 if draw.random() < 0.2 else 1)
    if draw.random() < 0.1:
        products.append("pebble")
    return list(dict.fromkeys(products))


BRANCHES = (
    Branch(
        20_260_228,
        72,
        FIRST_NAMES,
        LAST_NAMES,
        CITIES,
        "(555)",
        (7, 17),
        _in_town,
        {23: 4, 41: 12, 58: 30},
        {17: 3, 44: 19},
        False,
    ),
    Branch(
        20_261_130,
        148,
        _SEASIDE_FIRST_NAMES,
        _SEASIDE_LAST_NAMES,
        _SEASIDE_CITIES,
        "(556)",
        (6, 13),
        _by_the_sea,
        {95: 77, 131: 90, 160: 108, 199: 140},
        {101: 80, 144: 122, 187: 150},
        True,
    ),
)
