"""How the variants of a run were run, and on which hosts."""

from temper.analysis.models import VariantInfo
from temper.record.boot import CPU_LACKS, StoredRun


def variant_infos(run: StoredRun) -> dict[str, VariantInfo]:
    """Return variant -> how it was run, according to its first boot."""
    infos = {}
    for variant in dict.fromkeys([run.plan.baseline, *run.plan.variants]):
        facts = [b.facts for b in run.boots if b.facts.variant == variant]
        if not facts:
            continue
        infos[variant] = VariantInfo(
            title=run.plan.variants[variant].title,
            cmdline=facts[0].machine.cmdline,
            cpu_model=facts[0].machine.cpu_model,
            cpu_lacks=facts[0].machine.details.get(CPU_LACKS, ""),
            machine_version=facts[0].machine.version,
            kernel_release=facts[0].release,
            kernel_key=facts[0].kernel.key,
            config_hash=facts[0].kernel.config_hash,
            compiler=facts[0].kernel.compiler,
            package=facts[0].kernel.package,
            image=facts[0].kernel.image,
            image_hash=facts[0].kernel.image_hash,
            boots=sum(fact.status == "ok" for fact in facts),
        )
    return infos


def hosts(run: StoredRun) -> list[str]:
    """Name the hosts that the boots of a run ran on; empty if none was recorded."""
    named = (boot.facts.machine.details.get("host", "") for boot in run.boots)
    return list(dict.fromkeys(host for host in named if host))
