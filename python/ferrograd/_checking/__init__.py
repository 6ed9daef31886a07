"""Derivatives against finite differences."""

from ferrograd._checking.check import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from ferrograd._checking.report import GradcheckReport as GradcheckReport, Mismatch as Mismatch
