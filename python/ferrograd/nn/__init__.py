"""Neural networks: functions now, modules later."""

from ferrograd.nn import functional as functional
