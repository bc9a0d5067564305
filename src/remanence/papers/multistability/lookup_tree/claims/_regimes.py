"""Claims of abstract, introduction and discussion, as far as they are about this environment."""

import numpy as np

from remanence.figures import Columns, Tables, count_rows, keep_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.lookup_tree.claims._models import (
    FEW,
    LEARNED,
    MANY,
    MUCH,
    MULTISTABLE,
    NEARLY_OPTIMAL,
    NUMBERS,
    are_more,
    are_nearly_optimal,
    find_models,
    judge_by_sampling,
    keep_multistable,
)
from remanence.report import (
    AGREES,
    Claim,
    Finding,
    keep_known,
    say_count,
    say_share,
    share,
)


def judge_necessary(tables: Tables, acting: str) -> Finding:
    """Monostable models of any cell on 10,000 mazes."""
    models = find_models(tables, acting, MANY, stability="monostable")
    lasting = are_nearly_optimal(models, MANY)
    ours = f"{say_share(lasting)} monostable models have {NEARLY_OPTIMAL:g} or more"
    return conclude(ours, not lasting.any(), models)


def judge_fails(tables: Tables, acting: str) -> Finding:
    """Stability of minGRUs, and what those lose that have learned."""
    models = keep_known(find_models(tables, acting, FEW, MANY, model="mingru"), "stability")
    able = keep_rows(models, models[f"return_{FEW}"] >= LEARNED)
    fails = able[f"return_{FEW}"] - able[f"return_{MANY}"] >= MUCH
    ours = (
        f"{say_count(models, 'stability', 'monostable')} minGRUs are monostable; "
        f"{say_share(fails)} that have {LEARNED:g} or more on {FEW} mazes lose {MUCH:g} or "
        f"more by {MANY:,}"
    )
    agrees = share(models, "stability", "monostable") == 1 and fails.all()
    return conclude(ours, agrees, models, able)


def judge_exploit(tables: Tables, acting: str) -> Finding:
    """The VAA of nonlinear models that are nearly optimal at every number of mazes."""
    models = find_models(tables, acting, *NUMBERS, parallelizable=False)
    lasting = keep_rows(models, are_nearly_optimal(models, *NUMBERS))
    lasting = keep_rows(lasting, np.isfinite(lasting["vaa"]))
    ours = (
        f"{say_share(are_nearly_optimal(models, *NUMBERS))} nonlinear models have "
        f"{NEARLY_OPTIMAL:g} or more up to {MANY:,} mazes, and "
        f"{say_share(lasting['vaa'] >= MULTISTABLE)} of them a VAA of {MULTISTABLE:g} or more"
    )
    agrees = count_rows(keep_multistable(lasting)) == count_rows(lasting)
    # If nobody lasts, nobody exploits anything; with a few, one cannot tell.
    groups = (models, lasting) if count_rows(lasting) else (models,)
    return conclude(ours, agrees and count_rows(lasting) > 0, *groups)


def judge_transients(tables: Tables, acting: str) -> Finding:
    """Multistable models with transients and without, that last."""
    models = keep_multistable(find_models(tables, acting, *NUMBERS))
    groups = _split_by_transients(models)
    able = [are_nearly_optimal(group, *NUMBERS) for group in groups]
    more, chance = are_more(*able)
    ours = (
        f"{say_share(able[0])} with transients (GRU, BRC, nBRC, hybrid) and {say_share(able[1])} "
        f"without (BMRU); p = {chance:.2g}"
    )
    return conclude(ours, more, *groups)


def _split_by_transients(models: Columns) -> tuple[Columns, Columns]:
    """Those whose memories take time to settle, and BMRUs, whose memories do not."""
    return keep_rows(models, models["model"] != "bmru"), select_rows(models, model="bmru")


CLAIMS = {
    "necessary": Claim(
        "Our analyses reveal that multistability is necessary for temporal horizon generalization "
        "[…]",
        f"no monostable model, whatever its cell, has a return of {NEARLY_OPTIMAL:g} or more on "
        "10,000 mazes",
        judge_by_sampling(judge_necessary),
        brief="No monostable model is good on 10,000 mazes",
        overturned=AGREES,
        place="Abstract; similarly in the discussion",
    ),
    "transients-required": Claim(
        "[…] more complex tasks further require transient dynamics.",
        f"of models with a VAA of {MULTISTABLE:g} or more, a larger share of those with transients "
        f"than of BMRUs has a return of {NEARLY_OPTIMAL:g} or more on 10, 100, 1,000 and 10,000 "
        "mazes, by more than chance (Fisher's exact test at 5%)",
        judge_by_sampling(judge_transients),
        brief="Multistable models need transients too",
        place="Abstract",
    ),
    "monostable-fail": Claim(
        "[…] modern parallelizable architectures, namely state space models and gated linear RNNs, "
        "are monostable by construction and consequently fail to generalize across temporal "
        "horizons.",
        f"all minGRUs are monostable, and each with a return of {LEARNED:g} or more on 10 mazes "
        f"at least {MUCH:g} less on 10,000, a quarter of what lies between a coin flip and the "
        "best return (no SSM is trained)",
        judge_by_sampling(judge_fails),
        brief="minGRU is monostable, and fails",
        overturned=AGREES,
        place="Abstract",
    ),
    "exploit": Claim(
        "We validate our theoretical findings experimentally on two POMDP environments, showing "
        "that nonlinear RNNs exploit multistability to reach THG […]",
        f"there are nonlinear models with a return of {NEARLY_OPTIMAL:g} or more on 10, 100, 1,000 "
        f"and 10,000 mazes, and all of them have a VAA of {MULTISTABLE:g} or more",
        judge_by_sampling(judge_exploit),
        brief="Nonlinear models that last are multistable",
        place="Introduction",
    ),
}
