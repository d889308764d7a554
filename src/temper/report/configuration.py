"""How the variants were run: the configuration section of a report."""

from collections.abc import Iterable, Mapping

from temper.analysis.models import PriceReport, ProofReport, VariantInfo
from temper.invocation import as_typed
from temper.report.document import Block, Bullets, Command, FinePrint, Section

_LABELS = {
    "cmdline": "command line",
    "kernel_release": "Linux",
    "kernel_key": "kernel key",
    "config_hash": "config hash",
    "compiler": "compiler",
    "machine_version": "machine",
    "cpu_model": "CPU model",
    "boots": "boots",
}


def configuration(report: PriceReport | ProofReport) -> Iterable[Block]:
    """Say how each variant was run, and how to run it again."""
    yield Section("Variants", [Bullets(_variant_lines(report.variants))])
    shared = shared_settings(report.variants)
    settings = [f"{label}: {text}" for label, text in shared.items()]
    own = [
        f"{variant}: " + "; ".join(f"{label}: {text}" for label, text in found.items())
        for variant, found in _own_settings(report.variants).items()
        if found
    ]
    reproduce = Section("To reproduce", [Command(as_typed(report.command))])
    yield FinePrint([Section("Configuration", [Bullets([*settings, *own])]), reproduce])


def _variant_lines(variants: Mapping[str, VariantInfo]) -> list[str]:
    return [
        f"{name}: {info.title} (Linux {info.kernel_release}: {info.cmdline})"
        for name, info in variants.items()
    ]


def shared_settings(variants: Mapping[str, VariantInfo]) -> dict[str, str]:
    """Return label -> value of the settings that all variants have in common."""
    return {
        label: values[0]
        for label, values in _settings(variants).items()
        if len(set(values)) == 1 and values[0]
    }


def _own_settings(variants: Mapping[str, VariantInfo]) -> dict[str, dict[str, str]]:
    """Return the settings that differ: variant -> label -> value.

    Every variant has an entry, and all entries have the same labels.
    """
    differing = {
        label: values
        for label, values in _settings(variants).items()
        if len(set(values)) > 1
    }
    return {
        variant: {label: values[i] for label, values in differing.items()}
        for i, variant in enumerate(variants)
    }


def _settings(variants: Mapping[str, VariantInfo]) -> dict[str, list[str]]:
    return {
        label: [str(getattr(info, name)) for info in variants.values()]
        for name, label in _LABELS.items()
    }
