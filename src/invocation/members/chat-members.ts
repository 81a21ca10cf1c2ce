import {
  BOOLEAN,
  JSON_VALUE,
  kinds,
  list,
  type Members,
  NUMBER,
  nullable,
  object,
  TEXT,
  textOr,
} from './member-shape.ts';

const CACHE_CONTROL = object({ type: TEXT });

const PARTS = list(
  kinds({
    text: { type: TEXT, text: TEXT, cache_control: CACHE_CONTROL },
    refusal: { type: TEXT, refusal: TEXT },
    thinking: { type: TEXT, thinking: JSON_VALUE, closed: BOOLEAN, signature: TEXT },
    image_url: {
      type: TEXT,
      image_url: textOr(object({ url: TEXT, detail: TEXT })),
      cache_control: CACHE_CONTROL,
    },
    input_audio: {
      type: TEXT,
      input_audio: object({ data: TEXT, format: TEXT }),
      cache_control: CACHE_CONTROL,
    },
    file: {
      type: TEXT,
      file: object({ filename: TEXT, file_data: TEXT, file_id: TEXT }),
      cache_control: CACHE_CONTROL,
    },
    video_url: { type: TEXT, video_url: textOr(object({ url: TEXT })), cache_control: CACHE_CONTROL },
  }),
);

const NAMED_CALL = object({ name: TEXT, arguments: TEXT, thought_signature: TEXT });

const MESSAGE: Members = {
  role: TEXT,
  // a turn of calls alone has null content: DeepSeek and OpenRouter refuse one without the member, which SDKs send back as it came
  content: nullable(textOr(PARTS), ({ role }) => role === 'assistant'),
  name: TEXT,
  refusal: TEXT,
  tool_call_id: TEXT,
  tool_calls: list(
    object({
      id: TEXT,
      type: TEXT,
      index: NUMBER,
      function: NAMED_CALL,
      custom: object({ name: TEXT, input: TEXT }),
      // Gemini requires its signatures back with the call they came with.
      extra_content: JSON_VALUE,
      thought_signature: TEXT,
    }),
  ),
  // DeepSeek, Kimi, GLM and OpenRouter accept the reasoning of earlier turns.
  reasoning: TEXT,
  reasoning_content: TEXT,
  reasoning_details: JSON_VALUE,
  // Mistral and DeepSeek continue such a message; Kimi continues one marked `partial`.
  prefix: BOOLEAN,
  partial: BOOLEAN,
  cache_control: CACHE_CONTROL,
};

const TOOL = object({
  type: TEXT,
  function: object({
    name: TEXT,
    description: TEXT,
    parameters: JSON_VALUE,
    strict: BOOLEAN,
    cache_control: CACHE_CONTROL,
  }),
  custom: JSON_VALUE,
  cache_control: CACHE_CONTROL,
});

/**
 * Members of a chat request that may reach a provider. Deliberately left out, however a provider treats them: members that change the
 * price (`service_tier`, `prediction`, `prompt_cache_retention`, searches), the cap (`n_predict`, `min_tokens`, `ignore_eos`,
 * `extra_body`), the priority (`priority`) or the template around the text (`chat_template`, `documents`); and `metadata`, which OpenAI
 * accepts only with `store`, and xAI, Groq and Cerebras not at all.
 */
export const CHAT_MEMBERS: Members = {
  messages: list(object(MESSAGE)),
  tools: list(TOOL),
  tool_choice: JSON_VALUE,
  parallel_tool_calls: BOOLEAN,
  response_format: JSON_VALUE,
  stop: textOr(list(TEXT)),
  temperature: NUMBER,
  top_p: NUMBER,
  top_k: NUMBER,
  top_a: NUMBER,
  min_p: NUMBER,
  typical_p: NUMBER,
  frequency_penalty: NUMBER,
  presence_penalty: NUMBER,
  repetition_penalty: NUMBER,
  repeat_penalty: NUMBER,
  logit_bias: JSON_VALUE,
  logprobs: BOOLEAN,
  top_logprobs: NUMBER,
  seed: NUMBER,
  random_seed: NUMBER,
  modalities: list(TEXT),
  reasoning_effort: TEXT,
  reasoning: object({ effort: TEXT, max_tokens: NUMBER, enabled: BOOLEAN, exclude: BOOLEAN, summary: TEXT }),
  reasoning_format: TEXT,
  include_reasoning: BOOLEAN,
  thinking: object({ type: TEXT, budget_tokens: NUMBER, display: TEXT, clear_thinking: BOOLEAN }),
  enable_thinking: BOOLEAN,
  thinking_budget: NUMBER,
  verbosity: TEXT,
  safe_prompt: BOOLEAN,
  prompt_mode: TEXT,
  guided_json: JSON_VALUE,
  guided_regex: TEXT,
  guided_choice: list(TEXT),
  guided_grammar: TEXT,
  structured_outputs: JSON_VALUE,
  grammar: TEXT,
  json_schema: JSON_VALUE,
  stop_token_ids: list(NUMBER),
  skip_special_tokens: BOOLEAN,
  include_stop_str_in_output: BOOLEAN,
  prompt_cache_key: TEXT,
  safety_identifier: TEXT,
  user: TEXT,
};
