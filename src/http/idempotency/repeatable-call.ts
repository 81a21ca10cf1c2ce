import type { Hash } from 'node:crypto';
import { newOwnedUuid, newUuid, ownedByRequest, uuidTimeMs } from '../../lib/ids.ts';
import { StopController, type StopSignal } from '../../lib/stop-signal.ts';
import type { Exchange } from '../exchange.ts';
import { FieldError } from '../input/field-error.ts';
import type { Kernel } from '../kernel.ts';
import type { Route } from '../route.ts';
import {
  fingerprint,
  idempotencyKey,
  type KeyedCall,
  type LeftCall,
  type RecordedAnswer,
  type RepeatableCall,
} from './idempotency.ts';

/** Ms after its beginning in which a request gives its own id to what it makes. */
const REQUEST_AGE_MS_MAX = 1_000;
/** So often within its grace a call that was left is looked at: whether somebody still wants it. */
const LOOKS_WITHIN_GRACE = 4;

/** Whose call it is. */
export interface CallOwner {
  readonly accountId: string;
  readonly apiKeyId: string;
}

/** A request that may come again. */
export interface Repeatable {
  readonly accountId: string;
  /** Its Idempotency-Key; undefined: only its SDK repeats it. */
  readonly key: string | undefined;
  /** How often its SDK has tried before. */
  readonly retries: number;
  /** Takes the body in as it comes. */
  readonly fingerprint: Hash;
}

/** Who calls: whose what the call makes will be, and whether it may come again. */
export interface CallOrigin {
  /** Undefined for an operator and where nobody is asked who they are: what they make belongs to no account. */
  readonly accountId: string | undefined;
  readonly repeatable: Repeatable | undefined;
}

/** A call while it runs, for as long as somebody wants it. */
export interface OpenCall {
  readonly generationId: string;
  /** Aborts when nobody wants the answer any more. */
  readonly signal: StopSignal;
  /** Where its answer is to be kept; undefined: nowhere. To be called once, when the handler has ended. */
  end(): Promise<KeyedCall | undefined>;
}

/**
 * Whether a request may come again, known from its head. Undefined where the client says nothing of it. Throws AppError
 * invalid_parameter for an Idempotency-Key that is wrong or not honoured.
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
 * Begins a call of an account, or of nobody, unless it repeats one: the answer of that, waited for if it still runs, is returned then.
 *
 * When its client leaves, a call is given up, except where its answer can still be had. One with an Idempotency-Key goes on to its end. So
 * does one whose SDK retries by itself (it counts: `x-stainless-retry-count`) and has joined; until then it goes on for a grace. A stream
 * cannot be had twice, and is given up.
 */
export async function beginCall(
  kernel: Kernel,
  route: Route,
  exchange: Exchange,
  { accountId: caller, repeatable }: CallOrigin,
  body: unknown,
): Promise<OpenCall | RecordedAnswer> {
  const departure = departureOf(exchange);
  const nowMs = kernel.clock.now();
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
    const begun = await kernel.idempotency.begin({ ...call, key }, isStream ? undefined : departure);
    return 'body' in begun ? begun : withKey(kernel, accountId, begun, departure, isStream);
  }
  const joined = retries > 0 ? await kernel.idempotency.join(call, departure) : undefined;
  return joined ?? joinable(kernel, call, departure);
}

/**
 * What a request makes has the request's id but for the account's bucket, so that its row need not keep that. Not where the body took long:
 * lists go by the time in ids.
 */
function newGenerationId({ requestUuid }: Exchange, accountId: string, nowMs: number): string {
  const isRecent =
    requestUuid !== undefined && Math.abs(nowMs - uuidTimeMs(requestUuid)) < REQUEST_AGE_MS_MAX;
  return isRecent ? ownedByRequest(requestUuid, accountId) : newOwnedUuid(accountId, nowMs);
}

/** How often the SDK of a caller has tried this call before; undefined for callers that do not say. */
function retriesBefore(headers: Exchange['request']['headers']): number | undefined {
  const told = headers['x-stainless-retry-count'];
  return typeof told === 'string' && /^\d{1,3}$/.test(told) ? Number(told) : undefined;
}

function asksForStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
}

/** A call that ends with its client. */
function givenUp(generationId: string, signal: StopSignal): OpenCall {
  return { generationId, signal, end: async () => undefined };
}

function withKey(
  { idempotency }: Kernel,
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
    async end() {
      departure.removeEventListener('abort', onLeave);
      leavePlace?.();
      return keyed;
    },
  };
}

/** A call that its SDK may repeat without saying more than that it does. */
function joinable({ idempotency }: Kernel, call: RepeatableCall, departure: StopSignal): OpenCall {
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
    // an unreadable row is looked at again
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

/** Aborts when the connection closes before the response is finished. */
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
