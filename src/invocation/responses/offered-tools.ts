import { createHash } from 'node:crypto';
import type { IgnoredMembers } from '../../http/input/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';
import { providerToolId } from '../dialects/tool-ids.ts';

/** Longest function name that OpenAI and Anthropic accept. */
const FUNCTION_NAME_MAX = 64;
const DIGEST_LENGTH = 8;

/**
 * Tools of the provider that agents offer in every request and work without: Codex the search, Cline images. A `tool_choice` that forces one
 * is rejected.
 */
const OFFERED_ALWAYS: ReadonlySet<string> = new Set(['web_search', 'image_generation']);

type ToolKind = 'function' | 'custom';

interface OfferedTool {
  readonly kind: ToolKind;
  readonly name: string;
  /** Namespace that the caller put the tool in. */
  readonly namespace: string | undefined;
  readonly chatTool: JsonObject;
  /** The tool for providers that speak Responses. */
  readonly nativeTool: JsonObject;
}

/** The caller's `tool_choice`: a mode, the one tool to call, or the only tools that may be called. */
interface ToolChoice {
  readonly mode: unknown;
  readonly name?: string;
  readonly allowed?: ReadonlySet<string>;
}

/**
 * The tools of a Responses request as functions, the only kind that every provider supports. A custom tool takes its free text as the
 * single argument `input`, and a tool of a namespace carries the namespace in its name.
 */
export class OfferedTools {
  readonly #byChatName = new Map<string, OfferedTool>();

  /** Collects the offered tools. Throws AppError invalid_parameter for tools that the caller does not run itself. */
  static *of(tools: unknown, ignored: IgnoredMembers): Steps<OfferedTools> {
    const offered = new OfferedTools();
    for (const [index, tool] of objectsOf(tools).entries()) {
      yield* offered.#offer(tool, `tools[${index}]`, undefined, ignored);
    }
    return offered;
  }

  /** Returns the chat request members that offer the tools under the caller's `tool_choice`. Throws AppError invalid_parameter. */
  *chatMembers(choice: unknown): Steps<JsonObject> {
    const { mode, name: forced, allowed } = yield* this.#choice(choice);
    const offered = [...this.#byChatName].filter(([name]) => allowed?.has(name) ?? true);
    return compact({
      tools: offered.length === 0 ? undefined : offered.map(([, { chatTool }]) => chatTool),
      tool_choice: offered.length === 0 ? undefined : forced === undefined ? mode : forcedFunction(forced),
    });
  }

  /** Returns the Responses request members that offer the tools, with namespaces flattened. Throws as {@link chatMembers} does. */
  *nativeMembers(choice: unknown): Steps<JsonObject> {
    const { mode, name, allowed } = yield* this.#choice(choice);
    const offered = [...this.#byChatName.values()].map(({ nativeTool }) => nativeTool);
    const reference = (chatName: string) => ({
      type: this.#byChatName.get(chatName)?.kind ?? 'function',
      name: chatName,
    });
    const chosen = allowed
      ? { type: 'allowed_tools', mode, tools: [...allowed].map(reference) }
      : name === undefined
        ? mode
        : reference(name);
    return offered.length === 0 ? {} : compact({ tools: offered, tool_choice: chosen });
  }

  /** Returns the name under which providers know the tool of an earlier call, whether it is still offered or not. */
  nameOf(item: JsonObject): string {
    return chatNameOf(textOf(item.name), namespaceOf(item));
  }

  /** Translates an earlier call into a chat call with its {@link nameOf} and its arguments. */
  chatCall(item: JsonObject): JsonObject {
    const name = this.nameOf(item);
    const free = item.type === 'custom_tool_call';
    const args = free ? JSON.stringify({ input: textOf(item.input) }) : textOf(item.arguments);
    const { id, extra } = providerToolId(item.call_id);
    return compact({ id, type: 'function', function: { name, arguments: args }, extra_content: extra });
  }

  /** Returns the members of an output item for a call of the chat function `chatName`, except for the input of the call. */
  itemOf(chatName: string): { readonly custom: boolean; readonly members: JsonObject } {
    const tool = this.#byChatName.get(chatName);
    const custom = tool?.kind === 'custom';
    const type = custom ? 'custom_tool_call' : 'function_call';
    const members = compact({ type, name: tool?.name ?? chatName, namespace: tool?.namespace });
    return { custom, members };
  }

  *#offer(
    tool: JsonObject,
    path: string,
    namespace: string | undefined,
    ignored: IgnoredMembers,
  ): Steps<void> {
    if (isStepOver()) {
      yield undefined;
    }
    const { type } = tool;
    if (type === 'namespace' && namespace === undefined) {
      for (const [index, inner] of objectsOf(tool.tools).entries()) {
        yield* this.#offer(inner, `${path}.tools[${index}]`, textOf(tool.name), ignored);
      }
      return;
    }
    if (OFFERED_ALWAYS.has(textOf(type))) {
      ignored.add(`tools[].${textOf(type)}`);
      return;
    }
    const name = textOf(tool.name);
    if ((type !== 'function' && type !== 'custom') || name === '') {
      const named = textOf(type).slice(0, 64);
      throw new AppError(
        'invalid_parameter',
        type === 'function' || type === 'custom'
          ? `${path}.name: is required`
          : `${path}.type ${JSON.stringify(named)}: only tools that the caller runs are supported (function, custom)`,
      );
    }
    const chatName = chatNameOf(name, namespace);
    const chatTool = type === 'custom' ? customAsFunction(tool, chatName) : functionOf(tool, chatName);
    const nativeTool = nativeOf(tool, type, chatName);
    this.#byChatName.set(chatName, { kind: type, name, namespace, chatTool, nativeTool });
  }

  *#choice(choice: unknown): Steps<ToolChoice> {
    if (typeof choice === 'string' || choice === undefined) {
      if (choice === 'required' && this.#byChatName.size === 0) {
        throw new AppError(
          'invalid_parameter',
          'tool_choice: requires a tool that you run, and tools has none',
        );
      }
      return { mode: choice };
    }
    const rule = objectOf(choice);
    if (rule.type === 'allowed_tools') {
      const allowed = yield* mapInSteps(objectsOf(rule.tools), (tool) => this.#named(tool));
      return { mode: rule.mode, allowed: new Set(allowed) };
    }
    return { mode: undefined, name: this.#named(rule) };
  }

  #named(reference: JsonObject): string {
    const chatName = chatNameOf(textOf(reference.name), namespaceOf(reference));
    if (!this.#byChatName.has(chatName)) {
      const named = (textOf(reference.name) || textOf(reference.type)).slice(0, 64);
      throw new AppError(
        'invalid_parameter',
        `tool_choice: there is no tool ${JSON.stringify(named)} in tools`,
      );
    }
    return chatName;
  }
}

/**
 * Extracts the free text for a custom tool from the arguments of its function. Returns the arguments unchanged when they do not have that
 * form.
 */
export function freeTextOf(args: string): string {
  const { input } = objectOf(parseJson(args));
  return typeof input === 'string' ? input : args;
}

function namespaceOf(item: JsonObject): string | undefined {
  return textOf(item.namespace) || undefined;
}

function chatNameOf(name: string, namespace: string | undefined): string {
  const whole = namespace === undefined ? name : `${namespace}__${name}`;
  if (whole.length <= FUNCTION_NAME_MAX) {
    return whole;
  }
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, DIGEST_LENGTH);
  return `${whole.slice(0, FUNCTION_NAME_MAX - DIGEST_LENGTH - 1)}_${digest}`;
}

function forcedFunction(name: string): JsonObject {
  return { type: 'function', function: { name } };
}

/** Returns a tool as the caller offered it, under its name at providers. */
function nativeOf(tool: JsonObject, type: ToolKind, name: string): JsonObject {
  const { description, parameters, strict, format } = tool;
  return type === 'custom'
    ? compact({ type, name, description: description ?? undefined, format })
    : compact({ type, name, description, parameters, strict });
}

function functionOf(tool: JsonObject, name: string): JsonObject {
  const { description, parameters } = tool;
  const strict = tool.strict === true ? true : undefined;
  return { type: 'function', function: compact({ name, description, parameters, strict }) };
}

function customAsFunction(tool: JsonObject, name: string): JsonObject {
  const format = objectOf(tool.format);
  const grammar =
    format.type === 'grammar'
      ? `The input must match this grammar (${textOf(format.syntax)}):\n${textOf(format.definition)}`
      : '';
  const description = [textOf(tool.description), grammar].filter((text) => text !== '').join('\n\n');
  const input = { type: 'string', description: 'The whole input of the tool, as plain text' };
  const parameters = {
    type: 'object',
    properties: { input },
    required: ['input'],
    additionalProperties: false,
  };
  return { type: 'function', function: { name, description, parameters } };
}
