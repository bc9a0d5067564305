"""Claims about models whose update is linear in the state: minGRU, deep minGRU, BMRU."""

import functools

import numpy as np

from remanence.figures import Columns, Tables, average_over, count_rows, keep_rows, select_rows
from remanence.report._claims import (
    CHANCE,
    FEWEST_COUNTED,
    LENGTH,
    Finding,
    compare_counts,
    conclude,
    count,
    know,
    register_claim,
    share,
    show,
    tell,
)
from remanence.report._tables import NO, TRAINED_LENGTHS, YES, find_agents

PLACE = "THG in parallelizable RNNs"
PAPER_LEARNED = {"tmaze-short": (90, 90), "tmaze-long": (23, 90)}
PAPER_MODELS = ("mingru", "deep-mingru", "bmru")
FAR = 1.0
_, LONGEST_SHORT = TRAINED_LENGTHS["tmaze-short"]


def judge_fewer_learn(tables: Tables) -> Finding:
    """Shares of both trainings that solve what they were trained on, of networks that had both."""
    short, long = _find_both(tables, parallelizable=True)
    short = keep_rows(short, np.isin(short["model"], long["model"]))
    long = keep_rows(long, np.isin(long["model"], short["model"]))
    agrees = share(long, "learned") < share(short, "learned")
    return conclude(_tell_learned(short, long), agrees, short, long)


def judge_learned_counts(tables: Tables) -> Finding:
    """Numbers of both trainings that solve what they were trained on, against the paper's."""
    both = _find_both(tables, parallelizable=True)
    groups = dict(zip(PAPER_LEARNED, both, strict=True))
    # The paper's counts are of as many models of each kind.
    kinds = [select_rows(models, model=model) for models in both for model in PAPER_MODELS]
    chances = [
        compare_counts(count(models, "learned"), count_rows(models), PAPER_LEARNED[preset])
        for preset, models in groups.items()
        if count_rows(models)
    ]
    words = _tell_learned(*groups.values()) + "".join(f"; p = {chance:.2g}" for chance in chances)
    agrees = min(chances, default=0) >= CHANCE
    return conclude(words, agrees, *kinds, fewest=FEWEST_COUNTED)


def judge_mingru_longer(tables: Tables) -> Finding:
    """minGRUs of both trainings at the longest maze."""
    models = _learned(find_agents(tables, model="mingru"))
    agrees = count(models, "outcome_longest", "solved") == 0
    words = f"of those that learned, {tell(models, 'outcome_longest', 'solved')} solve the longest"
    return conclude(words, agrees, models)


def judge_mingru_shorter(tables: Tables) -> Finding:
    """Long-trained minGRUs on mazes that are shorter than theirs."""
    models = _learned(find_agents(tables, preset="tmaze-long", model="mingru"))
    models = know(models, "solves_shorter")
    agrees = share(models, "solves_shorter", NO) > 0.5
    words = f"of those that learned, {tell(models, 'solves_shorter', NO)} fail on a shorter length"
    return conclude(words, agrees, models)


def judge_bmru_everywhere(tables: Tables) -> Finding:
    """BMRUs that solve what they were trained on, and their certificates."""
    groups = [know(_learned(models), "lasting") for models in _find_both(tables, model="bmru")]
    forever = [tell(models, "lasting", YES) for models in groups]
    agrees = all(share(models, "lasting", YES) == 1 for models in groups)
    words = (
        f"of those that learned, certified for every {LENGTH}: {forever[0]} short-trained, "
        f"{forever[1]} long-trained"
    )
    return conclude(words, agrees, *groups)


def judge_bmru_at_once(tables: Tables) -> Finding:
    """Transients of BMRUs under the corridor's observation."""
    models = find_agents(tables, model="bmru")
    models = keep_rows(models, ~np.isnan(models["transient"]))
    longest = models["transient"].max() if count_rows(models) else np.nan
    at_once = int(np.count_nonzero(models["transient"] <= 1))
    words = f"{at_once} of {count_rows(models)} settle within one step (slowest: {longest:g})"
    return conclude(words, at_once == count_rows(models), models)


def judge_kinds(tables: Tables) -> Finding:
    """Stability of minGRUs, deep ones included, and BMRUs."""
    linear = know(find_agents(tables, cell="mingru"), "stability")
    every_bmru = know(find_agents(tables, model="bmru"), "stability")
    bmru = _learned(every_bmru)
    agrees = share(linear, "stability", "monostable") == 1
    agrees = agrees and share(bmru, "stability", "bistable") == 1
    words = (
        f"{tell(linear, 'stability', 'monostable')} minGRUs are monostable; "
        f"{tell(bmru, 'stability', 'bistable')} BMRUs that learned are bistable "
        f"({tell(every_bmru, 'stability', 'bistable')} of all)"
    )
    return conclude(words, agrees, linear, bmru)


def judge_deep_better(tables: Tables) -> Finding:
    """Mean returns of small and deep minGRUs that learned, beyond their training's lengths."""
    groups = (find_agents(tables, preset="tmaze-short", model=it) for it in _MINGRUS)
    small, deep = (_learned(models) for models in groups)
    returns = _compare_returns(tables, small, deep)
    means = [float(np.mean(column)) for column in zip(*returns.values(), strict=True)]
    small_mean, deep_mean = means or [np.nan, np.nan]
    reach = f"lengths {min(returns, default=0):,} to {max(returns, default=0):,}"
    words = f"mean return at {reach}: {show(small_mean)} (small), {show(deep_mean)} (deep)"
    return conclude(words, 0 < deep_mean - small_mean < FAR, small, deep)


def judge_deep_lasting(tables: Tables) -> Finding:
    """How far small and deep minGRUs that learned remember, of lengths all were evaluated at."""
    groups = (find_agents(tables, preset="tmaze-short", model=it) for it in _MINGRUS)
    small, deep = (_learned(models) for models in groups)
    lengths = list(_compare_returns(tables, small, deep))
    reaches = [_measure_reach(tables, models, lengths) for models in (small, deep)]
    medians = [float(np.median(reach)) if len(reach) else np.nan for reach in reaches]
    shown = f"{show(medians[0], ',g')} (small), {show(medians[1], ',g')} (deep)"
    words = f"median length up to which all are solved: {shown}"
    return conclude(words, medians[1] > medians[0], small, deep)


def judge_deep_below(tables: Tables) -> Finding:
    """Deep minGRUs and BMRUs that learned, at the longest maze that both were evaluated at."""
    groups = (find_agents(tables, preset="tmaze-short", model=it) for it in _RIVALS)
    deep, bmru = (_learned(models) for models in groups)
    returns = _compare_returns(tables, deep, bmru)
    longest = max(returns, default=0)
    deep_return, bmru_return = returns.get(longest, [np.nan, np.nan])
    shown = f"{show(deep_return)} (deep minGRU), {show(bmru_return)} (BMRU)"
    words = f"return at length {longest:,}: {shown}"
    return conclude(words, bmru_return - deep_return >= FAR, deep, bmru)


def judge_simple_first(tables: Tables) -> Finding:
    """Bistable short-trained models against all long-trained ones, at length 100."""
    short, long = _find_both(tables)
    short = select_rows(short, stability="bistable")
    agrees = share(short, "outcome", "solved") > share(long, "outcome", "solved")
    parts = tell(short, "outcome", "solved"), tell(long, "outcome", "solved")
    words = (
        f"length 100 is solved by {parts[0]} short-trained bistable models, {parts[1]} long-trained"
    )
    return conclude(words, agrees, short, long)


_MINGRUS = ("mingru", "deep-mingru")
_RIVALS = ("deep-mingru", "bmru")


def _find_both(tables: Tables, **wanted: object) -> tuple[Columns, Columns]:
    return (
        find_agents(tables, preset="tmaze-short", **wanted),
        find_agents(tables, preset="tmaze-long", **wanted),
    )


def _learned(models: Columns) -> Columns:
    return select_rows(models, learned=True)


def _compare_returns(tables: Tables, *groups: Columns) -> dict[int, list[float]]:
    """The mean return of each group, at every length beyond 3 that all of them were evaluated at.

    Deep networks may have been evaluated at fewer lengths than small ones.
    """
    outcomes = tables["outcomes"]
    agents = _identify(outcomes)
    curves = []
    for models in groups:
        members = np.isin(agents, _identify(models)) & (outcomes["length"] > LONGEST_SHORT)
        lengths, means, _ = average_over(keep_rows(outcomes, members), "length", "return")
        curves.append(dict(zip(lengths.tolist(), means.tolist(), strict=True)))
    common = sorted(set.intersection(*map(set, curves)))
    return {length: [curve[length] for curve in curves] for length in common}


def _measure_reach(tables: Tables, models: Columns, lengths: list[int]) -> np.ndarray:
    """Of each agent, the last of some lengths up to which it solves all; 3 if not even the first.

    The models are such as solve lengths 1 to 3.
    """
    reaches = []
    for job, seed in zip(models["job"].tolist(), models["seed"].tolist(), strict=True):
        outcomes = select_rows(tables["outcomes"], job=job, seed=seed, outcome="solved")
        solved = np.isin(lengths, outcomes["length"])
        reaches.append([LONGEST_SHORT, *lengths][np.argmin([*solved, False])])
    return np.array(reaches)


def _identify(rows: Columns) -> np.ndarray:
    """Which agent each row is about, as words."""
    pairs = zip(rows["job"].tolist(), rows["seed"].tolist(), strict=True)
    return np.array([f"{job} {seed}" for job, seed in pairs], str)


def _tell_learned(short: Columns, long: Columns) -> str:
    parts = (tell(short, "learned"), tell(long, "learned"))
    return f"solve what they were trained on: {parts[0]} short-trained, {parts[1]} long-trained"


_register = functools.partial(register_claim, place=PLACE)

_register(
    "fewer-learn",
    "Fewer models solve the task when trained on long-horizon […] than on short horizon […]",
    "of networks that had both trainings, a smaller share of the long-trained models solves the "
    "lengths of its training",
    judge_fewer_learn,
    how_many=True,
)
_register(
    "learned-counts",
    "Fewer models solve the task when trained on long-horizon (23/90) than on short horizon "
    "(90/90).",
    "neither count differs from the paper's by more than chance (Fisher's exact test at 5%)",
    judge_learned_counts,
    how_many=True,
)
_register(
    "mingru-longer",
    "Monostable minGRU fails to generalize on […] longer mazes.",
    "no minGRU of either training that solves what it was trained on solves the longest maze",
    judge_mingru_longer,
)
_register(
    "mingru-shorter",
    "Monostable minGRU fails to generalize on […] shorter […] mazes.",
    "more than half of the long-trained minGRUs that solve length 100 fail on a shorter length",
    judge_mingru_shorter,
)
_register(
    "bmru-everywhere",
    "Multistable BMRU generalizes to all maze sizes in all conditions.",
    f"all BMRUs that solve what they were trained on are certified for every {LENGTH}",
    judge_bmru_everywhere,
)
_register(
    "bmru-at-once",
    "[BMRU] converges to equilibrium in a single timestep.",
    "both memories of every BMRU settle within one step of the corridor",
    judge_bmru_at_once,
)
_register(
    "kinds",
    "[…] minGRU as an example of parallelizable monostable RNN with transient dynamics and BMRU "
    "as an example of parallelizable bistable RNN […]",
    "all minGRUs are monostable, and all BMRUs that learned are bistable",
    judge_kinds,
    place="Experiments",
)
_register(
    "deep-lasting",
    "Monostable models such as minGRU can however create long-lasting fading memory if more "
    "neurons and more layers are used in the network […]",
    "of models that learned, the median length up to which all evaluated lengths are solved is "
    "larger for the deep one",
    judge_deep_lasting,
)
_register(
    "deep-better",
    "Increasing network size [deep minGRU] indeed slightly improves generalization capabilities",
    "of models that learned, the mean return beyond the training's lengths grows, by less than "
    f"{FAR:g}",
    judge_deep_better,
)
_register(
    "deep-below",
    "It remains significantly below the capabilities of the small multistable network, which "
    "achieves true THG.",
    "of models that learned, the BMRU's mean return is at least "
    f"{FAR:g} higher at the longest maze that both were evaluated at",
    judge_deep_below,
)
_register(
    "simple-first",
    "THG-capable models trained on simple tasks are better at solving more complex tasks than "
    "models directly trained on the more complex one.",
    "a larger share of the short-trained bistable models than of all long-trained ones solves "
    "length 100",
    judge_simple_first,
    place="Introduction",
    how_many=True,
)
