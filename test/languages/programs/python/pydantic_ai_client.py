"""pydantic-ai over either dialect."""

import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError

from cases import ASK, EMPTY_KEY, FAMILY, KEY, TOO_LONG, URL, model, recognized, run


def behind(name, key):
    if FAMILY == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(base_url=URL, api_key=key, max_retries=0)
        return AnthropicModel(model(name), provider=AnthropicProvider(anthropic_client=client))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=f"{URL}/api/v1", api_key=key, max_retries=0)
    return OpenAIChatModel(model(name), provider=OpenAIProvider(openai_client=client))


def agent(name="chat", key=KEY, **more):
    return Agent(behind(name, key), retries=0, model_settings={"max_tokens": 200, **more.pop("settings", {})}, **more)


def ask(*args, prompt=ASK, **more):
    return agent(*args, **more).run_sync(prompt)


def simple():
    return {"text": ask().output}


async def read(name, most=None):
    async with agent(name).run_stream(ASK) as answer:
        pieces = []
        async for piece in answer.stream_text(delta=True, debounce_by=None):
            pieces.append(piece)
            if most and len(pieces) == most:
                break
    return pieces


def tools():
    cities = []

    def weather(city: str) -> str:
        """Tells the weather."""
        cities.append(city)
        return "sunny"

    answer = ask(tools=[weather])
    return {"city": cities[0], "text": answer.output}


class Weather(BaseModel):
    city: str


def structured():
    return {"city": ask("structured", output_type=NativeOutput(Weather)).output.city}


def usage():
    told = ask("cached").usage
    told = told() if callable(told) else told
    return {"input": told.input_tokens, "output": told.output_tokens, "cached": told.cache_read_tokens}


def refused(play):
    """Puts the status and body of pydantic-ai's error where `cases` looks for them."""
    def case():
        try:
            return play()
        except ModelHTTPError as error:
            if isinstance(error.body, dict):
                error.body = error.body.get("error", error.body)
            raise
    return case


run({
    "simple": simple,
    "stream": lambda: {"text": "".join(asyncio.run(read("chat")))},
    "tools": tools,
    "structured": structured,
    "usage": usage,
    "wrong key": refused(lambda: ask(key="sk-tg-v1-wrong")),
    "no credits": refused(lambda: ask(key=EMPTY_KEY)),
    "bad request": refused(lambda: ask(settings={"temperature": 9})),
    "unknown model": refused(lambda: ask("none")),
    "rate limit": refused(lambda: ask("limited")),
    "provider fails": refused(lambda: ask("failing")),
    "breaks off": lambda: asyncio.run(read("breaking")) and {},
    "cancel": lambda: {"chunks": len(asyncio.run(read("patient", 3)))},
    "time-out": lambda: ask("slow", settings={"timeout": 0.5}),
    "too long": recognized(lambda: ask(prompt=TOO_LONG), ModelContextWindowExceededError),
})
