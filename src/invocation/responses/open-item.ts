import type { JsonObject } from '../../providers/json.ts';
import type { OfferedTools } from './offered-tools.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** An event of a Responses stream, without its sequence number. */
export type ResponseEvent = JsonObject & { readonly type: string };

export interface OutputOptions {
  /** Part of the ids of all items. */
  readonly ulid: string;
  readonly tools: OfferedTools;
  /** Whether reasoning is included, and whether in the sealed form that clients send back. */
  readonly reasoning: boolean;
  readonly sealed: boolean;
}

/** An item whose pieces are still arriving. */
export interface OpenItem {
  readonly index: number;
  /** Closes the item and returns the closing events. `item` is complete afterwards. */
  close(status: ItemStatus): ResponseEvent[];
  readonly item: JsonObject;
}

/** Returns the event that adds an item. */
export function added({ index, item }: OpenItem): ResponseEvent {
  return { type: 'response.output_item.added', output_index: index, item };
}

/** Returns the event that completes an item. */
export function done({ index, item }: OpenItem): ResponseEvent {
  return { type: 'response.output_item.done', output_index: index, item };
}
