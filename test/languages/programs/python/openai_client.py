import json

from openai import OpenAI

from cases import ASK, EMPTY_KEY, KEY, URL, WEATHER, model, run

client = OpenAI(base_url=f"{URL}/api/v1", api_key=KEY, max_retries=0)
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]


def ask(name="chat", using=client, **more):
    return using.chat.completions.create(
        model=model(name), messages=[{"role": "user", "content": ASK}], **more
    )


def simple():
    choice = ask().choices[0]
    return {"text": choice.message.content, "finish": choice.finish_reason}


def stream():
    chunks = list(ask(stream=True))
    return {
        "text": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "finish": [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason][-1],
    }


def tools():
    message = ask(tools=TOOLS).choices[0].message
    call = message.tool_calls[0]
    answer = client.chat.completions.create(
        model=model("chat"),
        tools=TOOLS,
        messages=[
            {"role": "user", "content": ASK},
            message,
            {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
        ],
    )
    return {"city": json.loads(call.function.arguments)["city"], "text": answer.choices[0].message.content}


def structured():
    schema = {"name": "weather", "schema": WEATHER, "strict": True}
    answer = ask("structured", response_format={"type": "json_schema", "json_schema": schema})
    return {"city": json.loads(answer.choices[0].message.content)["city"]}


def usage():
    told = ask("cached").usage
    return {
        "input": told.prompt_tokens,
        "output": told.completion_tokens,
        "cached": told.prompt_tokens_details.cached_tokens,
    }


def cancel():
    with ask("patient", stream=True) as chunks:
        seen = [chunk for chunk, _ in zip(chunks, range(3))]
    return {"chunks": len(seen)}


def models():
    return {
        "models": [one.id for one in client.models.list()],
        "model": client.models.retrieve(model("chat")).id,
    }


run({
    "simple": simple,
    "stream": stream,
    "tools": tools,
    "structured": structured,
    "usage": usage,
    "models": models,
    "wrong key": lambda: ask(using=client.with_options(api_key="sk-tg-v1-wrong")),
    "no credits": lambda: ask(using=client.with_options(api_key=EMPTY_KEY)),
    "bad request": lambda: ask(temperature=9),
    "unknown model": lambda: ask("none"),
    "rate limit": lambda: ask("limited"),
    "provider fails": lambda: ask("failing"),
    "breaks off": lambda: list(ask("breaking", stream=True)) and {},
    "cancel": cancel,
    "time-out": lambda: ask("slow", timeout=0.5),
})
