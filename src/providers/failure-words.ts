import { codesOf, messageOf } from './error-body.ts';
import type { JsonObject } from './json.ts';
import type { FailureReason } from './provider-failure.ts';

/** How much of a message is searched, in UTF-16 units. */
const SEARCHED_MAX = 2_000;

/**
 * What a message quotes, which may be the caller's own words: they must not make a caller's mistake look like the operator's. An apostrophe
 * within a word quotes nothing.
 */
const QUOTED = /(?<![a-z])(['"`]).*?\1/gs;

/**
 * Messages that servers of open models send with a 500 or 501 for requests they cannot serve: llama.cpp "Cannot use tools with stream";
 * vLLM, SGLang and Ollama about templates, grammars and images. "invalid" alone may be a fault of the server (a device, a memory address).
 */
const REFUSED_IN_WORDS =
  /\bnot (?:yet )?(?:supported|implemented|allowed)\b|\bunsupported\b|\b(?:does not|doesn't) support\b|\bcannot (?:use|parse)\b|\bfailed to parse\b|\binvalid (?:request|parameter|argument value|value|type|json|schema|grammar|regex|template|tool|role|message|image|url|input|format)/;
const INVALID_REQUEST = /\binvalid_(?:request|parameter|value)|\bunsupported_/;

/**
 * Matches errors about an input that is too long: OpenAI, vLLM, SGLang, Mistral and Groq mention the context length, Anthropic the prompt
 * or its sum with the cap, llama.cpp its context size, Gemini the token count, TGI "must have less than N tokens", Bedrock the input, xAI the
 * prompt length, vLLM also the model length, Kimi the model's token limit, Qwen the range of the input length, GLM and Copilot the prompt,
 * Ark its message tokens, SiliconFlow its sequence.
 */
const TOO_LONG = anyOf(
  /context[_ ]length|context[_ ]window|prompt is too long|maximum context|exceed_context|context size|exceed context limit/,
  /input token count[^.]*exceeds|must have less than \d+ tokens|`inputs` tokens \+ `max_new_tokens`/,
  /input is too long|maximum (?:prompt|model) length|exceeded model token limit|range of input length should be/,
  /prompt exceeds max length|prompt 超长|prompt token count of \d+ exceeds|too many (?:input )?tokens|token limit exceeded/,
  /exceed max message tokens|must be less than max_seq_len/,
);

/**
 * The same in words that no fault of a server uses: Ollama sends some with a 500, as llama.cpp does for embeddings, LM Studio in streams with
 * neither a status nor a code.
 */
const SURELY_TOO_LONG =
  /prompt (?:is )?too long|is too large to process|than the context length|context length of only|exceeds the (?:context window|available context size)/;

/** Matches codes of errors that the operator must pay for or fix, of the account or of the route's model. */
const OPERATORS_CODE =
  /billing|insufficient_balance|exceeded_current_quota|arrearage|budget_exceeded|spend_limit_exceeded|invalid_api_key|api_key_invalid|model_not_(?:found|supported)|invalid_model\b|model_decommissioned|operationnotsupported/;

/**
 * The same in words. Providers send these with statuses that otherwise mean a faulty request or a limit: Anthropic's and OpenAI's accounts,
 * xAI's and Gemini's keys (400), GLM's, Kimi's, xAI's and MiniMax's balances (429, 500), LiteLLM's budgets, and models that DeepSeek, GLM,
 * Groq, Mistral, Perplexity, OpenRouter and Bedrock do not have (400).
 */
const OPERATORS_WORDS = anyOf(
  /credit balance|insufficient balance|余额不足|all available credits|monthly spending limit|budget has been exceeded/,
  /specified (?:workspace )?api usage limits|reached the set inference limit|incorrect api key provided|api key (?:not valid|expired)|user location is not supported/,
  /organization (?:must be verified|has been disabled)/,
  /\bmodel\s+(?:does )?not exist|模型不存在|\bunknown model\b|is not a valid model id|invalid model name passed/,
  /\bmodel\s+has been (?:decommissioned|retired|shut down)|model identifier is invalid|on-demand throughput isn.t supported/,
);

/** Matches errors of content filters: Azure, Anthropic, DashScope ("inappropriate"), xAI (403), OpenRouter (403), MiniMax and GLM. */
const CONTENT_CODE =
  /content_?filter|content_policy|responsibleai|data_?inspection_?failed|(?:bio|cyber)_policy|policy_violation|sensitive_?content/;
const CONTENT_WORDS = anyOf(
  /inappropriate content|content violates usage guidelines|content filtering policy|new_sensitive/,
  /\b(?:prompt|input|content|request) was flagged|unsafe or sensitive content|不安全或敏感内容/,
);

/** DashScope calls its limit of tokens a minute a quota, too, and links to what it means. */
const MINUTE_QUOTA = /allocated quota exceeded|error-code#token-limit/;

/** Matches codes of errors about what the model itself got wrong, a call or JSON: Groq (400) and OpenAI (500). */
const GARBLED_CODE = /tool_use_failed|json_validate_failed|output_parse_failed|\bmodel_error\b/;
/**
 * The same in words, where they begin or name the cause: llama.cpp, OpenAI, Groq and Bedrock ("Model produced invalid sequence as part of
 * ToolUse"), Ollama's parsers (500, for some models every fourth call), Cerebras, vLLM and SGLang with gpt-oss.
 */
const GARBLED_WORDS = anyOf(
  /\bmodel (?:produced|generated) (?:invalid|output that)\b/,
  /^error parsing tool call|^(?:failed to parse xml: )?xml syntax error on line \d|^expected element type <\w+> but have/,
  /^failed to generate tool_?\s?calls?\b/,
  /unexpected tokens? [^.]{0,80}(?:while expecting start token|in message header)|tokens remaining in message header/,
);

/** OpenRouter, with a 404, about a request that its model cannot serve. */
const NO_ROUTE_FOR_REQUEST = /no endpoints found that support/;

/** Returns whether a message alone, without a status or a code, says that the input is too long. */
export function isSurelyTooLong(message: string): boolean {
  const words = message.slice(0, SEARCHED_MAX).toLowerCase();
  return SURELY_TOO_LONG.test(words) || words.includes('maximum context length');
}

/** Refines a reason: providers use one status both for errors of the caller and for those the operator must pay for or fix. */
export function refine(reason: FailureReason, error: JsonObject): FailureReason {
  const codes = codesOf(error);
  const message = messageOf(error).slice(0, SEARCHED_MAX).toLowerCase();
  switch (reason) {
    case 'rate_limited':
      return isOperators(codes, message) || isOutOfQuota(codes, message) ? 'misconfigured' : reason;
    case 'failed':
      return reasonInWords(codes, message) ?? reasonOfFault(codes, message);
    case 'too_large':
      // Groq: more tokens than its account may send in a minute, which another route need not mind
      if (codes.includes('rate_limit_exceeded')) {
        return 'unsupported';
      }
      return TOO_LONG.test(message) ? 'context_length' : reason;
    case 'misconfigured':
      return refusedContent(codes, message) ?? otherThanOperators(codes, message) ?? reason;
    case 'rejected':
      return reasonInWords(codes, message) ?? reasonOfRefusal(codes, message);
    default:
      return reason;
  }
}

function reasonOfFault(codes: string, message: string): FailureReason {
  if (SURELY_TOO_LONG.test(message)) {
    return 'context_length';
  }
  return INVALID_REQUEST.test(codes) || REFUSED_IN_WORDS.test(message) ? 'unsupported' : 'failed';
}

function reasonOfRefusal(codes: string, message: string): FailureReason {
  return TOO_LONG.test(`${codes} ${message}`) ? 'context_length' : 'rejected';
}

function isGarbled(codes: string, message: string): boolean {
  return GARBLED_CODE.test(codes) || GARBLED_WORDS.test(message.replace(QUOTED, ''));
}

function reasonInWords(codes: string, message: string): FailureReason | undefined {
  if (isGarbled(codes, message)) {
    return 'garbled';
  }
  return isOperators(codes, message) ? 'misconfigured' : refusedContent(codes, message);
}

function otherThanOperators(codes: string, message: string): FailureReason | undefined {
  if (NO_ROUTE_FOR_REQUEST.test(message)) {
    return 'unsupported';
  }
  return codes.includes('insufficient_quota') && MINUTE_QUOTA.test(message) ? 'rate_limited' : undefined;
}

function isOperators(codes: string, message: string): boolean {
  return OPERATORS_CODE.test(codes) || OPERATORS_WORDS.test(message.replace(QUOTED, ''));
}

function isOutOfQuota(codes: string, message: string): boolean {
  return codes.includes('insufficient_quota') && !MINUTE_QUOTA.test(message);
}

function refusedContent(codes: string, message: string): FailureReason | undefined {
  return CONTENT_CODE.test(codes) || CONTENT_WORDS.test(message) ? 'content_policy' : undefined;
}

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'));
}
