"""The manifests in mpi_launch/kubernetes are what Kubeflow's models take: every field is one of theirs, and of its type.

    kubernetes_job.py
"""
import copy
import json
import pathlib
import sys
import types

import yaml
from kubeflow.training import KubeflowOrgV1MPIJob, KubeflowOrgV1PyTorchJob, models
from kubernetes.client import ApiClient
from kubernetes.client import models as kubernetes_models

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "mpi_launch" / "kubernetes"
JOBS = {"mpijob.yaml": KubeflowOrgV1MPIJob, "pytorchjob.yaml": KubeflowOrgV1PyTorchJob}
CLIENT = ApiClient()


def kind_named(name):
    return getattr(models, name, None) or getattr(kubernetes_models, name)


def wrong_fields(value, kind, at):
    """The places in a manifest that a model does not have, or has with another type."""
    if kind.startswith("list["):
        fine = isinstance(value, list)
        return [each for item in value for each in wrong_fields(item, kind[5:-1], at + "[]")] if fine else [at]
    if kind.startswith("dict("):
        fine = isinstance(value, dict)
        return [each for name, item in value.items() for each in wrong_fields(item, kind[9:-1].strip(), f"{at}.{name}")] if fine else [at]
    if kind in ("str", "int", "bool", "float"):
        return [] if type(value).__name__ == kind else [f"{at} is no {kind}"]
    if kind == "object":
        return []
    model = kind_named(kind)
    names = {of_json: name for name, of_json in model.attribute_map.items()}
    found = [f"{at}.{name} is unknown" for name in value if name not in names]
    return found + [each for name, item in value.items() if name in names
                    for each in wrong_fields(item, model.openapi_types[names[name]], f"{at}.{name}")]


def read(manifest, model):
    """The manifest as the client reads it from the server, or an exit if a field is missing or wrong."""
    if wrong := wrong_fields(manifest, model.__name__, manifest["kind"]):
        sys.exit(f"kubernetes: {wrong}")
    answer = types.SimpleNamespace(data=json.dumps(manifest))
    CLIENT.configuration.client_side_validation = True
    return CLIENT.deserialize(answer, model)


def hold_refused(manifest, model):
    """The check can fail: a misspelt field is found, and one of another type."""
    spelt = copy.deepcopy(manifest)
    specs = next(value for name, value in spelt["spec"].items() if name.endswith("ReplicaSpecs"))
    specs["Worker"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    typed = copy.deepcopy(manifest)
    next(value for name, value in typed["spec"].items() if name.endswith("ReplicaSpecs"))["Worker"]["replicas"] = "4"
    for wrong in (spelt, typed):
        if len(wrong_fields(wrong, model.__name__, "job")) != 1:
            sys.exit("kubernetes: a wrong manifest is not found wrong")


def main():
    for module in (models,):  # the client looks models up by name among Kubernetes' own
        for name in dir(module):
            if name.startswith("KubeflowOrg"):
                setattr(kubernetes_models, name, getattr(module, name))
    if {file.name for file in FOLDER.glob("*.yaml")} != JOBS.keys():
        sys.exit(f"kubernetes: {FOLDER} holds other manifests")
    for name, model in JOBS.items():
        manifest = yaml.safe_load((FOLDER / name).read_text())
        hold_refused(manifest, model)
        job = read(manifest, model)
        if CLIENT.sanitize_for_serialization(job) != manifest:
            sys.exit(f"kubernetes: {name} comes back as another one:\n{CLIENT.sanitize_for_serialization(job)}")
        print(f"  {name} is a {model.__name__}, and comes back from it unchanged")


main()
