import { createBullBoard } from '@bull-board/api';
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { AppViewRoute } from '@bull-board/api/typings/app';
import { ExpressAdapter } from '@bull-board/express';
import type { Request, RequestHandler, Response } from 'express';

export interface QueueBoardOptions {
  /** Path of the board as browsers see it. */
  readonly path: string;
  readonly title: string;
  readonly badge: { readonly label: string; readonly color: string };
  readonly links: readonly { readonly text: string; readonly url: string }[];
}

/** What the board's own pages need, and nothing from anywhere else. It writes style elements while it runs. */
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
/** The upstream page asks a font service for its typeface: the operator's address is none of its business. */
const FOREIGN_LINK = /<link[^>]+href="https?:\/\/[^>]*>/g;

/** The upstream adapter with a page that loads nothing from elsewhere. */
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

export interface QueueBoard {
  readonly handler: RequestHandler;
  /** Shows these queues from now on. */
  show(queues: readonly BullMQAdapter[]): void;
}

/** Bull board, mounted by the caller at `path`. It has no login of its own. */
export function createQueueBoard(options: QueueBoardOptions): QueueBoard {
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
