"""Both of LangChain's chat models; the first argument selects one."""

import sys

from langchain_core.exceptions import ContextOverflowError

from cases import ASK, EMPTY_KEY, KEY, TOO_LONG, URL, WEATHER, model, recognized, run


def chat(name="chat", key=KEY, **more):
    if sys.argv[1] == "anthropic":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(
            model=model(name), base_url=URL, api_key=key, max_retries=0, max_tokens=200, **more
        )
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=model(name), base_url=f"{URL}/api/v1", api_key=key, max_retries=0, **more)


def finish(message):
    told = message.response_metadata
    return told.get("finish_reason") or told.get("stop_reason")


def simple():
    answer = chat().invoke(ASK)
    return {"text": answer.text, "finish": finish(answer)}


def stream():
    whole = None
    for chunk in chat().stream(ASK):
        whole = chunk if whole is None else whole + chunk
    return {"text": whole.text, "finish": finish(whole)}


def tools():
    bound = chat().bind_tools([{"title": "weather", "description": "Tells the weather", **WEATHER}])
    call = bound.invoke(ASK)
    from langchain_core.messages import HumanMessage, ToolMessage

    result = ToolMessage("sunny", tool_call_id=call.tool_calls[0]["id"])
    answer = bound.invoke([HumanMessage(ASK), call, result])
    return {"city": call.tool_calls[0]["args"]["city"], "text": answer.text}


def structured():
    schema = {"title": "weather", "description": "The weather", **WEATHER}
    return {"city": chat("structured").with_structured_output(schema, method="json_schema").invoke(ASK)["city"]}


def usage():
    told = chat("cached").invoke(ASK).usage_metadata
    return {
        "input": told["input_tokens"],
        "output": told["output_tokens"],
        "cached": told["input_token_details"]["cache_read"],
    }


def cancel():
    events = chat("patient").stream(ASK)
    seen = [chunk for chunk, _ in zip(events, range(3))]
    events.close()
    return {"chunks": len(seen)}


run({
    "simple": simple,
    "stream": stream,
    "tools": tools,
    "structured": structured,
    "usage": usage,
    "wrong key": lambda: chat(key="sk-tg-v1-wrong").invoke(ASK),
    "no credits": lambda: chat(key=EMPTY_KEY).invoke(ASK),
    "bad request": lambda: chat(temperature=9).invoke(ASK),
    "unknown model": lambda: chat("none").invoke(ASK),
    "rate limit": lambda: chat("limited").invoke(ASK),
    "provider fails": lambda: chat("failing").invoke(ASK),
    "breaks off": lambda: list(chat("breaking").stream(ASK)) and {},
    "cancel": cancel,
    "time-out": lambda: chat("slow", timeout=0.5).invoke(ASK),
    "too long": recognized(lambda: chat().invoke(TOO_LONG), ContextOverflowError),
})
