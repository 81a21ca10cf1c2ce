import {
  BOOLEAN,
  JSON_VALUE,
  kinds,
  list,
  type Members,
  NUMBER,
  object,
  type Shape,
  TEXT,
  textOr,
} from './member-shape.ts';

/** Without `ttl`: caching for an hour has its own, doubled write price, which the price list has no line for. */
const CACHE_CONTROL = object({ type: TEXT });

const SOURCE_MEMBERS: Members = { type: TEXT, media_type: TEXT, data: TEXT, url: TEXT, file_id: TEXT };
const SOURCE = object(SOURCE_MEMBERS);

const TEXT_BLOCK: Members = { type: TEXT, text: TEXT, citations: JSON_VALUE, cache_control: CACHE_CONTROL };
const IMAGE_BLOCK: Members = { type: TEXT, source: SOURCE, cache_control: CACHE_CONTROL };
const PLAIN_BLOCKS = list(kinds({ text: TEXT_BLOCK, image: IMAGE_BLOCK }));

const DOCUMENT_BLOCK: Members = {
  type: TEXT,
  source: object({ ...SOURCE_MEMBERS, content: textOr(PLAIN_BLOCKS) }),
  title: TEXT,
  context: TEXT,
  citations: JSON_VALUE,
  cache_control: CACHE_CONTROL,
};
const SEARCH_RESULT_BLOCK: Members = {
  type: TEXT,
  source: TEXT,
  title: TEXT,
  content: PLAIN_BLOCKS,
  citations: JSON_VALUE,
  cache_control: CACHE_CONTROL,
};

const TOOL = object({
  type: TEXT,
  name: TEXT,
  description: TEXT,
  input_schema: JSON_VALUE,
  strict: BOOLEAN,
  // members of betas; only sent to a provider together with the beta
  defer_loading: BOOLEAN,
  input_examples: JSON_VALUE,
  cache_control: CACHE_CONTROL,
  // Anthropic's own client-run tools: the screen, the browser and the text editor.
  configs: JSON_VALUE,
  display_width_px: NUMBER,
  display_height_px: NUMBER,
  display_number: NUMBER,
  enable_zoom: BOOLEAN,
  max_characters: NUMBER,
});

const BLOCKS: Shape = list(
  kinds({
    text: TEXT_BLOCK,
    image: IMAGE_BLOCK,
    document: DOCUMENT_BLOCK,
    search_result: SEARCH_RESULT_BLOCK,
    // Anthropic rejects `cache_control` of thinking: "Extra inputs are not permitted"
    thinking: { type: TEXT, thinking: TEXT, signature: TEXT },
    redacted_thinking: { type: TEXT, data: TEXT },
    // blocks of system turns
    tool_addition: { type: TEXT, tool: object({ type: TEXT, name: TEXT, definition: TOOL }) },
    tool_removal: { type: TEXT, tool: object({ type: TEXT, name: TEXT }) },
    tool_use: {
      type: TEXT,
      id: TEXT,
      name: TEXT,
      toolset_name: TEXT,
      input: JSON_VALUE,
      cache_control: CACHE_CONTROL,
    },
    tool_result: {
      type: TEXT,
      tool_use_id: TEXT,
      is_error: BOOLEAN,
      cache_control: CACHE_CONTROL,
      content: textOr(
        list(
          kinds({
            text: TEXT_BLOCK,
            image: IMAGE_BLOCK,
            document: DOCUMENT_BLOCK,
            search_result: SEARCH_RESULT_BLOCK,
            tool_reference: { type: TEXT, tool_name: TEXT, cache_control: CACHE_CONTROL },
          }),
        ),
      ),
    },
  }),
);

/**
 * Members of a messages request that may reach a provider. Deliberately left out: members that change the price (`service_tier`, cache
 * lifetimes, `inference_geo`), and members of betas that we do not pass on.
 */
export const MESSAGES_MEMBERS: Members = {
  messages: list(
    object({ role: TEXT, content: textOr(BLOCKS), output_config: object({ effort: TEXT }), clear_at: TEXT }),
  ),
  system: textOr(list(kinds({ text: TEXT_BLOCK }))),
  tools: list(TOOL),
  tool_choice: JSON_VALUE,
  stop_sequences: list(TEXT),
  temperature: NUMBER,
  top_p: NUMBER,
  top_k: NUMBER,
  thinking: object({
    type: TEXT,
    budget_tokens: NUMBER,
    display: TEXT,
    block_binding: object({ prefix_mismatch_behavior: TEXT }),
  }),
  output_config: object({ effort: TEXT, format: JSON_VALUE }),
  output_format: JSON_VALUE,
  cache_control: CACHE_CONTROL,
  metadata: object({ user_id: TEXT }),
  context_management: object({ edits: JSON_VALUE }),
};
