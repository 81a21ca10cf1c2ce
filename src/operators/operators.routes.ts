import type { Route } from '../http/route.ts';
import type { LedgerVerifier } from '../ledger/ledger-verifier.ts';
import type { WorkerTokensService } from '../remote-workers/worker-tokens.service.ts';
import { accountKeyRoutes } from './account-keys.routes.ts';
import type { AccountKeysService } from './account-keys.service.ts';
import { accountRoutes } from './accounts.routes.ts';
import type { AccountsService } from './accounts.service.ts';
import type { AuditReadModel } from './audit.read-model.ts';
import { auditRoutes } from './audit.routes.ts';
import { claimedSessionRoutes } from './board/claimed-sessions.routes.ts';
import { operatorSessionRoute } from './board/operator-session.routes.ts';
import type { OperatorSessions } from './board/operator-session.ts';
import type { BookReportsReadModel } from './books/book-reports.read-model.ts';
import { instantReportRoutes } from './books/instant-reports.routes.ts';
import { periodReportRoutes } from './books/period-reports.routes.ts';
import { correctionRoutes } from './corrections.routes.ts';
import type { CorrectionsService } from './corrections.service.ts';
import { deliveryRoutes } from './deliveries.routes.ts';
import type { DeliveriesService } from './deliveries.service.ts';
import { fleetRoutes } from './fleet/fleet.routes.ts';
import type { FleetService } from './fleet/fleet.service.ts';
import type { LedgerEntriesReadModel } from './ledger-entries.read-model.ts';
import { ledgerEntryRoutes } from './ledger-entries.routes.ts';
import { type LookupParts, lookupRoutes } from './lookup/lookup.routes.ts';
import { operatorTaskRoutes } from './operator-tasks.routes.ts';
import type { OperatorTasksService } from './operator-tasks.service.ts';
import { queueRoutes } from './queues.routes.ts';
import type { QueuesService } from './queues.service.ts';
import { statementRoutes } from './statements.routes.ts';
import type { StatementsService } from './statements.service.ts';
import type { TaskRetryService } from './task-retry.service.ts';
import { verifyRoute } from './verify.routes.ts';
import { workerTokenRoutes } from './worker-tokens.routes.ts';
import { workerRoutes } from './workers.routes.ts';
import type { WorkersService } from './workers.service.ts';

export interface OperatorServices {
  readonly accounts: AccountsService;
  readonly accountKeys: AccountKeysService;
  readonly corrections: CorrectionsService;
  readonly statements: StatementsService;
  readonly verifier: LedgerVerifier;
  readonly ledgerEntries: LedgerEntriesReadModel;
  readonly bookReports: BookReportsReadModel;
  readonly tasks: OperatorTasksService;
  readonly retries: TaskRetryService;
  readonly queues: QueuesService;
  readonly workers: WorkersService;
  readonly workerTokens: WorkerTokensService;
  readonly deliveries: DeliveriesService;
  readonly audit: AuditReadModel;
  readonly lookup: LookupParts;
  readonly fleet: FleetService;
  readonly sessions: OperatorSessions;
  /** URL of the dashboards. */
  readonly grafanaUrl: string | null;
}

/** `/admin/v1/…`. */
export function operatorRoutes(services: OperatorServices): Route[] {
  return [
    ...accountRoutes(services.accounts),
    ...accountKeyRoutes(services.accountKeys),
    ...correctionRoutes(services.corrections),
    ...statementRoutes(services.statements, services.accounts),
    verifyRoute(services.verifier, services.accounts),
    ...ledgerEntryRoutes(services.ledgerEntries),
    ...instantReportRoutes(services.bookReports),
    ...periodReportRoutes(services.bookReports),
    ...operatorTaskRoutes(services.tasks, services.retries),
    ...queueRoutes(services.queues),
    ...workerRoutes(services.workers),
    ...workerTokenRoutes(services.workerTokens),
    ...deliveryRoutes(services.deliveries),
    ...auditRoutes(services.audit),
    ...lookupRoutes(services.lookup, services.accounts),
    ...fleetRoutes(services.fleet),
    operatorSessionRoute(services.sessions, services.grafanaUrl),
    ...claimedSessionRoutes(services.sessions),
  ];
}
