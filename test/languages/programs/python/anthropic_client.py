import json
import uuid

from anthropic import Anthropic

from cases import ASK, EMPTY_KEY, KEY, URL, WEATHER, model, run

client = Anthropic(base_url=URL, api_key=KEY, max_retries=0)
TOOLS = [{"name": "weather", "input_schema": WEATHER}]
QUESTION = {"role": "user", "content": ASK}


def ask(name="chat", using=client, **more):
    return using.messages.create(**{"model": model(name), "max_tokens": 200, "messages": [QUESTION], **more})


def simple():
    answer = ask()
    return {"text": answer.content[0].text, "finish": answer.stop_reason}


def stream():
    with client.messages.stream(model=model("chat"), max_tokens=200, messages=[QUESTION]) as events:
        text = "".join(events.text_stream)
        return {"text": text, "finish": events.get_final_message().stop_reason}


def tools():
    answer = ask(tools=TOOLS)
    call = next(block for block in answer.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    history = [QUESTION, {"role": "assistant", "content": answer.content}, {"role": "user", "content": [result]}]
    return {"city": call.input["city"], "text": ask(tools=TOOLS, messages=history).content[0].text}


def structured():
    answer = ask("structured", output_config={"format": {"type": "json_schema", "schema": WEATHER}})
    return {"city": json.loads(answer.content[0].text)["city"]}


def usage():
    told = ask("cached").usage
    return {
        "input": told.input_tokens + told.cache_read_input_tokens,
        "output": told.output_tokens,
        "cached": told.cache_read_input_tokens,
    }


def cancel():
    with ask("patient", stream=True) as events:
        seen = [event for event, _ in zip(events, range(3))]
    return {"chunks": len(seen)}


def asked_again(**more):
    """The SDK's own behavior after a timeout, with its default number of tries."""
    impatient = Anthropic(base_url=URL, api_key=KEY, timeout=1)
    return {"text": ask("late", using=impatient, **more).content[0].text}


def models():
    return {
        "models": [one.id for one in client.models.list(limit=1000)],
        "model": client.models.retrieve(model("chat")).id,
    }


def count():
    told = client.messages.count_tokens(model=model("chat"), messages=[{"role": "user", "content": ASK}])
    return {"input": told.input_tokens}


run({
    "simple": simple,
    "stream": stream,
    "tools": tools,
    "structured": structured,
    "usage": usage,
    "models": models,
    "wrong key": lambda: ask(using=client.with_options(api_key="sk-tg-v1-wrong")),
    "no credits": lambda: ask(using=client.with_options(api_key=EMPTY_KEY)),
    "bad request": lambda: ask(max_tokens=0),
    "unknown model": lambda: ask("none"),
    "rate limit": lambda: ask("limited"),
    "provider fails": lambda: ask("failing"),
    "breaks off": lambda: list(ask("breaking", stream=True)) and {},
    "cancel": cancel,
    "time-out": lambda: ask("slow", timeout=0.5),
    "count tokens": count,
    "asked again": asked_again,
    "asked again with a key": lambda: asked_again(extra_headers={"Idempotency-Key": str(uuid.uuid4())}),
})
