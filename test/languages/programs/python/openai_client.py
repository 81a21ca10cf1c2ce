import base64
import json
import uuid

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


def asked_again(**more):
    """The SDK's own behavior after a timeout, with its default number of tries."""
    impatient = OpenAI(base_url=f"{URL}/api/v1", api_key=KEY, timeout=1)
    return {"text": ask("late", using=impatient, **more).choices[0].message.content}


def models():
    return {
        "models": [one.id for one in client.models.list()],
        "model": client.models.retrieve(model("chat")).id,
    }


def responses():
    answer = client.responses.create(model=model("chat"), input=ASK, store=False)
    return {"text": answer.output_text}


def responses_stream():
    events = list(client.responses.create(model=model("chat"), input=ASK, store=False, stream=True))
    return {"text": "".join(e.delta for e in events if e.type == "response.output_text.delta")}


def embeddings():
    told = client.embeddings.create(model="tollgate/embed", input=[ASK, "another"])
    return {"dimensions": len(told.data[1].embedding)}


def images():
    told = client.images.generate(
        model="image-turbo", prompt="a lighthouse", size="512x512", response_format="b64_json"
    )
    return {"bytes": len(base64.b64decode(told.data[0].b64_json))}


def videos():
    made = client.videos.create_and_poll(
        model="video-fast", prompt="a lighthouse", size="1280x720", poll_interval_ms=200
    )
    return {"finish": made.status, "bytes": len(client.videos.download_content(made.id).read())}


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
    "responses": responses,
    "responses, stream": responses_stream,
    "embeddings": embeddings,
    "images": images,
    "videos": videos,
    "asked again": asked_again,
    "asked again with a key": lambda: asked_again(extra_headers={"Idempotency-Key": str(uuid.uuid4())}),
})
