import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { toAppError } from '../../http/answers/send.ts';
import { JsonPieces } from '../../http/input/json-pieces.ts';
import type { OpenSocket, SocketProtocol } from '../../http/web-sockets/socket-protocol.types.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { EventLoopQueue, InTurn } from '../../lib/event-loop-queue.ts';
import { mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectOf, objectsOf, parseJson, textOf, without } from '../../providers/json.ts';
import { type ResponseChain, ResponseChains } from './response-chains.ts';

/** Bytes of a message that are parsed in one step. */
const STEP_BYTES = 16 * 1024;
/** What a client has to send back for the model to know its reasoning. Here the connection keeps it. */
const SEALED_REASONING = 'reasoning.encrypted_content';
/** Members of an event that are not members of the request. */
const EVENT_MEMBERS = ['type', 'generate', 'input', 'previous_response_id', 'stream', 'stream_id'];
/** Headers of a failed response that tell its client when to ask again, and what to report. */
const TOLD_HEADERS = ['retry-after', 'x-request-id', 'x-should-retry'];
/** Requests of one connection at once, and names for their order. */
const UNANSWERED_MAX = 16;
const LANES_MAX = 16;
/** Events that end a response which later ones can continue. */
const CONTINUABLE = new Set(['response.completed', 'response.incomplete']);

export interface ResponsesSocketDependencies {
  readonly loopQueue: EventLoopQueue;
  readonly clock: Clock;
}

/**
 * Responses over a WebSocket: each `response.create` is a streamed response, whose events come as messages. With `previous_response_id` a
 * request continues a last response of its connection and has only the new items in `input`. Requests with the same `stream_id`, or without
 * one, come one after the other, others at once. Protocol: developers.openai.com/api/docs/guides/websocket-mode.
 */
export function responsesOverSocket(dependencies: ResponsesSocketDependencies): SocketProtocol {
  const chains = new ResponseChains();
  return {
    opened: (socket) => {
      const conversation = new Conversation(socket, { ...dependencies, chains });
      return (message) => conversation.receive(message);
    },
    errorMessage,
  };
}

/** Returns the event that reports a request that was rejected, with the status that it has over HTTP. */
function errorEvent(status: number, error: JsonObject, headers: JsonObject = {}): string {
  return JSON.stringify({ type: 'error', status, error: { param: null, ...error }, headers });
}

function errorMessage({ status, code, type, message }: AppError): string {
  return errorEvent(status, { code, type, message });
}

interface ConversationDependencies extends ResponsesSocketDependencies {
  readonly chains: ResponseChains;
}

/** Requests of one connection that come one after the other. The last response of each lane can be continued on any of them. */
class Lane {
  /** Repeated in each event, if the client gave it. */
  readonly streamId: string | undefined;
  /** Ends with the requests so far. */
  last: Promise<void> = Promise.resolve();

  constructor(streamId: string | undefined) {
    this.streamId = streamId;
  }

  /** Returns an event of the lane. */
  marked(event: string): string {
    return this.streamId === undefined
      ? event
      : `{"stream_id":${JSON.stringify(this.streamId)},${event.slice(1)}`;
  }
}

/** The requests of one connection. */
class Conversation {
  readonly #socket: OpenSocket;
  readonly #dependencies: ConversationDependencies;
  readonly #inTurn: InTurn;
  readonly #lanes = new Map<string | undefined, Lane>();
  /** Requests that wait for their response, or for its end. */
  #unanswered = 0;

  constructor(socket: OpenSocket, dependencies: ConversationDependencies) {
    const { chains, loopQueue } = dependencies;
    this.#socket = socket;
    this.#dependencies = dependencies;
    this.#inTurn = (steps) => loopQueue.run(socket.accountId, steps);
    const drop = () => {
      for (const lane of this.#lanes.values()) {
        chains.drop(lane);
      }
    };
    socket.signal.addEventListener('abort', drop, { once: true });
  }

  /** Handles a message. Never rejects: errors are reported to the client, which may have left. */
  async receive(message: Buffer): Promise<void> {
    let lane = new Lane(undefined);
    try {
      const event = objectOf(await this.#inTurn(parsed(message)));
      if (event.type === 'response.processed') {
        // Codex confirms what it received
        return;
      }
      lane = this.#laneOf(event);
      await this.#answer(event, lane);
    } catch (error) {
      if (!this.#socket.signal.aborted) {
        await this.#socket.send(lane.marked(errorMessage(toAppError(error))));
      }
    }
  }

  /** Returns the lane of a request. Throws AppError invalid_parameter, and concurrency_limit_exceeded for one lane too many. */
  #laneOf(event: JsonObject): Lane {
    if (event.type !== 'response.create') {
      throw new AppError(
        'invalid_parameter',
        'type: must be "response.create"; send what belongs to the request beside it',
      );
    }
    const streamId = event.stream_id ?? undefined;
    if (streamId !== undefined && typeof streamId !== 'string') {
      throw new AppError('invalid_parameter', 'stream_id: must be a string');
    }
    const lane = this.#lanes.get(streamId) ?? new Lane(streamId);
    if (!this.#lanes.has(streamId) && this.#lanes.size >= LANES_MAX) {
      throw tooMany(`a connection can have ${LANES_MAX} values of stream_id`);
    }
    this.#lanes.set(streamId, lane);
    return lane;
  }

  async #answer(event: JsonObject, lane: Lane): Promise<void> {
    if (this.#unanswered >= UNANSWERED_MAX) {
      throw tooMany(`a connection can have ${UNANSWERED_MAX} requests without their answer: wait for one`);
    }
    this.#unanswered += 1;
    const answer = lane.last.then(() => this.#create(event, lane));
    lane.last = answer.catch(() => undefined);
    try {
      await answer;
    } finally {
      this.#unanswered -= 1;
    }
  }

  async #create(event: JsonObject, lane: Lane): Promise<void> {
    const previous = textOf(event.previous_response_id);
    const chain = previous === '' ? undefined : this.#chain(previous);
    if (previous !== '' && !chain) {
      await this.#socket.send(lane.marked(errorEvent(400, notFound(previous))));
      return;
    }
    const added = await this.#inTurn(mapInSteps(itemsOf(event.input), (item) => JSON.stringify(item)));
    const items = [...(chain?.items ?? []), ...added];
    if (event.generate === false) {
      await this.#prepare(event, items, lane);
      return;
    }
    const response = await this.#socket.post(bodyOf(event, items));
    if (response.statusCode === 200) {
      await this.#forward(response, items, lane);
    } else {
      await this.#reject(response, lane);
    }
  }

  /** Keeps the items for the next request, without a response of the model. */
  async #prepare(event: JsonObject, items: readonly string[], lane: Lane): Promise<void> {
    const id = `resp_${randomUUID().replaceAll('-', '')}`;
    this.#keep(lane, { id, items });
    const created_at = Math.floor(this.#dependencies.clock.now() / 1_000);
    const response = { id, object: 'response', created_at, model: event.model, output: [], error: null };
    const states = [
      { type: 'response.created', status: 'in_progress', usage: null },
      { type: 'response.completed', status: 'completed', usage: NO_USAGE },
    ];
    for (const [sequence_number, { type, ...state }] of states.entries()) {
      const said = JSON.stringify({ type, sequence_number, response: { ...response, ...state } });
      await this.#socket.send(lane.marked(said));
    }
  }

  async #forward(response: IncomingMessage, items: readonly string[], lane: Lane): Promise<void> {
    for await (const { event = '', data } of eventsOf(response)) {
      if (CONTINUABLE.has(event)) {
        const { id, output } = objectOf(objectOf(parseJson(data)).response);
        this.#keep(lane, { id: textOf(id), items: continued(items, objectsOf(output)) });
      }
      await this.#socket.send(lane.marked(data));
    }
  }

  async #reject(response: IncomingMessage, lane: Lane): Promise<void> {
    const body = objectOf(parseJson(await readText(response)));
    const told = TOLD_HEADERS.filter((name) => response.headers[name] !== undefined);
    const headers = Object.fromEntries(told.map((name) => [name, response.headers[name]]));
    const event = errorEvent(response.statusCode ?? 500, objectOf(body.error), headers);
    await this.#socket.send(lane.marked(event));
  }

  #chain(id: string): ResponseChain | undefined {
    const { chains } = this.#dependencies;
    return [...this.#lanes.values()]
      .map((lane) => chains.find(lane, id))
      .find((chain) => chain !== undefined);
  }

  #keep(lane: Lane, chain: ResponseChain): void {
    if (!this.#socket.signal.aborted) {
      this.#dependencies.chains.keep(lane, this.#socket.accountId, chain);
    }
  }
}

function tooMany(message: string): AppError {
  return new AppError('concurrency_limit_exceeded', message, { retryAfterSeconds: 1 });
}

function notFound(previous: string): JsonObject {
  return {
    code: 'previous_response_not_found',
    type: 'invalid_request_error',
    message: `Only the last response of a connection can be continued, and ${previous} is not it: send the whole conversation in input, without previous_response_id.`,
    param: 'previous_response_id',
  };
}

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** Parses a message in steps. Throws AppError invalid_json. */
function* parsed(message: Buffer): Steps<unknown> {
  const pieces = new JsonPieces();
  for (let at = 0; at < message.length; at += STEP_BYTES) {
    pieces.add(message.subarray(at, at + STEP_BYTES));
    yield undefined;
  }
  return pieces.end();
}

function itemsOf(input: unknown): readonly unknown[] {
  if (typeof input === 'string') {
    return [{ type: 'message', role: 'user', content: input }];
  }
  return Array.isArray(input) ? input : [];
}

/** Returns the body of the request, in pieces. What is wrong with it is for the route to say. */
function bodyOf(event: JsonObject, items: readonly string[]): string[] {
  const include = Array.isArray(event.include) ? event.include : [];
  const sealed = include.includes(SEALED_REASONING) ? include : [...include, SEALED_REASONING];
  const rest = JSON.stringify({ ...without(event, ...EVENT_MEMBERS), stream: true, include: sealed });
  return [`${rest.slice(0, -1)},"input":[`, items.join(','), ']}'];
}

/** Returns the items that the next request continues. A compaction stands for everything before it. */
function continued(items: readonly string[], output: readonly JsonObject[]): readonly string[] {
  const isCompacted = output.some(({ type }) => type === 'compaction');
  // without its content the model could not be shown its reasoning, and servers reject an item that they cannot find
  const kept = output.filter((item) => item.type !== 'reasoning' || textOf(item.encrypted_content) !== '');
  return [...(isCompacted ? [] : items), ...kept.map((item) => JSON.stringify(item))];
}

interface ServerEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/** Reads the events of this service's own stream. Throws when the stream is cut. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<ServerEvent, void> {
  const events: ServerEvent[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  response.setEncoding('utf8');
  for await (const text of response) {
    parser.feed(text as string);
    yield* events.splice(0);
  }
}
