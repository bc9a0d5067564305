"""Recurrent PPO that trains dozens of seeds at once."""

from remanence.training._advantages import estimate_advantages as estimate_advantages
from remanence.training._cache import keep_compiled_programs as keep_compiled_programs
from remanence.training._cache import share_compiled_programs as share_compiled_programs
from remanence.training._config import PPOConfig as PPOConfig
from remanence.training._config import change_config as change_config
from remanence.training._description import describe_growth as describe_growth
from remanence.training._description import find_foreign as find_foreign
from remanence.training._engines import GIVEN_CORES as GIVEN_CORES
from remanence.training._engines import count_cores as count_cores
from remanence.training._left_out import read_hashes as read_hashes
from remanence.training._left_out import write_hashes as write_hashes
from remanence.training._limits import LARGEST_SEED as LARGEST_SEED
from remanence.training._limits import MOST_SEEDS as MOST_SEEDS
from remanence.training._limits import check_seeds as check_seeds
from remanence.training._limits import check_training as check_training
from remanence.training._presets import Cost as Cost
from remanence.training._presets import Preset as Preset
from remanence.training._presets import Setup as Setup
from remanence.training._presets import get_preset as get_preset
from remanence.training._presets import presets as presets
from remanence.training._presets import register_preset as register_preset
from remanence.training._run import RunDirectory as RunDirectory
from remanence.training._tensorboard import TensorBoardLog as TensorBoardLog
from remanence.training._train import Progress as Progress
from remanence.training._train import Training as Training
from remanence.training._train import train as train
