"""Learning curves for TensorBoard, for those who live there."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from remanence.errors import MissingDependencyError
from remanence.training._train import Progress


class TensorBoardLog:
    """Writes what is known after each iteration, a TensorBoard run for each seed.

    Call it as `on_iteration`; it is a context manager that closes its files. A training that is
    resumed goes on in the same directory, and what was logged beyond its checkpoint is dropped.

    >>> from pathlib import Path
    >>> from remanence import training
    >>> with training.TensorBoardLog("logs", seeds=[1, 2]) as log:
    ...     log(training.Progress(1, 250, {"return": np.array([0.5, 1.0])}, seconds=0.1, steps=100))
    >>> sorted(path.name for path in Path("logs").iterdir())
    ['seed-1', 'seed-2']
    """

    def __init__(self, directory: str | Path, seeds: Sequence[int]):
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise MissingDependencyError("TensorBoard", "tensorboardX", "tensorboard") from error
        self._open = lambda seed, step: SummaryWriter(
            str(Path(directory) / f"seed-{seed}"), purge_step=step, write_to_disk=True
        )
        self._seeds = list(seeds)
        self._writers: list[SummaryWriter] = []

    def __call__(self, progress: Progress) -> None:
        if not self._writers:
            self._writers = [self._open(seed, progress.iteration) for seed in self._seeds]
        for index, writer in enumerate(self._writers):
            for name, values in progress.metrics.items():
                writer.add_scalar(name, float(values[index]), progress.iteration)

    def __enter__(self) -> "TensorBoardLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in self._writers:
            writer.close()
