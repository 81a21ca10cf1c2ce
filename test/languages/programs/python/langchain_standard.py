"""LangChain's own standard tests of a chat model; the first argument selects one. Prints one line of JSON for each test."""

import json
import sys

import pytest
from langchain_tests.integration_tests import ChatModelIntegrationTests

from cases import KEY, URL, model


class TestChat(ChatModelIntegrationTests):
    @property
    def chat_model_class(self):
        if sys.argv[1] == "anthropic":
            from langchain_anthropic import ChatAnthropic

            return ChatAnthropic
        from langchain_openai import ChatOpenAI

        return ChatOpenAI

    @property
    def chat_model_params(self):
        base = URL if sys.argv[1] == "anthropic" else f"{URL}/api/v1"
        return {"model": model("obedient"), "base_url": base, "api_key": KEY}

    @property
    def model_override_value(self):
        return model("chat")

    @property
    def supports_json_mode(self):
        return sys.argv[1] == "openai"

    @property
    def supports_anthropic_inputs(self):
        return sys.argv[1] == "anthropic"

    @property
    def supported_usage_metadata_details(self):
        return {"invoke": ["cache_read_input"], "stream": ["cache_read_input"]}

    def invoke_with_cache_read_input(self, *, stream=False):
        chat = self.chat_model_class(**{**self.chat_model_params, "model": model("cached")})
        if not stream:
            return chat.invoke("Hello")
        whole = None
        for chunk in chat.stream("Hello"):
            whole = chunk if whole is None else whole + chunk
        return whole


class Teller:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")[-600:]
            print(json.dumps({"test": report.nodeid.split("::")[-1], "outcome": report.outcome, "why": why}), flush=True)


if __name__ == "__main__":
    quiet = ["-s", "-p", "no:terminal", "-p", "no:cacheprovider", "--rootdir=.", "-o", "asyncio_mode=auto"]
    # its clients live across tests, and with them their event loop
    quiet += ["-o", "asyncio_default_test_loop_scope=session", "-o", "asyncio_default_fixture_loop_scope=session"]
    pytest.main([*quiet, __file__], plugins=[Teller()])
