"""How the variants were run: the configuration section of a report."""

from collections.abc import Iterable, Mapping

from temper.analysis.exposure import ExposureReport
from temper.analysis.models import PriceReport, ProofReport, VariantInfo
from temper.invocation import as_typed
from temper.report.document import Block, Bullets, Command, Detail, Section

_LABELS = {
    "kernel_release": "Linux",
    "package": "package",
    "image": "image",
    "image_hash": "image hash",
    "cmdline": "command line",
    "kernel_key": "kernel key",
    "config_hash": "config hash",
    "compiler": "compiler",
    "machine_version": "machine",
    "cpu_model": "CPU model",
    "cpu_lacks": "CPU features not emulated",
    "boots": "boots",
}


def configuration(
    report: PriceReport | ProofReport | ExposureReport,
) -> Iterable[Block]:
    """Say what the variants are, how they were run, and how to run them again."""
    titles = [f"{name}: {info.title}" for name, info in report.variants.items()]
    yield Section("Variants", [Bullets(titles)])
    shared = shared_settings(report.variants)
    settings = [f"{label}: {text}" for label, text in shared.items()]
    own = [
        f"{variant}: " + "; ".join(f"{label}: {text}" for label, text in found.items())
        for variant, found in _own_settings(report.variants).items()
        if found
    ]
    if isinstance(report, PriceReport) and report.packages:
        programs = (" ".join(package) for package in report.packages.items())
        settings.append(f"programs from: {', '.join(programs)}")
    yield Detail("Configuration and command lines", [Bullets([*settings, *own])])
    yield Section("To reproduce", [Command(as_typed(report.command))])


def shared_settings(variants: Mapping[str, VariantInfo]) -> dict[str, str]:
    """Return label -> value of the settings that all variants have in common."""
    return {
        label: values[0]
        for label, values in _settings(variants).items()
        if len(set(values)) == 1 and values[0]
    }


def _own_settings(variants: Mapping[str, VariantInfo]) -> dict[str, dict[str, str]]:
    """Return the settings that differ: variant -> label -> value.

    Every variant has an entry, without the settings that are unknown for it.
    """
    differing = {
        label: values
        for label, values in _settings(variants).items()
        if len(set(values)) > 1
    }
    return {
        variant: {label: values[i] for label, values in differing.items() if values[i]}
        for i, variant in enumerate(variants)
    }


def _settings(variants: Mapping[str, VariantInfo]) -> dict[str, list[str]]:
    return {
        label: [str(getattr(info, name)) for info in variants.values()]
        for name, label in _LABELS.items()
    }
