import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/providers/json.ts';
import type { StreamPart } from '../../src/providers/provider.types.ts';
import type { EventReader } from '../../src/providers/stream-reading.ts';

/** What a client makes of a stream: its pieces put together. */
export interface StreamedAnswer {
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  /** Of each call: id, name, arguments or free text. */
  readonly calls: string[][];
  readonly finish: string | undefined;
}

/** Reads events as the provider sent them, to their end, and puts the answer together as chat clients do. */
export function answerIn(reader: EventReader, events: readonly JsonObject[]): StreamedAnswer {
  const parts: StreamPart[] = [];
  for (const event of events) {
    // some members of test events are left out by being undefined
    reader.read(JSON.parse(JSON.stringify(event)), parts);
  }
  reader.done();
  reader.finish(parts);
  const deltas = parts.flatMap(({ wire }) => objectsOf(wire.choices)).map(({ delta }) => objectOf(delta));
  const joined = (name: string) => deltas.map((delta) => textOf(delta[name])).join('');
  const calls: string[][] = [];
  for (const { index, id, function: called, custom } of deltas.flatMap((delta) =>
    objectsOf(delta.tool_calls),
  )) {
    const { name, arguments: args, input } = objectOf(called ?? custom);
    const known = calls[Number(index)] ?? ['', '', ''];
    calls[Number(index)] = [id, name, args ?? input].map((more, place) => known[place] + textOf(more));
  }
  return {
    text: joined('content'),
    refusal: joined('refusal'),
    reasoning: joined('reasoning'),
    calls,
    finish: parts.at(-1)?.finishReason,
  };
}
