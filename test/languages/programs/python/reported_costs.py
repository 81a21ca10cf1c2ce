"""783 calls of every kind by both SDKs: the account is charged what they report, at the published prices."""

import json
import random
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import anthropic
import openai

from cases import KEY, URL

CALLS = 783
random.seed(CALLS)
# calls beyond the limit per minute are retried after Retry-After
chats = openai.OpenAI(base_url=f"{URL}/api/v1", api_key=KEY, max_retries=20)
messages = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=20)


def read(path):
    request = urllib.request.Request(URL + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer, parse_float=Decimal)["data"]


PRICES = {one["id"]: {name: Decimal(price) for name, price in one["pricing"].items()} for one in read("/api/v1/models")}


def cost(model, fresh, cached, written, output):
    price = PRICES[model]
    of = lambda name, tokens: price.get(name, price["prompt"]) * (tokens or 0)
    return (
        of("prompt", fresh)
        + of("input_cache_read", cached)
        + of("input_cache_write", written)
        + price["completion"] * output
    )


def of_chat(model, usage):
    details = usage.prompt_tokens_details
    cached, written = details.cached_tokens or 0, getattr(details, "cache_write_tokens", 0) or 0
    told = cost(model, usage.prompt_tokens - cached - written, cached, written, usage.completion_tokens)
    assert told == Decimal(str(usage.cost)), (told, usage)
    return told


def of_responses(model, usage):
    cached = usage.input_tokens_details.cached_tokens
    return cost(model, usage.input_tokens - cached, cached, 0, usage.output_tokens)


def of_messages(model, usage):
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return cost(model, usage.input_tokens, read, written, usage.output_tokens)


def chat(model, ask):
    return of_chat(model, chats.chat.completions.create(model=model, messages=ask).usage)


def chat_stream(model, ask):
    chunks = list(
        chats.chat.completions.create(model=model, messages=ask, stream=True, stream_options={"include_usage": True})
    )
    return of_chat(model, chunks[-1].usage)


def response(model, ask):
    return of_responses(model, chats.responses.create(model=model, input=ask, store=False).usage)


def response_stream(model, ask):
    events = list(chats.responses.create(model=model, input=ask, store=False, stream=True))
    return of_responses(model, events[-1].response.usage)


def message(model, ask):
    return of_messages(model, messages.messages.create(model=model, messages=ask, max_tokens=300).usage)


def message_stream(model, ask):
    with messages.messages.stream(model=model, messages=ask, max_tokens=300) as events:
        return of_messages(model, events.get_final_message().usage)


def embedding(_model, ask):
    told = chats.embeddings.create(model="tollgate/embed", input=ask[0]["content"])
    return PRICES["tollgate/embed"]["prompt"] * told.usage.prompt_tokens


def refused(model, ask):
    try:
        chats.chat.completions.create(model=model, messages=ask, temperature=9)
    except openai.BadRequestError:
        return Decimal(0)
    raise AssertionError("a temperature of 9 was accepted")


def failing(model, ask):
    try:
        chats.with_options(max_retries=0).chat.completions.create(model=model.replace("varied", "failing"), messages=ask)
    except openai.InternalServerError:
        return Decimal(0)
    except openai.RateLimitError:
        return Decimal(0)
    raise AssertionError("a failing model answered")


KINDS = [chat, chat_stream, response, response_stream, message, message_stream] * 3 + [embedding, refused, failing]


def call(index):
    kind = KINDS[index % len(KINDS)]
    model = f"{random.choice(['openai', 'anthropic'])}/varied"
    ask = f"Say {random.randint(1, 200)} words, {random.randint(0, 15)} of the question cached: {index}"
    return kind.__name__, lambda: kind(model, [{"role": "user", "content": ask}])


def main():
    before = read("/api/v1/credits")["total_usage"]
    calls = [call(index) for index in range(CALLS)]
    with ThreadPoolExecutor(8) as pool:
        told = sum(pool.map(lambda one: one[1](), calls), Decimal(0))
    charged = Decimal(str(read("/api/v1/credits")["total_usage"])) - Decimal(str(before))
    assert told == charged, f"{CALLS} calls report {told}, the account was charged {charged}"
    assert told > 0


told = {"test": f"{CALLS} calls", "outcome": "passed", "why": ""}
try:
    main()
except Exception as error:  # the raised error may be what the case is about
    told |= {"outcome": "failed", "why": f"{type(error).__name__}: {error}"[:600]}
print(json.dumps(told), flush=True)
