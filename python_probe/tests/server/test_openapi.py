"""openapi.yaml says what the code does: routes, verbs, rights, messages."""

import json
from importlib import resources

import pytest
import yaml
from jupyterlab_vram import wire
from jupyterlab_vram.server.routes import ENDS_PROCESSES, ROOT, handlers
from tornado.web import RequestHandler

SERVER = resources.files("jupyterlab_vram.server")
DOCUMENT = yaml.safe_load(SERVER.joinpath("openapi.yaml").read_text())
VERBS = ("get", "post", "put", "patch", "delete")


def references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(reference):
    file, _, pointer = reference.partition("#")
    node = json.loads(SERVER.joinpath(file).read_text()) if file else DOCUMENT
    for part in pointer.strip("/").split("/"):
        node = node[part]
    return node


def registered(jp_service):
    routes = {}
    for pattern, handler, _ in handlers(jp_service):
        path = pattern.removeprefix(ROOT).replace("([^/]+)", "{kernel_id}")
        routes[path] = {
            verb for verb in VERBS if getattr(handler, verb) is not getattr(RequestHandler, verb)
        }
    return routes


def test_every_route_is_described(service):
    described = {
        path: {verb for verb in item if verb in VERBS} for path, item in DOCUMENT["paths"].items()
    }
    assert described == registered(service)


@pytest.mark.parametrize("reference", sorted(set(references(DOCUMENT))))
def test_references_lead_somewhere(reference):
    assert resolve(reference)


def test_messages_are_the_wires():
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert resolve(schema["$ref"])["title"] == name
    documents = {document.__name__ for document in wire.DOCUMENTS}
    assert set(DOCUMENT["components"]["schemas"]) == documents


def test_rights_of_remedies_are_the_codes():
    remedies = DOCUMENT["paths"]["/kernels/{kernel_id}/remedies"]["post"]["x-right-by-remedy"]
    assert set(remedies) == set(wire.RemedyId.__args__)
    assert {remedy for remedy, right in remedies.items() if right == "write"} == ENDS_PROCESSES
    assert set(remedies.values()) == {"write", "execute"}
