import {
  BOOLEAN,
  JSON_VALUE,
  kinds,
  list,
  type Members,
  NUMBER,
  object,
  TEXT,
  textOr,
} from '../members/member-shape.ts';

const PARTS = list(
  kinds({
    input_text: { type: TEXT, text: TEXT },
    output_text: { type: TEXT, text: TEXT, annotations: JSON_VALUE, logprobs: JSON_VALUE },
    text: { type: TEXT, text: TEXT },
    refusal: { type: TEXT, refusal: TEXT },
    input_image: { type: TEXT, image_url: TEXT, detail: TEXT, file_id: TEXT },
    input_file: { type: TEXT, file_data: TEXT, filename: TEXT, file_url: TEXT, file_id: TEXT, detail: TEXT },
    input_audio: { type: TEXT, input_audio: object({ data: TEXT, format: TEXT }) },
  }),
);

/** Members that clients send back with an item of an answer and that say nothing of it. */
const KEPT: Members = { type: TEXT, id: TEXT, status: TEXT };

const ITEMS = list(
  kinds({
    message: { ...KEPT, role: TEXT, content: textOr(PARTS), phase: TEXT },
    function_call: { ...KEPT, call_id: TEXT, name: TEXT, namespace: TEXT, arguments: TEXT },
    function_call_output: { ...KEPT, call_id: TEXT, output: textOr(PARTS) },
    custom_tool_call: { ...KEPT, call_id: TEXT, name: TEXT, namespace: TEXT, input: TEXT },
    custom_tool_call_output: { ...KEPT, call_id: TEXT, name: TEXT, output: textOr(PARTS) },
    reasoning: { ...KEPT, summary: JSON_VALUE, content: JSON_VALUE, encrypted_content: TEXT },
  }),
);

/** What of a Responses request is said to a provider, in its words. */
export const RESPONSES_MEMBERS: Members = {
  input: textOr(ITEMS),
  instructions: TEXT,
  tools: JSON_VALUE,
  tool_choice: JSON_VALUE,
  parallel_tool_calls: BOOLEAN,
  text: object({ format: JSON_VALUE, verbosity: TEXT }),
  reasoning: object({
    effort: TEXT,
    max_tokens: NUMBER,
    summary: TEXT,
    generate_summary: TEXT,
    context: TEXT,
  }),
  temperature: NUMBER,
  top_p: NUMBER,
  prompt_cache_key: TEXT,
  safety_identifier: TEXT,
  user: TEXT,
};

/** Members that are acted on here, or that ask for what is so in any case. */
export const RESPONSES_OWN_MEMBERS = new Set([
  'model',
  'models',
  'stream',
  'stream_options',
  'max_output_tokens',
  'store',
  'include',
  'metadata',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
]);
