import { isCut, readFinish } from '../../providers/finish-reasons.ts';
import { isObject, type JsonObject, objectOf, parseJson, textOf } from '../../providers/json.ts';
import { ProviderFailure } from '../../providers/provider-failure.ts';
import type { StreamTranslator } from './chat-stream-to-messages.ts';

/**
 * Passes exact message events on to clients of the same dialect. Throws {@link ProviderFailure} `malformed` when the input of a tool call
 * ends without forming a JSON object, unless the answer was cut: clients' libraries fail with errors of their own at the end of
 * such a block, or run the tool with a part of its input.
 */
export function createMessagesCheck(): StreamTranslator {
  let pieces: string[] = [];
  let stop: JsonObject | undefined;
  return (event) => {
    const held = stop === undefined ? [] : [stop];
    const wasCut =
      event.type === 'message_delta' && isCut(readFinish(objectOf(event.delta).stop_reason)?.reason);
    if (stop !== undefined && !wasCut) {
      throw new ProviderFailure('malformed');
    }
    stop = undefined;
    if (event.type === 'content_block_start') {
      pieces = [];
    } else if (event.type === 'content_block_delta') {
      const piece = textOf(objectOf(event.delta).partial_json);
      if (piece !== '') {
        pieces.push(piece);
      }
    } else if (event.type === 'content_block_stop' && !isInput(pieces.join(''))) {
      stop = event;
      return [];
    }
    return [...held, event];
  };
}

function isInput(text: string): boolean {
  return text === '' || isObject(parseJson(text));
}
