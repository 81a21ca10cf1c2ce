import { createBullBoard } from '@bull-board/api';
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { AppViewRoute } from '@bull-board/api/typings/app';
import { ExpressAdapter } from '@bull-board/express';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { boardQueues } from '../../../queues/board-queues.ts';
import { type Producer, QueueUnavailableError } from '../../../queues/producer.ts';
import { withinTime } from '../../../queues/within-time.ts';
import { AppError } from '../../lib/errors.ts';
import { publicId } from '../../lib/ids.ts';
import type { AuditStore } from '../audit.store.ts';
import { LOOK_AGAIN_SECONDS, queuesUnavailablePage } from './login-page.ts';
import { operatorOf } from './operator-gate.ts';
import { sendOperatorPage } from './page-frame.ts';

interface QueueBoardOptions {
  /** Path of the board as browsers see it. */
  readonly path: string;
  readonly title: string;
  readonly badge: { readonly label: string; readonly color: string };
  readonly links: readonly { readonly text: string; readonly url: string }[];
}

/** Allows only what the board's own pages need, from this origin. The board creates style elements at run time. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self' 'unsafe-inline'`,
  `img-src 'self' data:`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `base-uri 'self'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

/** The upstream page loads its typeface from a font service, which would leak the operator's address. */
const FOREIGN_LINK = /<link[^>]+href="https?:\/\/[^>]*>/g;

/** The upstream adapter, with an entry page that loads nothing from other origins. */
class OfflineAdapter extends ExpressAdapter {
  override setEntryRoute(route: AppViewRoute): ExpressAdapter {
    this.app.disable('x-powered-by');
    const paths = Array.isArray(route.route) ? route.route : [route.route];
    this.app.get([...paths], (_request: Request, response: Response) => {
      const { name, params } = route.handler({ basePath: this.basePath, uiConfig: this.uiConfig });
      response.render(name, params, (error: Error | null, html: string) => {
        if (error) {
          throw error;
        }
        response.setHeader('Cache-Control', 'no-store');
        response.type('html').send(html.replace(FOREIGN_LINK, ''));
      });
    });
    return this;
  }
}

interface QueueBoard {
  readonly handler: RequestHandler;
  /** Replaces the queues that are shown. */
  show(queues: readonly BullMQAdapter[]): void;
}

export interface GuardedBoardParts {
  readonly producer: Producer;
  /** The current queues; they change with the catalog. */
  readonly queueNames: () => readonly string[];
  readonly audit: Pick<AuditStore, 'append'>;
  /** Path of the operator pages as browsers see it. */
  readonly base: string;
  readonly readOnly: boolean;
}

const ANSWER_WITHIN_MS = 2_000;
const SAFE_METHODS = ['GET', 'HEAD'];

/**
 * Creates a board for operators who have passed the gate. The API process can start without Redis: it is contacted on each
 * request.
 */
export function guardedBoard(parts: GuardedBoardParts): Router {
  const { base, readOnly } = parts;
  const board = createQueueBoard(boardOptions(base, readOnly));
  let shown: string | undefined;
  const refresh = (): void => {
    const names = parts.queueNames();
    if (names.join() !== shown) {
      const taskUrl = (id: string) => `${base}/tasks/${publicId('generation', id)}`;
      board.show(boardQueues(parts.producer, names, { readOnly, taskUrl }));
      shown = names.join();
    }
  };
  const router = Router();
  router.use(readOnly ? refuseWrites : recordWrites(parts.audit));
  router.use((request, response, next) => {
    if (request.path.startsWith('/static/')) {
      next();
      return;
    }
    const look = async (): Promise<void> => {
      refresh();
      await parts.producer.queue('maintenance').getJobCountByTypes('active');
    };
    withinTime(look, ANSWER_WITHIN_MS).then(
      () => next(),
      (error: unknown) => {
        if (error instanceof QueueUnavailableError && request.accepts('html', 'json') === 'html') {
          sendOperatorPage(response, queuesUnavailablePage(base));
          return;
        }
        next(
          new AppError('service_unavailable', 'The queues are currently unreachable.', {
            retryAfterSeconds: LOOK_AGAIN_SECONDS,
            cause: error,
          }),
        );
      },
    );
  });
  router.use(board.handler);
  return router;
}

const refuseWrites: RequestHandler = (request, response, next) => {
  if (!SAFE_METHODS.includes(request.method)) {
    response.setHeader('Allow', SAFE_METHODS.join(', '));
    throw new AppError('method_not_allowed', 'This board is read-only.');
  }
  next();
};

/** Writes the audit entry first: if that fails, the action is rejected. */
function recordWrites(audit: Pick<AuditStore, 'append'>): RequestHandler {
  return async (request, response, next) => {
    if (!SAFE_METHODS.includes(request.method)) {
      await audit.append({
        operator: operatorOf(response),
        action: 'board.write',
        object: request.path.slice(0, 500),
        requestId: String(response.getHeader('x-request-id')),
        detail: { method: request.method },
      });
    }
    next();
  };
}

function boardOptions(base: string, readOnly: boolean): QueueBoardOptions {
  const other = readOnly
    ? { text: 'Open the writable board', url: `${base}/queues-rw` }
    : { text: 'Back to the read-only board', url: `${base}/queues` };
  return {
    path: `${base}/${readOnly ? 'queues' : 'queues-rw'}`,
    title: 'Tollgate queues',
    badge: readOnly ? { label: 'Read-only', color: '#0b6b53' } : { label: 'Writable', color: '#a3232b' },
    links: [other, { text: 'Sign out', url: `${base}/logout` }],
  };
}

/** Creates a Bull Board, to be mounted by the caller at `path`. It has no login of its own. */
function createQueueBoard(options: QueueBoardOptions): QueueBoard {
  const serverAdapter = new OfflineAdapter();
  serverAdapter.setBasePath(options.path);
  const board = createBullBoard({
    queues: [],
    serverAdapter,
    options: {
      uiConfig: {
        boardTitle: options.title,
        environment: { ...options.badge, textColor: '#ffffff' },
        miscLinks: [...options.links],
        hideDocsLink: true,
        sortQueues: false,
        pollingInterval: { showSetting: true },
      },
    },
  });
  const router: RequestHandler = serverAdapter.getRouter();
  return {
    handler: (request, response, next) => {
      response.setHeader('Content-Security-Policy', POLICY);
      void router(request, response, next);
    },
    show: (queues) => board.replaceQueues([...queues]),
  };
}
