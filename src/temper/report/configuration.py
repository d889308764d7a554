"""How the variants were run, for the configuration part of a report."""

from collections.abc import Mapping

from temper.record.boot import StoredRun
from temper.report.models import VariantInfo

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


def variant_infos(run: StoredRun) -> dict[str, VariantInfo]:
    """Return how each variant of a run was run, by its first boot."""
    infos = {}
    for variant in dict.fromkeys([run.plan.baseline, *run.plan.variants]):
        facts = [b.facts for b in run.boots if b.facts.variant == variant]
        if not facts:
            continue
        infos[variant] = VariantInfo(
            title=run.plan.variants[variant].title,
            cmdline=facts[0].machine.cmdline,
            cpu_model=facts[0].machine.cpu_model,
            machine_version=facts[0].machine.version,
            kernel_release=facts[0].release,
            kernel_key=facts[0].kernel.key,
            config_hash=facts[0].kernel.config_hash,
            compiler=facts[0].kernel.compiler,
            boots=sum(fact.status == "ok" for fact in facts),
        )
    return infos


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
