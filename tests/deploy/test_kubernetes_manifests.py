"""The manifests against the schemas of Kubernetes and of the operator; no cluster is needed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import kubernetes_validate
import pytest
import yaml

from jobs.cluster.certificates import AUTHORITY, CertificateRole
from tests.support import DATA
from tests.support.cluster.command_lines import DEPLOY, changed, not_taken, schema_errors

FOLDER = DEPLOY / "kubernetes"
# A definition of the operator, and what kubectl reads by itself.
NOT_BUILT_IN = ("cluster.yaml", "kustomization.yaml")
SCHEMA = DATA / "kubernetes/daskcluster_2026_3_0.json"
Document = dict[str, Any]


def strict(schema: Any) -> Any:
    """Unknown fields are errors; a server would drop them without a word."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


FACTS = json.loads(SCHEMA.read_text())
CLUSTER_SCHEMA = strict({name: FACTS[name] for name in ("$defs", "type", "properties")})
# The server knows these itself; the definition has to leave them out.
CLUSTER_SCHEMA["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
POD_SCHEMA = CLUSTER_SCHEMA["$defs"]["pod"]


@pytest.fixture
def cluster() -> Document:
    return yaml.safe_load((FOLDER / "cluster.yaml").read_text())


def documents(path: Path) -> list[Document]:
    return list(yaml.safe_load_all(path.read_text()))


def night() -> Document:
    (found,) = (each for each in documents(FOLDER / "nightly.yaml") if each["kind"] == "CronJob")
    return found


@pytest.fixture
def nightly() -> Document:
    return night()


@pytest.fixture
def kustomization() -> Document:
    return yaml.safe_load((FOLDER / "kustomization.yaml").read_text())


def pods() -> Iterator[Any]:
    spec = yaml.safe_load((FOLDER / "cluster.yaml").read_text())["spec"]
    yield pytest.param(spec["scheduler"]["spec"], CertificateRole.SCHEDULER, id="scheduler")
    yield pytest.param(spec["worker"]["spec"], CertificateRole.HOST, id="host")
    job = night()["spec"]["jobTemplate"]
    yield pytest.param(
        job["spec"]["template"]["spec"], CertificateRole.CONTROLLER, id="controller"
    )


def built_in() -> Iterator[Any]:
    """What Kubernetes knows by itself, of all manifests."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for each in documents(path) if path.name not in NOT_BUILT_IN else ():
            yield pytest.param(each, id=f"{path.stem}-{each['kind']}")


@pytest.mark.parametrize("release", ["1.27", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("document", list(built_in()))
def test_a_manifest_is_what_kubernetes_takes(document: Document, release: str) -> None:
    """Strictly: a field that is unknown is an error. Of 1.27, where time zones came to stay."""
    kubernetes_validate.validate(document, release, strict=True)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("spec.timezone", "Etc/UTC"),
        ("spec.jobTemplate.spec.restartPolicy", "Never"),
        ("spec.schedule", None),
    ],
)
def test_a_manifest_that_is_spoilt_is_refused(
    nightly: Document, place: str, value: object
) -> None:
    latest, spoilt = kubernetes_validate.latest_version(), changed(nightly, place, value)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(spoilt, latest, strict=True)


def test_what_is_found_outlives_the_pod(nightly: Document) -> None:
    pod = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (controller,) = pod["containers"]
    (out,) = (each for each in controller["args"] if each.startswith("--out="))
    (mount,) = (
        each
        for each in controller["volumeMounts"]
        if PurePosixPath(out.removeprefix("--out=")).is_relative_to(each["mountPath"])
    )
    (volume,) = (each for each in pod["volumes"] if each["name"] == mount["name"])
    (claim,) = (
        each
        for each in documents(FOLDER / "nightly.yaml")
        if each["kind"] == "PersistentVolumeClaim"
    )
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_there_is_one_nightly_job_and_the_pages_show_no_other() -> None:
    pages = (DEPLOY.parent / "docs").rglob("*.md")
    assert not [page for page in pages if re.search(r"^kind: CronJob", page.read_text(), re.M)]
    page = DEPLOY.parent / "docs/how-to/deploy.md"
    assert "deploy/kubernetes/nightly.yaml" in page.read_text()


def test_the_cluster_is_what_the_operator_takes(cluster: Document) -> None:
    assert cluster["apiVersion"] == f"{FACTS['group']}/{FACTS['version']}"
    assert cluster["kind"] == FACTS["kind"]
    assert schema_errors(CLUSTER_SCHEMA, cluster) == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("spec.worker.spec.volumes.0.secrets", {}),
        ("spec.scheduler.service", None),
        ("spec.worker.replicas", "two"),
    ],
)
def test_the_schema_finds_mistakes(cluster: Document, place: str, value: object) -> None:
    assert len(schema_errors(CLUSTER_SCHEMA, changed(cluster, place, value))) == 1


@pytest.mark.parametrize(("pod", "role"), list(pods()))
def test_a_pod_is_well_formed_and_what_it_runs_is_a_command_of_ours(
    pod: Document, role: CertificateRole, kustomization: Document
) -> None:
    assert schema_errors(POD_SCHEMA, pod) == []
    (container,) = pod["containers"]
    assert not_taken(container["args"]) == []
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    (secret,) = (volume["secret"] for volume in pod["volumes"] if "secret" in volume)
    assert secret["defaultMode"] & 0o007 == 0  # or our own check refuses the key
    (files,) = (
        each["files"]
        for each in kustomization["secretGenerator"]
        if each["name"] == secret["secretName"]
    )
    assert files == [f"certificates/{AUTHORITY}", f"certificates/{role.file}"]
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_hosts_are_one_on_a_node_with_processors_of_their_own(cluster: Document) -> None:
    pod = cluster["spec"]["worker"]["spec"]
    (term,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    # The label that the operator gives every worker's pod.
    assert term["labelSelector"]["matchLabels"] == {"dask.org/component": "worker"}
    (container,) = pod["containers"]
    resources = container["resources"]
    assert resources["requests"] == resources["limits"]
    assert resources["requests"]["cpu"].isdigit()
    (bench,) = (each["value"] for each in container["env"] if each["name"] == "ROCKTUNE_BENCH_DIR")
    assert bench in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_all_reach_the_scheduler_by_the_name_that_the_operator_gives_it(
    cluster: Document, nightly: Document
) -> None:
    service = f"{cluster['metadata']['name']}-scheduler"
    (port,) = (each["port"] for each in cluster["spec"]["scheduler"]["service"]["ports"])
    address = f"tls://{service}:{port}"
    assert f"--scheduler={address}" in cluster["spec"]["worker"]["spec"]["containers"][0]["args"]
    (controller,) = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "ROCKTUNE_SCHEDULER", "value": address} in controller["env"]


def test_a_night_is_not_run_twice_and_goes_on_where_it_was_stopped(nightly: Document) -> None:
    assert nightly["spec"]["concurrencyPolicy"] == "Forbid"
    (controller,) = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert "--resume" in controller["args"]


def test_all_that_is_named_is_there_and_no_key_is(kustomization: Document) -> None:
    named = {*kustomization["resources"], *kustomization["configMapGenerator"][0]["files"]}
    assert named | {"kustomization.yaml"} == {path.name for path in FOLDER.iterdir()}
    assert AUTHORITY.replace(".pem", ".key") not in json.dumps(kustomization)
