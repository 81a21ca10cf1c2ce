import { z } from 'zod';
import { EventStream, eventFrame } from '../http/answers/sse.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import type { AccountEvent, AccountEvents } from './account-events.ts';
import type { SessionsService } from './sessions.service.ts';

export interface EventRouteParts {
  readonly events: AccountEvents;
  /** Used to end the stream of a session that was ended or a key that was disabled. */
  readonly sessions: Pick<SessionsService, 'isStillIn'>;
  /** Interval between those checks, in ms. Default 10,000. */
  readonly askMs?: number;
}

/**
 * Maximum duration of a stream, in ms. Browsers reconnect by themselves, so that no old streams stay on a process that is leaving or was
 * just given more memory.
 */
const STREAM_MS = 300_000;
const POLL_SECONDS = 60;
const ASK_MS = 10_000;

/** `/api/v1/events`. */
export function eventRoutes({ events, sessions, askMs = ASK_MS }: EventRouteParts): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/events',
      operationId: 'followAccount',
      summary: 'Follow the balance and the tasks of the account as server-sent events',
      description:
        'Events: `hello` first, then within about a second of each change `balance` (the balances of `GET /api/v1/account`), `generation` (id of the newest one that ended) and `task` (id and status). A key that is not an owner key gets only its own generations and tasks. The stream ends after five minutes: connect again. Reload what you show after each `hello`, because earlier changes are not reported. When too many pages follow, 503 says when to retry; poll until then.',
      tag: 'Console',
      access: 'inference',
      envelope: 'bare',
      response: { status: 200, schema: z.string(), mediaTypes: ['text/event-stream'] },
      errors: ['service_unavailable'],
      async handle({ principal, session, response, signal }) {
        const stream = new EventStream(response);
        if (response.req.method === 'HEAD') {
          stream.end();
          return undefined;
        }
        const over = new StopController();
        const end = () => over.abort();
        const leave = events.follow({
          accountId: principal.accountId,
          apiKeyId: principal.role === 'owner' ? null : principal.apiKeyId,
          tell: (changes) => void send(stream, changes).then((hasRead) => hasRead || end()),
          end,
        });
        if (!leave) {
          stream.release();
          throw new AppError(
            'service_unavailable',
            'too many pages follow their account on this instance; poll instead',
            {
              retryAfterSeconds: POLL_SECONDS,
            },
          );
        }
        // sends the headers now, so that the page can tell an error from a stream
        void stream.write(': changes are reported from the first hello on\n\n');
        const asking = setInterval(() => {
          sessions.isStillIn(principal, session?.token).then((isIn) => isIn || end(), end);
        }, askMs);
        const ending = setTimeout(end, STREAM_MS);
        await Promise.race([aborted(signal), aborted(over)]);
        leave();
        clearInterval(asking);
        clearTimeout(ending);
        stream.end();
        return undefined;
      },
    }),
  ];
}

/** Returns false when the reader left or was dropped for reading too slowly. */
async function send(stream: EventStream, events: readonly AccountEvent[]): Promise<boolean> {
  const frames = events.map(({ event, data }) => eventFrame(data, event)).join('');
  return (await stream.write(frames)) ?? true;
}

function aborted(signal: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener('abort', resolve, { once: true });
    }
  });
}
