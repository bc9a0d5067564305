"""Proofs by sets: boxes that are told apart by more and more of the past, until they suffice."""

from collections.abc import Callable, Sequence

import numpy as np

from remanence.certificates.mazes._boxes import Boxes, find_best
from remanence.certificates.mazes._case import Case
from remanence.certificates.mazes._finding import CERTIFIED, SETS, TableFinding
from remanence.certificates.mazes._looks import UndecidedError
from remanence.certificates.mazes._search import Choose, Search, find_endless
from remanence.certificates.mazes._sets import AbstractEnclosure, Enclosure, GrowingEnclosure
from remanence.certificates.mazes._walks import GREEDY
from remanence.certificates.mazes._world import DOWN, UP

# How many observations are told apart, and how many of them from before the maze: from few boxes to
# many. What lingers in a maze needs a long history there, and what is led on one of earlier mazes.
Stages = Sequence[tuple[int, int]]
STAGES: Stages = ((1, 1), (2, 2), (4, 1), (3, 3), (6, 1), (4, 4), (7, 1), (5, 5), (8, 1), (10, 1))
COST = 5  # of a box, in nodes of a search
WORK = 25  # how often a box may be mapped, for each node that the budget allows a search
# Where the margin is hardly less wrong after a few stages, finer boxes do not help.
FAIR, HOPELESS = 3, 0.8
GROWN_COST = 50  # of mapping a box whose units see each other, in maps of others
GROWN_SHARE = 0.95  # of a margin that is claimed: the checker's boxes grow otherwise
SLACK = 1e-6  # given away, for arithmetic that is a little coarser, as the checker's may be
MakeBoxes = Callable[[int, int], Boxes]  # for a history and a reach
Known = dict[tuple[int, int], np.ndarray]  # which actions are possible with a box in a place


def enclose(case: Case, make_boxes: MakeBoxes, stages: Stages = STAGES) -> TableFinding:
    """Sets of memories, finer and finer, until they prove it or no more is to be hoped for."""
    work, margins = 0, []
    try:
        for history, reach in stages:
            enclosure = bound(case, make_boxes(history, reach))
            if enclosure is None:
                continue
            margins.append(measure(case, enclosure))
            if judge(case, enclosure, margins[-1]):
                known = {"history": history, "reach": reach, "num_rounds": enclosure.num_rounds}
                least = None if case.walk == GREEDY else margins[-1]
                return case.conclude(CERTIFIED, SETS, least_margin=least, **known)
            work += enclosure.search.size * enclosure.num_rounds
            hopeless = len(margins) >= FAIR and max(margins[1:]) < HOPELESS * margins[0]
            if hopeless or work > WORK * case.budget:
                break
    except UndecidedError:
        pass
    return case.give_up()


def grow(case: Case, make_boxes: MakeBoxes, stages: Stages = STAGES) -> TableFinding:
    """The same by sets that grow from the first memories; not of greedy agents."""
    work = 0
    try:
        for history, reach in stages if case.walk != GREEDY else ():
            boxes = make_boxes(history, reach)
            search = _search_all(case, boxes, case.choose())
            if search is None:
                continue
            enclosure = GrowingEnclosure(search, boxes)
            if enclosure.grow(lambda nodes, it=enclosure: measure(case, it, nodes) > 0):
                known = {"history": history, "reach": reach, "num_rounds": enclosure.num_rounds}
                least = GROWN_SHARE * measure(case, enclosure)
                return case.conclude(CERTIFIED, SETS, least_margin=least, **known)
            work += enclosure.search.size * enclosure.num_rounds
            if work > WORK * case.budget // GROWN_COST:
                break
    except UndecidedError:
        pass
    return case.give_up()


def bound(case: Case, boxes: Boxes) -> Enclosure | None:
    """A box for each node; None if there are more than the budget allows.

    A greedy agent is followed wherever it may go. Where boxes are smaller for having fewer nodes
    that lead to them, less is possible, until nothing changes.
    """
    known: Known = {}
    while True:
        choose = _choose_possible(case, boxes, known) if case.walk == GREEDY else case.choose()
        search = _search_all(case, boxes, choose)
        if search is None:
            return None
        enclosure = Enclosure(search, boxes)
        enclosure.shrink()
        if case.walk != GREEDY or not _exclude(enclosure, known):
            return enclosure


def _search_all(case: Case, boxes: Boxes, choose: Choose) -> Search | None:
    """All nodes; None if there are more than the budget allows."""
    search = Search(case.world, boxes, case.letters, choose)
    for _ in search.run(case.budget // COST):
        pass
    return search if search.finished else None


def measure(case: Case, enclosure: AbstractEnclosure, among: np.ndarray | None = None) -> float:
    """At least by how much the right arm is better than the other at every junction.

    If nodes are given, at those `among` them.
    """
    search = enclosure.search
    nodes = np.flatnonzero(case.world.at_junction[search.places])
    nodes = nodes if among is None else np.intersect1d(nodes, among)
    right = case.right[search.places[nodes]]
    over = enclosure.compare(nodes)[np.arange(len(nodes)), right, UP + DOWN - right]
    least = float(over.min(initial=np.inf))
    return least - SLACK * (1 + abs(least))


def judge(case: Case, enclosure: Enclosure, margin: float) -> bool:
    """Whether it is proved: of a greedy agent, that no wrong arm is possible, nor endless walks."""
    if case.walk != GREEDY:
        return margin > 0
    search = enclosure.search
    nodes = np.flatnonzero(case.world.at_junction[search.places])
    wrong = UP + DOWN - case.right[search.places[nodes]]
    fails = search.follow(nodes)[0][np.arange(len(nodes)), wrong].any()
    return not fails and not len(find_endless(search, np.arange(search.size)))


def _choose_possible(case: Case, boxes: Boxes, known: Known) -> Choose:
    def choose(places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        possible = boxes.find_possible(case.letters[places], numbers)
        pairs = zip(places.tolist(), numbers.tolist(), strict=True)
        for row, pair in enumerate(pairs):
            if pair in known:
                possible[row] = known[pair]
        return possible

    return choose


def _exclude(enclosure: Enclosure, known: Known) -> bool:
    """Note which actions are possible in each node; whether that is less than before."""
    search = enclosure.search
    nodes = np.arange(search.size)
    before = search.follow(nodes)[0]
    possible = before & find_best(enclosure.compare(nodes))
    pairs = zip(search.places.tolist(), search.memories.tolist(), strict=True)
    known.update(zip(pairs, possible, strict=True))
    return bool(np.any(possible != before))
