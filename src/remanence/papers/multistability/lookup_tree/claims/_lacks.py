"""Claims about what today's parallelizable cells lack.

Their rules were written when a study had been run, those of all other files before.
"""

from remanence.figures import Columns, Tables, keep_rows, select_rows
from remanence.papers.multistability._judging import conclude
from remanence.papers.multistability.lookup_tree.claims._models import (
    FEW,
    LEARNED,
    NEARLY_OPTIMAL,
    NUMBERS,
    are_nearly_optimal,
    find_models,
    judge_by_sampling,
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


def judge_lack(tables: Tables, acting: str) -> Finding:
    """minGRUs that have learned the task, at every number of mazes."""
    models = find_models(tables, acting, *NUMBERS, model="mingru")
    able = keep_rows(models, models[f"return_{FEW}"] >= LEARNED)
    lasting = are_nearly_optimal(able, *NUMBERS)
    ours = (
        f"{say_share(lasting)} minGRUs that have {LEARNED:g} or more on {FEW} mazes have "
        f"{NEARLY_OPTIMAL:g} or more up to {NUMBERS[-1]:,}; of SSMs nothing is known"
    )
    return conclude(ours, not lasting.any(), able)


def judge_no_cell_has_both(tables: Tables) -> Finding:
    """Stability of minGRUs, which have transients; BMRUs have none, whatever they have learned."""
    mingru, bmru, hybrid = (_find_known(tables, model) for model in ("mingru", "bmru", "hybrid"))
    ours = (
        f"{say_count(mingru, 'stability', 'multistable')} minGRUs, which have transients, are "
        f"multistable ({say_count(bmru, 'stability', 'multistable')} BMRUs, which have none, and "
        f"{say_count(hybrid, 'stability', 'multistable')} hybrids, which are half of each, are); "
        "of SSMs nothing is known"
    )
    return conclude(ours, share(mingru, "stability", "multistable") == 0, mingru)


def _find_known(tables: Tables, model: str) -> Columns:
    return keep_known(select_rows(tables["agents"], model=model), "stability")


CLAIMS = {
    "lack": Claim(
        "We validate our theoretical findings experimentally on two POMDP environments, showing "
        "[…] that SSMs and linear gated RNNs indeed lack THG capacity.",
        f"no minGRU, the one linear gated cell that is trained, has a return of {NEARLY_OPTIMAL:g} "
        f"or more on 10, 100, 1,000 and 10,000 mazes, of at least five with {LEARNED:g} or more on "
        "10 (no SSM is trained, so of these it is not tested)",
        judge_by_sampling(judge_lack),
        brief="No minGRU that has learned lasts",
        overturned=AGREES,
        place="Introduction",
    ),
    "no-cell-has-both": Claim(
        "[…] no current parallelizable RNN exhibits both [multistability and transient dynamics].",
        "no minGRU is multistable; that a BMRU has no transients follows from its equations, and "
        "the hybrid is not one cell but two (no SSM and no other cell is trained, so of these it "
        "is not tested)",
        judge_no_cell_has_both,
        brief="No parallelizable cell has both regimes",
        overturned=AGREES,
        place="Abstract",
    ),
}
