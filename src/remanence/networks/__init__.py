"""Encoder -> cell -> head: networks described by data, and agents made of them."""

from remanence.networks._agent import Agent as Agent
from remanence.networks._agent import check_fits as check_fits
from remanence.networks._agent import read_agent as read_agent
from remanence.networks._agent import read_origin as read_origin
from remanence.networks._architecture import Architecture as Architecture
from remanence.networks._architecture import architectures as architectures
from remanence.networks._architecture import make_architecture as make_architecture
from remanence.networks._architecture import register_architecture as register_architecture
from remanence.networks._initialization import INITIALIZATIONS as INITIALIZATIONS
from remanence.networks._initialization import check_initialization as check_initialization
from remanence.networks._network import Network as Network
from remanence.networks._network import make_networks as make_networks
from remanence.networks._network import make_policy as make_policy
from remanence.networks._network import make_value as make_value
from remanence.networks._parameters import ParameterCount as ParameterCount
from remanence.networks._parameters import count_parameters as count_parameters
