import { flatMapInSteps, mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { filled } from '../dialects/chat-request-to-responses.ts';
import { encryptedReasoning } from '../dialects/thinking-details.ts';
import type { OfferedTools } from './offered-tools.ts';
import { openReasoning } from './sealed-reasoning.ts';

/**
 * A Responses request, freed of unknown members, as a provider that speaks the same gets it: items and tools are what the caller
 * sent but for ids, which name nothing there, tools of namespaces, which stand with the others, and reasoning, which is unsealed.
 */
export function* nativeRequest(request: JsonObject, tools: OfferedTools): Steps<JsonObject> {
  const { effort, summary, generate_summary } = objectOf(request.reasoning);
  const { format, verbosity } = objectOf(request.text);
  const { instructions, input, parallel_tool_calls, temperature, top_p } = request;
  const { prompt_cache_key, safety_identifier, user } = request;
  const offered = yield* tools.nativeMembers(request.tool_choice);
  return compact({
    instructions,
    input:
      typeof input === 'string'
        ? input
        : yield* flatMapInSteps(objectsOf(input), (item) => itemsOf(item, tools)),
    ...offered,
    parallel_tool_calls: offered.tools === undefined ? undefined : parallel_tool_calls,
    text: filled({ format, verbosity }),
    reasoning: filled({ effort, summary: summary ?? generate_summary }),
    temperature,
    top_p,
    prompt_cache_key,
    safety_identifier,
    user,
  });
}

function* itemsOf(item: JsonObject, tools: OfferedTools): Steps<readonly JsonObject[]> {
  const { type, call_id } = item;
  switch (type) {
    case 'function_call':
      return [{ type, call_id, name: tools.nameOf(item), arguments: item.arguments }];
    case 'custom_tool_call':
      return [{ type, call_id, name: tools.nameOf(item), input: item.input }];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ type, call_id, output: yield* contentOf(item.output, 'input_text') }];
    case 'reasoning': {
      const { reasoning_details } = openReasoning(textOf(item.encrypted_content)) ?? {};
      const summary = objectsOf(item.summary).map(({ text }) => ({ type: 'summary_text', text }));
      return encryptedReasoning(reasoning_details).map((encrypted_content, index) => ({
        type,
        summary: index === 0 ? summary : [],
        encrypted_content,
      }));
    }
    default: {
      const { role, phase } = item;
      const text = role === 'assistant' ? 'output_text' : 'input_text';
      return [compact({ type, role, content: yield* contentOf(item.content, text), phase })];
    }
  }
}

function* contentOf(content: unknown, textType: string): Steps<unknown> {
  return typeof content === 'string'
    ? content
    : yield* mapInSteps(objectsOf(content), (part) => partOf(part, textType));
}

function partOf(part: JsonObject, textType: string): JsonObject {
  switch (part.type) {
    case 'input_image':
      return { type: part.type, image_url: part.image_url, detail: part.detail ?? 'auto' };
    case 'input_file':
      return compact({ type: part.type, filename: part.filename, file_data: part.file_data });
    case 'refusal':
    case 'input_audio':
      return part;
    default:
      return { type: textType, text: part.text };
  }
}
