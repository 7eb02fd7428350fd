"""The examples of work pools in `deploy/`: what Prefect makes of them is what the engines take."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from prefect.utilities.templating import apply_values

DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = "1.33"
"""The first with `hostUsers` for everybody."""
RUN = {"name": "runs", "command": ["prefect", "flow-run", "execute"], "labels": {"prefect.io/flow-run-name": "runs"}}
"""What Prefect gives a flow run; all else has a default."""


@pytest.mark.parametrize("name", ["docker-pool.json", "kubernetes-pool.json"])
def test_each_variable_has_a_place_and_each_place_a_variable(name: str) -> None:
    template = _template(name)
    named = set(re.findall(r"{{ ([a-z_]+) }}", json.dumps(template["job_configuration"])))
    variables = template["variables"]
    assert named == set(variables["properties"])
    Draft202012Validator.check_schema(variables)
    Draft202012Validator(variables).validate(_defaults(template))


def test_no_secret_stands_in_a_template() -> None:
    for file in DEPLOY.iterdir():
        assert not re.search(r"postgresql://\w|s3://\w|AWS_SECRET_ACCESS_KEY[=:] ?\w", file.read_text())


def test_a_job_of_the_kubernetes_pool_is_one() -> None:
    made = apply_values(_template("kubernetes-pool.json")["job_configuration"]["job_manifest"], _values())
    # As the worker has it: names and values, in place of an object.
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": name, "value": value} for name, value in container["env"].items()]
    _valid(made)


def test_the_worker_of_the_kubernetes_pool_is_one() -> None:
    kinds = [one["kind"] for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "Deployment"]
    for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()):
        _valid(one)


def test_every_worker_and_job_brings_the_password_and_an_inbox() -> None:
    """Prefect asks for no password unless it is told one; a worker refuses such a server (flows/deployments.py)."""
    worker = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))[-1]
    (container,) = worker["spec"]["template"]["spec"]["containers"]
    known = {one["name"]: one.get("valueFrom") for one in container["env"]}
    assert known["PREFECT_API_AUTH_STRING"] == {"secretKeyRef": {"name": "swt", "key": "PREFECT_API_AUTH_STRING"}}
    inbox = re.search(r"SWT_INBOX=(\S+)", (DEPLOY.parent / "Dockerfile").read_text())
    assert inbox is not None
    for name in ("docker-pool.json", "kubernetes-pool.json"):
        assert inbox[1] in (DEPLOY / name).read_text()
        assert "SWT_OPEN_SERVER" not in (DEPLOY / name).read_text()


def _valid(manifest: Any) -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    schemas.validate(manifest, KUBERNETES, strict=True)


def _template(name: str) -> dict[str, Any]:
    template: dict[str, Any] = json.loads((DEPLOY / name).read_text())
    return template


def _defaults(template: dict[str, Any]) -> dict[str, Any]:
    return {name: one["default"] for name, one in template["variables"]["properties"].items() if "default" in one}


def _values() -> dict[str, Any]:
    return _defaults(_template("kubernetes-pool.json")) | RUN
