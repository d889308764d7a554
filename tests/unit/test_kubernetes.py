"""The manifests are valid, and say what belongs together.

No cluster runs them here. What pods would call is called with stand-ins, or parsed by
the program itself.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import kubernetes_validate
import pytest
import yaml
from distributed.cli import dask_scheduler, dask_worker
from distributed.security import Security
from test_documented_commands import check_temper

from temper.errors import BuildError, InfraError, InputError
from temper.paths import REPOSITORY

FOLDER = REPOSITORY / "docs" / "kubernetes"
VERSION = "1.33"
"""The first in which ``backoffLimitPerIndex`` is sure to be there."""
MADE_BY_HAND = {"temper-keys", "temper-store"}
"""Secrets, which docs/fleets.md has the reader make."""

Resource = dict[str, Any]


def resources(name: str) -> list[Resource]:
    return list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text("utf-8")))


def title(resource: Resource) -> str:
    return f"{resource['kind']} {resource['metadata']['name']}"


NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
ALL = [each for name in NAMES for each in resources(name)]
PODS = [each for each in ALL if "template" in each.get("spec", {})]


def named(name: str, kind: str, called: str) -> Resource:
    (found,) = [
        each
        for each in resources(name)
        if (each["kind"], each["metadata"]["name"]) == (kind, called)
    ]
    return found


def pod(resource: Resource) -> Resource:
    return resource["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def container(resource: Resource) -> Resource:
    (only,) = pod(resource)["containers"]
    return only  # type: ignore[no-any-return]


def called(resource: Resource) -> list[str]:
    only = container(resource)
    return [*only["command"], *only.get("args", [])]


@pytest.mark.parametrize("resource", ALL, ids=title)
def test_it_is_one_of_kubernetes(resource: Resource) -> None:
    assert kubernetes_validate.validate(resource, VERSION, strict=True) == VERSION


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("completion", 3),
        ("completions", "3"),
        ("template", {"spec": {"containers": [{}]}}),
    ],
)
def test_what_is_none_is_found(place: str, value: object) -> None:
    job = named("shards", "Job", "temper-shards")
    job["spec"][place] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, VERSION, strict=True)


@pytest.mark.parametrize("resource", PODS, ids=title)
def test_what_a_pod_mounts_is_there(resource: Resource) -> None:
    mounts = {each["name"] for each in container(resource)["volumeMounts"]}
    volumes = {each["name"]: each for each in pod(resource)["volumes"]}
    assert mounts == volumes.keys()
    there = {title(each) for each in ALL} | {f"Secret {each}" for each in MADE_BY_HAND}
    assert set(referred(resource)) <= there


def referred(resource: Resource) -> Iterator[str]:
    for volume in pod(resource)["volumes"]:
        if "configMap" in volume:
            yield f"ConfigMap {volume['configMap']['name']}"
        if "secret" in volume:
            yield f"Secret {volume['secret']['secretName']}"
        if claim := volume.get("persistentVolumeClaim"):
            yield f"PersistentVolumeClaim {claim['claimName']}"
    for source in container(resource).get("envFrom", []):
        yield f"Secret {source['secretRef']['name']}"


def test_the_document_makes_the_secrets() -> None:
    text = (REPOSITORY / "docs" / "fleets.md").read_text(encoding="utf-8")
    for name in MADE_BY_HAND:
        assert f"kubectl create secret generic {name} " in text
    for name in NAMES:
        assert f"kubectl apply -f docs/kubernetes/{name}.yaml" in text


@pytest.mark.parametrize("resource", PODS, ids=title)
def test_a_deployment_has_its_own_pods(resource: Resource) -> None:
    labels = resource["spec"]["template"]["metadata"]["labels"]
    same = [
        each
        for each in PODS
        if each["spec"]["template"]["metadata"]["labels"] == labels
    ]
    assert same == [resource]
    if resource["kind"] == "Deployment":
        assert resource["spec"]["selector"]["matchLabels"] == labels


@pytest.mark.parametrize("called", ["shards", "price"])
def test_only_what_may_end_otherwise_is_tried_again(called: str) -> None:
    (job,) = [each for each in ALL if title(each) == f"Job temper-{called}"]
    (rule,) = job["spec"]["podFailurePolicy"]["rules"]
    final = set(rule["onExitCodes"]["values"])
    assert final >= {InputError.exit_code, BuildError.exit_code}
    assert InfraError.exit_code not in final
    # A shard has no report, so none that is unwelcome.
    assert (1 in final) == (called == "price")


def test_both_have_the_same_claim() -> None:
    claims = [named(name, "PersistentVolumeClaim", "temper-results") for name in NAMES]
    assert claims[0] == claims[1]


def test_each_index_makes_its_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = named("shards", "Job", "temper-shards")
    stand_in = tmp_path / "temper"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$TEMPER_DATA" "$@"\n')
    stand_in.chmod(0o755)
    count = job["spec"]["completions"]
    for index in range(count):
        done = subprocess.run(
            called(job),
            cwd=tmp_path,
            env={**os.environ, "JOB_COMPLETION_INDEX": str(index)},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        data, *words = done.stdout.splitlines()
        assert data == f"/results/{index}"
        assert words[-2:] == ["--shard", f"{index + 1}/{count}"]
        check_temper(words, monkeypatch)


def test_all_meet_at_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    service = named("workers", "Service", "temper-scheduler")
    scheduler = named("workers", "Deployment", "temper-scheduler")
    worker = named("workers", "Deployment", "temper-workers")
    price = named("workers", "Job", "temper-price")
    (port,) = service["spec"]["ports"]
    address = f"tls://{service['metadata']['name']}:{port['port']}"
    labels = scheduler["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert container(scheduler)["ports"][0]["containerPort"] == port["port"]

    _dask, _scheduler, *words = called(scheduler)
    given = dask_scheduler.main.make_context("scheduler", words).params
    assert (given["port"], given["protocol"]) == (str(port["port"]), "tls")
    assert given["dashboard_address"] == "127.0.0.1:8787"

    _dask, _worker, *words = called(worker)
    given = dask_worker.main.make_context("worker", words).params
    assert given["scheduler"] == address
    assert given["preload"] == ("temper.run.worker",)
    assert given["nthreads"] == int(container(worker)["resources"]["limits"]["cpu"])
    assert given["dashboard_address"].startswith("127.0.0.1:")

    program, *words = called(price)
    assert program == "./temper"
    assert words[-2:] == ["--on", address]
    check_temper(words, monkeypatch)


def test_dask_demands_the_key(tmp_path: Path) -> None:
    data = named("workers", "ConfigMap", "temper-dask")["data"]
    for name, text in data.items():
        (tmp_path / name).write_text(text)
    (settings,) = dask.config.collect_yaml([str(tmp_path)])
    for resource in PODS:
        mounts = {each["mountPath"] for each in container(resource)["volumeMounts"]}
        talks = title(resource) != "Job temper-shards"
        assert (mounts >= {"/keys", "/etc/dask"}) == talks
    with dask.config.set(dask.config.merge(dask.config.config, settings)):
        security = Security()
    assert security.require_encryption
    for role in ("client", "scheduler", "worker"):
        found = security.get_tls_config_for_role(role)
        assert found["ca_file"] == found["cert"] == "/keys/cert.pem"
        assert found["key"] == "/keys/key.pem"
