import { merged } from '../lib/merged.ts';
import { CallArguments } from './call-arguments.ts';
import { type JsonObject, textOf } from './json.ts';
import { addsNothing, blockFacts, blockOfDelta, deltaFacts, splitBlock } from './messages-block.ts';
import type { StreamPart } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';

interface Block {
  /** The provider's index. Undefined for a block that we start for a delta that fits no other one. */
  readonly index: unknown;
  readonly start: JsonObject;
  /** Deltas that wait for their turn. */
  readonly waiting: JsonObject[];
  /** The input of a tool call, as its deltas tell it. */
  readonly input: CallArguments | undefined;
  /** What came with the start and is sent at the end, unless deltas of its type come: some servers send both. */
  late: JsonObject | undefined;
  /** Whether clients know of it. */
  begun: boolean;
  stopped: boolean;
}

/** Deltas of later blocks after which a block of text or thinking that nobody stopped counts as over. */
const OVERTAKEN_MAX = 16;

/**
 * Puts the blocks of a streamed message into the order that clients need: numbered from 0, and each one started, filled and stopped before
 * the next begins. Some servers start a block while another one is open, and then add to both: events of later blocks wait until the
 * earlier one is stopped. Other servers number all blocks 0 or never stop any: their new block ends the one before. Content
 * that came with the start of a block follows in a delta; an input or a signature only if none came in deltas.
 */
export class MessagesBlocks {
  /** Blocks that are not over for clients, in order. The first one has begun. */
  readonly #blocks: Block[] = [];
  /** Our index of the first block. */
  #index = 0;
  #overtaken = 0;

  /** Starts a block. */
  start(index: unknown, block: JsonObject, parts: StreamPart[]): void {
    for (const earlier of this.#blocks) {
      earlier.stopped ||= typeof index !== 'number' || earlier.index === index || earlier.index === undefined;
    }
    this.#blocks.push(newBlock(index, block));
    this.#advance(parts);
  }

  /**
   * Adds a delta to its block, `event` being the provider's. Throws {@link ProviderFailure} `malformed` for a delta that came without a
   * block, if none can be derived from it, and at the end of a block for several inputs in one.
   */
  add(event: JsonObject, delta: JsonObject, parts: StreamPart[]): void {
    const found = this.#blockFor(event.index, delta);
    if (!found && addsNothing(delta)) {
      return;
    }
    const block = found ?? this.#derived(delta, parts);
    if (block.late?.type === delta.type && !addsNothing(delta)) {
      block.late = undefined;
    }
    const certain = certainOf(block, delta);
    if (!certain) {
      return;
    }
    const [first] = this.#blocks;
    if (block !== first) {
      block.waiting.push(certain);
      this.#endOvertaken(parts);
      return;
    }
    this.#overtaken = 0;
    const exact = event.index === this.#index && event.type !== undefined && certain === event.delta;
    parts.push(partOf(exact ? event : deltaEvent(this.#index, certain), deltaFacts(certain)));
  }

  /** Stops the block with the provider's index. Without an index, or if it names no block, what is open stays open. */
  stop(index: unknown, parts: StreamPart[]): void {
    const block = typeof index === 'number' ? this.#named(index) : this.#blocks[0];
    if (block) {
      block.stopped = true;
      this.#advance(parts);
    }
  }

  /** Stops all blocks, at the end of the message. */
  end(parts: StreamPart[]): void {
    for (const block of this.#blocks) {
      block.stopped = true;
    }
    this.#advance(parts);
  }

  #named(index: unknown): Block | undefined {
    return this.#blocks.find((block) => !block.stopped && block.index === index);
  }

  /** Returns the block that a delta belongs to: the one of its index, otherwise the newest that it fits. */
  #blockFor(index: unknown, delta: JsonObject): Block | undefined {
    const named = index === undefined ? undefined : this.#named(index);
    return named && fits(delta, named.start)
      ? named
      : this.#blocks.findLast((block) => !block.stopped && fits(delta, block.start));
  }

  #derived(delta: JsonObject, parts: StreamPart[]): Block {
    const derived = newBlock(undefined, blockOfDelta(delta));
    for (const earlier of this.#blocks) {
      earlier.stopped ||= earlier.index === undefined;
    }
    this.#blocks.push(derived);
    this.#advance(parts);
    return derived;
  }

  /** A server that forgets to stop its blocks must not cost its clients the stream. The input of a tool is never given up. */
  #endOvertaken(parts: StreamPart[]): void {
    const [first] = this.#blocks;
    this.#overtaken += 1;
    if (first && this.#overtaken >= OVERTAKEN_MAX && isProse(first.start)) {
      first.stopped = true;
      this.#advance(parts);
    }
  }

  /** Tells clients of the first block, and of the next ones if it is over. */
  #advance(parts: StreamPart[]): void {
    for (let block = this.#blocks[0]; block; block = this.#blocks[0]) {
      if (!block.begun) {
        block.begun = true;
        const { start } = block;
        const wire = { type: 'content_block_start', index: this.#index, content_block: start };
        parts.push(partOf(wire, blockFacts(start)));
        for (const delta of block.waiting) {
          parts.push(partOf(deltaEvent(this.#index, delta), deltaFacts(delta)));
        }
      }
      if (!block.stopped) {
        return;
      }
      const late = block.late ?? inputDelta(block.input?.end() ?? '');
      if (block.input?.areSeveral) {
        throw new ProviderFailure('malformed');
      }
      if (!addsNothing(late)) {
        parts.push(partOf(deltaEvent(this.#index, late), deltaFacts(late)));
      }
      parts.push(partOf({ type: 'content_block_stop', index: this.#index }, NOTHING));
      this.#blocks.shift();
      this.#index += 1;
      this.#overtaken = 0;
    }
  }
}

/** Clients get content in deltas only: some ignore what the start of a block holds. */
function newBlock(index: unknown, block: JsonObject): Block {
  const { start, deltas } = splitBlock(block);
  const late = deltas.find(({ type }) => type === 'input_json_delta' || type === 'signature_delta');
  return {
    index,
    start,
    waiting: deltas.filter((delta) => delta !== late),
    input: block.type === 'tool_use' ? new CallArguments(false) : undefined,
    late,
    begun: false,
    stopped: false,
  };
}

/** Returns what a delta is certain to add. Some servers repeat an input that is complete. */
function certainOf({ input }: Block, delta: JsonObject): JsonObject | undefined {
  if (!input || delta.type !== 'input_json_delta' || addsNothing(delta)) {
    return delta;
  }
  const piece = textOf(delta.partial_json);
  const certain = input.add(piece);
  return certain === piece ? delta : certain === '' ? undefined : merged(delta, { partial_json: certain });
}

function inputDelta(partial_json: string): JsonObject {
  return { type: 'input_json_delta', partial_json };
}

const NOTHING = { text: '', reasoning: '' };

function partOf(wire: JsonObject, { text, reasoning }: { text: string; reasoning: string }): StreamPart {
  return { wire, text, reasoning };
}

function deltaEvent(index: number, delta: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta };
}

/** What each known type of delta adds to, and what each known type of block holds. */
const KIND_OF_DELTA: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  input_json_delta: 'input',
};
const KIND_OF_BLOCK: Readonly<Record<string, string>> = {
  text: 'text',
  thinking: 'thinking',
  tool_use: 'input',
  server_tool_use: 'input',
  mcp_tool_use: 'input',
};

/** Returns whether a block can hold a delta. We do not know what types that are new to us go with. */
function fits(delta: JsonObject, block: JsonObject): boolean {
  const wanted = KIND_OF_DELTA[textOf(delta.type)];
  const held = KIND_OF_BLOCK[textOf(block.type)];
  return wanted === undefined || held === undefined || wanted === held;
}

function isProse(block: JsonObject): boolean {
  return block.type === 'text' || block.type === 'thinking';
}
