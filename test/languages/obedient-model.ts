import { jsonExampleOf } from '../../src/providers/builtin-reply.ts';
import type { Script, UpstreamRequest } from '../factories/upstream-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of two dialects
type Json = any;

/**
 * A model that does what it is told, in either dialect: it calls the required tool with the numbers and quoted words of the question, and
 * answers with what a schema requires. Suites that judge models can run against it.
 */
export function obedient({ body }: UpstreamRequest): Partial<Script> {
  const question = JSON.stringify(body.messages.at(-1).content);
  const tools: Json[] = (body.tools ?? []).map((tool: Json) => tool.function ?? tool);
  const named = body.tool_choice?.function?.name ?? body.tool_choice?.name;
  const tool = tools.find(({ name }) => name === named) ?? tools[0];
  const call = tool && {
    name: tool.name,
    arguments: filled(tool.parameters ?? tool.input_schema, question),
  };
  const format = body.response_format ?? body.output_config?.format;
  const schema = format?.json_schema?.schema ?? format?.schema;
  if (schema) {
    return { call, words: [JSON.stringify(filled(schema, question))] };
  }
  return format?.type === 'json_object'
    ? { call, words: [JSON.stringify(Object.fromEntries(quoted(question).map((word) => [word, word])))] }
    : { call };
}

function filled(schema: Json, question: string): Json {
  const example = jsonExampleOf(schema) as Json;
  const number = /-?\d+/.exec(question)?.[0];
  const [word] = quoted(question);
  for (const [name, { type }] of Object.entries<Json>(schema.properties ?? {})) {
    if (name in example && type === 'integer' && number !== undefined) {
      example[name] = Number(number);
    } else if (name in example && type === 'string' && word !== undefined) {
      example[name] = word;
    }
  }
  return example;
}

function quoted(text: string): string[] {
  return [...text.matchAll(/'([^']+)'/g)].map(([, word = '']) => word);
}
