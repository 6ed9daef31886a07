"""Derivatives against finite differences."""

from ferrograd._checking.error_report import (
    GradcheckReport as GradcheckReport,
    Mismatch as Mismatch,
)
from ferrograd._checking.gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
