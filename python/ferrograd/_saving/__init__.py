"""Saving and loading: trees of tensors, and whole states of training."""

from ferrograd._saving.files import load as load, save as save
from ferrograd._saving.state import load_state as load_state, save_state as save_state
