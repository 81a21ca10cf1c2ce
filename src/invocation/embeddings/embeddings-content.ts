import type { Steps } from '../../lib/steps.ts';
import { inputsToEmbed } from '../../providers/embeddings-reader.ts';
import { type JsonObject, textOf, without } from '../../providers/json.ts';
import { type InputContent, inputContent } from '../input-content.ts';

/** Splits an outgoing embeddings request into the content to count: texts, and lists of tokens. */
export function* embeddingsContent(body: JsonObject): Steps<InputContent> {
  const inputs = inputsToEmbed(body.input);
  const lists = inputs.filter((input) => Array.isArray(input));
  const texts = inputs.map(textOf).filter((text) => text !== '');
  return {
    ...(yield* inputContent(without(body, 'input'))),
    text: texts.join('\n'),
    tokens: lists.reduce((sum, list) => sum + list.length, 0),
    parts: inputs.length,
  };
}
