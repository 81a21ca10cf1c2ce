import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';
import { overloaded } from '../../lib/event-loop-queue.ts';
import type { Logger } from '../../lib/logger.ts';
import { envelopeOfPath, errorBody } from '../answers/envelope.ts';
import { requestIdOf } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { CallPacer } from './call-pacer.ts';

/** Finds the account of a request. */
export interface CallerLookup {
  /** Returns the account of a key seen before; null for what cannot be a key; undefined for a key not seen yet. Does no I/O. */
  known(headers: IncomingHttpHeaders): string | null | undefined;
  /** Looks up an unseen key, so that `known` finds it. Never rejects. */
  introduce(headers: IncomingHttpHeaders): Promise<void>;
}

export interface FairAdmissionOptions {
  readonly listener: RequestListener;
  readonly routes: readonly Route[];
  /** Resolves a path by the aliases in force. Called for every POST that is not to a paid path itself. */
  readonly resolve: (path: string) => string;
  readonly pacer: CallPacer;
  readonly callers: CallerLookup;
  /** Called for a connection on which a known key was shown, even if the call is rejected. */
  readonly onKnown: (connection: Socket) => void;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Callers without a valid key count as one account with the smallest share. */
const STRANGERS = 'strangers';
const STRANGERS_WEIGHT = 0.1;
/** Rejecting a stranger takes a tenth of the work of a call. */
const STRANGER_COST = 0.1;
/** Maximum number of concurrent lookups of unseen keys before their turn; callers beyond it wait with the strangers. */
const INTRODUCTIONS_MAX = 1_000;
/** Bytes of prompt that take as much work as the rest of a call, most of it counting tokens: a call took 0.64 ms, and 0.036 ms per kB. */
const TEXT_BYTES_PER_COST = 16 * 1024;
/** Bytes beyond this are mostly images and documents, whose tokens are not counted and which another thread parses. */
const TEXT_BYTES_MAX = 256 * 1024;
const MEDIA_BYTES_PER_COST = 64 * 1024;
/** Maximum cost of a body. */
const BODY_COST_MAX = 64;
/** Paths that ask for a key. */
const KEYED = /^\/(?:api|v1|v3|vendorx)\//;
/** Maximum Retry-After of rejected calls, in seconds. Spread at random, or all of them would return together. */
const RETRY_SECONDS_MAX = 5;

const REFUSAL = overloaded();

/**
 * Lets calls begin in turns while more arrive than the process can handle: see {@link CallPacer}. Until its turn, a call only has its
 * caller identified: no body is read, no log line written. Reads, settlements, payment events and operators do not wait; strangers do,
 * whatever they request.
 */
export function admitFairly(options: FairAdmissionOptions): RequestListener {
  const { listener, pacer, callers, resolve, onKnown } = options;
  const takesPay = paidPaths(options.routes);
  const refused = observeRefusals(options);
  let introductions = 0;
  return (request, response) => {
    const [asked = ''] = (request.url ?? '').split('?', 1);
    const path = request.method === 'POST' && !takesPay(asked) ? resolve(asked) : asked;
    const isPaid = request.method === 'POST' && takesPay(path);
    const begin = () => listener(request, response);
    if (!isPaid && !KEYED.test(path)) {
      begin();
      return;
    }
    const cost = isPaid ? 1 + bodyCost(request.headers) : STRANGER_COST;
    if (pacer.admits(cost)) {
      begin();
      return;
    }
    const wait = (account: string | null | undefined): void => {
      if (account) {
        onKnown(request.socket);
      }
      if (account && !isPaid) {
        begin();
        return;
      }
      pacer.enqueue({
        begin,
        refuse: () => {
          refused();
          refuse(request.headers, response, path);
        },
        isGone: () => response.destroyed,
        ...(account
          ? { account, weight: 1, cost }
          : { account: STRANGERS, weight: STRANGERS_WEIGHT, cost: STRANGER_COST }),
      });
    };
    const account = callers.known(request.headers);
    if (account !== undefined || introductions >= INTRODUCTIONS_MAX) {
      wait(account);
      return;
    }
    introductions += 1;
    void callers.introduce(request.headers).then(() => {
      introductions -= 1;
      wait(callers.known(request.headers));
    });
  };
}

/** Returns the cost of a body, which grows with its length. Without an announced length, half of the maximum is assumed. */
function bodyCost(headers: IncomingHttpHeaders): number {
  const announced = headers['content-length'];
  if (announced === undefined) {
    return BODY_COST_MAX / 2;
  }
  const bytes = Number(announced);
  const text = Math.min(bytes, TEXT_BYTES_MAX);
  return Math.min(text / TEXT_BYTES_PER_COST + (bytes - text) / MEDIA_BYTES_PER_COST, BODY_COST_MAX);
}

function refuse(headers: IncomingHttpHeaders, response: Parameters<RequestListener>[1], path: string): void {
  const { text: requestId } = requestIdOf(headers['x-request-id']);
  const body = JSON.stringify(errorBody(REFUSAL, requestId, envelopeOfPath(path)));
  response.writeHead(REFUSAL.status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Retry-After': 1 + Math.floor(Math.random() * RETRY_SECONDS_MAX),
    'x-should-retry': 'true',
    'x-request-id': requestId,
  });
  response.end(body);
}

/** Time without a rejection after which an overload is over, in ms. */
const CALM_MS = 5_000;

/** Returns a function that counts rejections, and logs when they begin and when they have ended. */
function observeRefusals({ registry, log, pacer }: FairAdmissionOptions): () => void {
  const shed = new Counter({
    name: 'tollgate_http_requests_shed_total',
    help: 'Calls rejected with 503 because they would have waited too long for their turn',
    registers: [registry],
  });
  new Gauge({
    name: 'tollgate_http_requests_waiting',
    help: 'Calls waiting for their turn to begin',
    registers: [registry],
    collect() {
      this.set(pacer.waiting);
    },
  });
  let calm: NodeJS.Timeout | undefined;
  return () => {
    shed.inc();
    if (calm) {
      calm.refresh();
      return;
    }
    log.warn({ waiting: pacer.waiting }, 'overloaded: some calls are rejected');
    calm = setTimeout(() => {
      calm = undefined;
      log.warn('no longer overloaded');
    }, CALM_MS).unref();
  };
}

/**
 * Returns a function that says whether a POST to a path is a paid call. A route that takes the rest of the path covers all paths below
 * it.
 */
function paidPaths(routes: readonly Route[]): (path: string) => boolean {
  const paid = routes
    .filter((route) => route.idempotency === 'replay' && route.access === 'inference')
    .map(({ path }) => path);
  const exact = new Set(paid);
  const prefixes = paid.flatMap((path) => /^(.*\/)\{\w+\+\}$/.exec(path)?.[1] ?? []);
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}
