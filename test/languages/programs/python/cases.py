"""The requests of every client, and the report of their results: one line of JSON for each case."""

import json
import os

URL = os.environ["TOLLGATE_URL"]
KEY = os.environ["TOLLGATE_KEY"]
EMPTY_KEY = os.environ["TOLLGATE_EMPTY_KEY"]
#: Ids of simulated models begin with it.
FAMILY = os.environ["TOLLGATE_FAMILY"]
ASK = "What is the weather in Paris?"
#: Longer than the context of any model here.
TOO_LONG = "word " * 120_000
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def model(name):
    return f"{FAMILY}/{name}"


def told(error):
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    return {
        "status": getattr(error, "status_code", None),
        "code": inner.get("code") if isinstance(inner, dict) else None,
        "message": f"{type(error).__name__}: {error}"[:300],
    }


def recognized(play, *classes):
    """A rejection with its own exception class in the client, so that programs can handle it."""
    def case():
        try:
            return play()
        except classes as error:
            return {"recognized": type(error).__name__}
    return case


def run(cases):
    for name, case in cases.items():
        try:
            seen = case()
        except Exception as error:  # the raised error may be what the case is about
            seen = {"error": told(error)}
        print(json.dumps({"case": name, **seen}), flush=True)
