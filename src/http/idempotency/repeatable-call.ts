import type { Hash } from 'node:crypto';
import { newOwnedUuid, newUuid, ownedByRequest, uuidTimeMs } from '../../lib/ids.ts';
import { StopController, type StopSignal } from '../../lib/stop-signal.ts';
import type { Exchange } from '../exchange.ts';
import { FieldError } from '../input/validate.ts';
import type { RequestPipeline } from '../request-pipeline.ts';
import type { Route } from '../route.ts';
import {
  fingerprint,
  idempotencyKey,
  type KeyedCall,
  type LeftCall,
  type RecordedAnswer,
  type RepeatableCall,
} from './idempotency.ts';

/** Age up to which a request passes its own id on to what it creates, in ms. */
const REQUEST_AGE_MS_MAX = 1_000;
/** Number of checks per grace period of whether a call whose client left is still wanted. */
const LOOKS_WITHIN_GRACE = 4;

/** The owner of a call. */
export interface CallOwner {
  readonly accountId: string;
  readonly apiKeyId: string;
}

/** A request that may be repeated. */
export interface Repeatable {
  readonly accountId: string;
  /** Its Idempotency-Key; undefined when only its SDK repeats it. */
  readonly key: string | undefined;
  /** Number of earlier attempts by its SDK. */
  readonly retries: number;
  /** Takes in the body as it arrives. */
  readonly fingerprint: Hash;
}

/** The caller: who owns what the call creates, and whether it may be repeated. */
export interface CallOrigin {
  /** Undefined for operators and on public routes: what they create belongs to no account. */
  readonly accountId: string | undefined;
  readonly repeatable: Repeatable | undefined;
}

/** A running call, which lasts as long as somebody wants it. */
export interface OpenCall {
  readonly generationId: string;
  /** Aborts when nobody wants the answer any more. */
  readonly signal: StopSignal;
  /** Whether it runs to its end after its client has left, for a repeated request to fetch. */
  readonly goesOn?: boolean;
  /** Returns where the answer is to be stored; undefined for nowhere. Must be called once, when the handler has ended. */
  end(): Promise<KeyedCall | undefined>;
}

/**
 * Determines from the headers whether a request may be repeated. Returns undefined when it has neither an Idempotency-Key nor a retry
 * count. Throws AppError invalid_parameter for an Idempotency-Key that is malformed or not supported.
 */
export function repeatableOf(
  route: Route,
  { request }: Exchange,
  owner: CallOwner | undefined,
): Repeatable | undefined {
  const header = request.headers['idempotency-key'];
  if (route.method === 'post' && route.idempotency === undefined && header !== undefined) {
    throw new FieldError(
      'Idempotency-Key',
      'is not supported here: a repeated request would act again; leave it out',
    );
  }
  if (route.idempotency !== 'replay' || !owner) {
    return undefined;
  }
  const key = idempotencyKey(header);
  const retries = route.access === 'inference' ? retriesBefore(request.headers) : undefined;
  return key === undefined && retries === undefined
    ? undefined
    : {
        accountId: owner.accountId,
        key,
        retries: retries ?? 0,
        fingerprint: fingerprint(owner.apiKeyId, request.method, route.path),
      };
}

/**
 * Begins a call of an account, or of none. If it repeats an earlier call, returns the answer of that call instead and waits for it while
 * it still runs.
 *
 * When its client leaves, a call is aborted unless its answer can still be fetched. A call with an Idempotency-Key runs to its end. So
 * does a call whose SDK retries by itself (it counts: `x-stainless-retry-count`) once the retry has joined; until then it continues for a
 * grace period. A stream cannot be fetched twice and is aborted.
 */
export async function beginCall(
  pipeline: RequestPipeline,
  route: Route,
  exchange: Exchange,
  { accountId: caller, repeatable }: CallOrigin,
  body: unknown,
): Promise<OpenCall | RecordedAnswer> {
  const departure = departureOf(exchange);
  const nowMs = pipeline.clock.now();
  const generationId = caller === undefined ? newUuid(nowMs) : newGenerationId(exchange, caller, nowMs);
  const isStream = route.response.stream !== undefined && asksForStream(body);
  if (!repeatable || (isStream && repeatable.key === undefined)) {
    return givenUp(generationId, departure);
  }
  const { accountId, key, retries } = repeatable;
  const call = {
    accountId,
    fingerprint: repeatable.fingerprint.digest('hex'),
    requestId: exchange.requestId,
    generationId,
  };
  if (key !== undefined) {
    const begun = await pipeline.idempotency.begin({ ...call, key }, isStream ? undefined : departure);
    return 'body' in begun ? begun : withKey(pipeline, accountId, begun, departure, isStream);
  }
  const joined = retries > 0 ? await pipeline.idempotency.join(call, departure) : undefined;
  return joined ?? joinable(pipeline, call, departure);
}

/**
 * Returns the id of what a request creates: the request's id except for the account's bucket, so that the row need not store the
 * request's id. A request whose body took long gets a new id, because lists are ordered by the time in ids.
 */
function newGenerationId({ requestUuid }: Exchange, accountId: string, nowMs: number): string {
  const isRecent =
    requestUuid !== undefined && Math.abs(nowMs - uuidTimeMs(requestUuid)) < REQUEST_AGE_MS_MAX;
  return isRecent ? ownedByRequest(requestUuid, accountId) : newOwnedUuid(accountId, nowMs);
}

/** Returns how often the caller's SDK has tried this call before; undefined for callers that do not say. */
function retriesBefore(headers: Exchange['request']['headers']): number | undefined {
  const told = headers['x-stainless-retry-count'];
  return typeof told === 'string' && /^\d{1,3}$/.test(told) ? Number(told) : undefined;
}

function asksForStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
}

/** Returns a call that ends when its client leaves. */
function givenUp(generationId: string, signal: StopSignal): OpenCall {
  return { generationId, signal, end: async () => undefined };
}

function withKey(
  { idempotency }: RequestPipeline,
  accountId: string,
  keyed: KeyedCall,
  departure: StopSignal,
  isStream: boolean,
): OpenCall {
  const { generationId } = keyed;
  if (isStream || departure.aborted) {
    return { generationId, signal: departure, end: async () => keyed };
  }
  const wanted = new StopController();
  let leavePlace: (() => void) | undefined;
  const onLeave = () => {
    leavePlace = idempotency.goingOn.take(accountId);
    if (!leavePlace) {
      wanted.abort();
    }
  };
  departure.addEventListener('abort', onLeave, { once: true });
  return {
    generationId,
    signal: wanted.signal,
    goesOn: true,
    async end() {
      departure.removeEventListener('abort', onLeave);
      leavePlace?.();
      return keyed;
    },
  };
}

/** Returns a call that its SDK may repeat without an Idempotency-Key. */
function joinable({ idempotency }: RequestPipeline, call: RepeatableCall, departure: StopSignal): OpenCall {
  const wanted = new StopController();
  let left: Promise<LeftCall | undefined> | undefined;
  let watch: NodeJS.Timeout | undefined;
  let leavePlace: (() => void) | undefined;
  const linger = async (): Promise<LeftCall | undefined> => {
    const leftCall = leavePlace && (await idempotency.leave(call));
    if (!leftCall) {
      wanted.abort();
      return undefined;
    }
    watch = setInterval(
      () => void giveUpUnlessWanted(leftCall),
      idempotency.graceMs / LOOKS_WITHIN_GRACE,
    ).unref();
    return leftCall;
  };
  const giveUpUnlessWanted = async (leftCall: LeftCall): Promise<void> => {
    // a row that cannot be read is checked again later
    if (!(await leftCall.isWanted().catch(() => true))) {
      wanted.abort();
    }
  };
  const onLeave = () => {
    leavePlace = idempotency.goingOn.take(call.accountId);
    left = linger();
  };
  if (departure.aborted) {
    wanted.abort();
  }
  departure.addEventListener('abort', onLeave, { once: true });
  return {
    generationId: call.generationId,
    signal: wanted.signal,
    async end() {
      departure.removeEventListener('abort', onLeave);
      const leftCall = await left;
      clearInterval(watch);
      leavePlace?.();
      return leftCall;
    },
  };
}

/** Returns a signal that aborts when the connection closes before the response is finished. */
function departureOf({ response }: Exchange): StopSignal {
  const controller = new StopController();
  response.once('close', () => {
    if (!response.writableFinished) {
      controller.abort();
    }
  });
  if (response.destroyed && !response.writableFinished) {
    controller.abort();
  }
  return controller.signal;
}
