"""Novita's own SDK: it orders, polls in every state, downloads and reads the balance. Prints one line of JSON for each."""

import json

from novita_client import NovitaClient
from novita_client.exceptions import NovitaResponseError

from cases import KEY, URL

client = NovitaClient(KEY, URL)
ORDER = {"prompt": "a lighthouse", "size": "512*512"}


def followed(path, body):
    """Polls until the end. The SDK parses the fields of every state into integers."""
    states = []
    order = client._post(path, body)
    result = client.wait_for_task_v3(order["task_id"], callback=lambda told: states.append(told.task.status.name))
    assert states[-1] == "TASK_STATUS_SUCCEED", states
    return result


def image():
    result = followed("/v3/async/image-turbo", ORDER)
    result.download_images()
    assert len(result.images_encoded[0]) > 1_000


def wrapped_image():
    """Sends a body in the form that the SDK's own methods use."""
    wrapped = {"extra": {"response_image_type": "jpeg"}, "request": ORDER}
    assert followed("/v3/async/image-turbo", wrapped).get_image_urls()


def first_state():
    order = client._post("/v3/async/image-turbo", ORDER)
    told = client.async_task_result(order["task_id"])
    assert isinstance(told.extra.debug_info.complete_time_ms, int), told


def balance():
    assert client.user_info().credit_balance > 0


def wrong_key():
    try:
        NovitaClient("sk-tg-v1-wrong", URL).user_info()
    except NovitaResponseError as error:
        assert "401" in str(error), error
    else:
        raise AssertionError("no error was raised")


for case in (image, wrapped_image, first_state, balance, wrong_key):
    told = {"test": case.__name__, "outcome": "passed", "why": ""}
    try:
        case()
    except Exception as error:  # the raised error may be what the case is about
        told |= {"outcome": "failed", "why": f"{type(error).__name__}: {error}"[:600]}
    print(json.dumps(told), flush=True)
