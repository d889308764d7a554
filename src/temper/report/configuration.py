"""How the variants were run, for the configuration part of a report."""

from collections.abc import Mapping

from temper.analysis.models import VariantInfo

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


def shared_settings(variants: Mapping[str, VariantInfo]) -> dict[str, str]:
    """Return the settings that all variants have in common, by label."""
    return {
        label: values[0]
        for label, values in _settings(variants).items()
        if len(set(values)) == 1 and values[0]
    }


def own_settings(variants: Mapping[str, VariantInfo]) -> dict[str, dict[str, str]]:
    """Return the settings that differ: variant -> label -> value.

    Every variant has an entry, and every entry the same labels.
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
