import type { Request, RequestHandler, Response } from 'express';
import { Router } from 'express';
import type { Producer } from '../../../queues/producer.ts';
import { exchangeOf } from '../../http/exchange.ts';
import { AppError } from '../../lib/errors.ts';
import { presentOperatorDelivery } from '../deliveries.presenter.ts';
import type { DeliveriesService } from '../deliveries.service.ts';
import { presentOperatorTaskDetails } from '../operator-tasks.presenter.ts';
import type { OperatorTasksService } from '../operator-tasks.service.ts';
import { guardedBoard } from './guarded-board.ts';
import { type LoginParts, showLogin, showLogout, signIn, signOut } from './login.ts';
import { missingTaskPage } from './login-page.ts';
import { operatorGate } from './operator-gate.ts';
import { sendOperatorPage } from './page-frame.ts';
import { taskPage } from './task-page.ts';

export interface OperatorPagesParts {
  readonly login: LoginParts;
  readonly tasks: OperatorTasksService;
  readonly deliveries: Pick<DeliveriesService, 'list'>;
  readonly producer: Producer;
  readonly queueNames: () => readonly string[];
}

const DELIVERIES_SHOWN = 20;

/** All pages below `/admin`. The operator API beside them has its own authentication. */
export function operatorPages(parts: OperatorPagesParts): Router {
  const { login } = parts;
  const { base } = login;
  const gate = operatorGate(login);
  const router = Router({ strict: false, caseSensitive: true });
  router.get('/', named('/admin'), (_request, response) => response.redirect(303, `${base}/queues`));
  router.get('/login', named('/admin/login'), (request, response) => showLogin(login, request, response));
  router.post('/login', named('/admin/login'), (request, response) => signIn(login, request, response));
  router.get('/logout', named('/admin/logout'), gate, (request, response) =>
    showLogout(login, request, response),
  );
  router.post('/logout', named('/admin/logout'), (request, response) => signOut(login, request, response));
  router.get('/tasks/:id', named('/admin/tasks/{id}'), gate, (request, response) =>
    showTask(parts, request, response),
  );
  for (const readOnly of [true, false]) {
    const path = readOnly ? '/queues' : '/queues-rw';
    const { producer, queueNames } = parts;
    const board = guardedBoard({ producer, queueNames, audit: login.audit, base, readOnly });
    router.use(path, named(`/admin${path}`), gate, board);
  }
  return router;
}

/** Sets the name of the request in logs and metrics: raw paths are unbounded. */
function named(route: string): RequestHandler {
  return (_request, response, next) => {
    const exchange = exchangeOf(response);
    if (exchange) {
      exchange.route = route;
    }
    next();
  };
}

async function showTask(parts: OperatorPagesParts, request: Request, response: Response): Promise<void> {
  const { base } = parts.login;
  const id = String(request.params.id);
  try {
    const { row, history } = await parts.tasks.get(id);
    const { rows } = await parts.deliveries.list({ task_id: id, limit: DELIVERIES_SHOWN });
    const task = presentOperatorTaskDetails(row, history);
    sendOperatorPage(response, taskPage(base, task, rows.map(presentOperatorDelivery)));
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'task_not_found')) {
      throw error;
    }
    sendOperatorPage(response, missingTaskPage(base));
  }
}
