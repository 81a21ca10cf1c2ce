"""litellm, which aider and many frameworks use for their calls, over either dialect."""

import asyncio
import json

import litellm

from cases import ASK, EMPTY_KEY, FAMILY, KEY, TOO_LONG, URL, WEATHER, model, recognized, run

litellm.telemetry = False
litellm.suppress_debug_info = True


BASE = URL if FAMILY == "anthropic" else f"{URL}/api/v1"


def arguments(name="chat", key=KEY, messages=None, **more):
    return {
        # litellm removes the protocol name before the model's id
        "model": f"{FAMILY}/{model(name)}",
        "messages": messages or [{"role": "user", "content": ASK}],
        "api_base": BASE,
        "api_key": key,
        "num_retries": 0,
        "max_retries": 0,
        "max_tokens": 200,
        **more,
    }


def ask(*args, **more):
    return litellm.completion(**arguments(*args, **more))


def simple():
    choice = ask().choices[0]
    return {"text": choice.message.content, "finish": choice.finish_reason}


def read(name, **more):
    chunks = list(ask(name, stream=True, **more))
    finish = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return {"text": text, "finish": next(word for word in reversed(finish) if word)}


def tools():
    weather = {"type": "function", "function": {"name": "weather", "description": "Tells it", "parameters": WEATHER}}
    message = ask(tools=[weather]).choices[0].message
    call = message.tool_calls[0]
    turns = [
        {"role": "user", "content": ASK},
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
    ]
    answer = ask(messages=turns, tools=[weather])
    return {"city": json.loads(call.function.arguments)["city"], "text": answer.choices[0].message.content}


def structured():
    form = {"type": "json_schema", "json_schema": {"name": "weather", "schema": WEATHER, "strict": True}}
    return {"city": json.loads(ask("structured", response_format=form).choices[0].message.content)["city"]}


def usage():
    told = ask("cached").usage
    return {
        "input": told.prompt_tokens,
        "output": told.completion_tokens,
        "cached": told.prompt_tokens_details.cached_tokens,
    }


async def cancel():
    chunks = await litellm.acompletion(**arguments("patient", stream=True))
    seen = 0
    async for _ in chunks:
        seen += 1
        if seen == 3:
            break
    await chunks.aclose()
    return {"chunks": seen}


def models():
    ids = litellm.get_valid_models(
        check_provider_endpoint=True, custom_llm_provider=FAMILY, api_base=BASE, api_key=KEY
    )
    return {"models": [one.removeprefix(f"{FAMILY}/") if one.count("/") > 1 else one for one in ids]}


def gives_up():
    """Whether aider gives up, or retries for a minute or more. Reads its table of errors without starting the editor."""
    from aider.exceptions import LiteLLMExceptions

    try:
        return ask(key=EMPTY_KEY)
    except Exception as error:
        verdict = LiteLLMExceptions().get_ex_info(error)
        if verdict.retry:
            raise
        return {"recognized": f"aider does not ask again after {verdict.name}"}


run({
    "simple": simple,
    "stream": lambda: read("chat"),
    "tools": tools,
    "structured": structured,
    "usage": usage,
    "models": models,
    "wrong key": lambda: ask(key="sk-tg-v1-wrong"),
    "no credits": lambda: ask(key=EMPTY_KEY),
    "bad request": lambda: ask(temperature=9),
    "unknown model": lambda: ask("none"),
    "rate limit": lambda: ask("limited"),
    "provider fails": lambda: ask("failing"),
    "breaks off": lambda: read("breaking"),
    "cancel": lambda: asyncio.run(cancel()),
    "time-out": lambda: ask("slow", timeout=0.5),
    "too long": recognized(
        lambda: ask(messages=[{"role": "user", "content": TOO_LONG}]), litellm.ContextWindowExceededError
    ),
    "gives up": gives_up,
})
