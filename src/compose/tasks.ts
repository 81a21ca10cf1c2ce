import { createAnswerCipher } from '../http/idempotency/answer-cipher.ts';
import { ModelAffinityClaims } from '../tasks/model-affinity-claims.ts';
import { QueueEstimates } from '../tasks/queue-estimates.ts';
import { TaskAffinityStore } from '../tasks/task-affinity.store.ts';
import { TaskClaimsStore } from '../tasks/task-claims.store.ts';
import { TaskDispatchStore } from '../tasks/task-dispatch.store.ts';
import { TaskEndings } from '../tasks/task-endings.ts';
import { TaskReadsStore } from '../tasks/task-reads.store.ts';
import { TaskResultsService } from '../tasks/task-results.service.ts';
import { TaskRetentionStore } from '../tasks/task-retention.store.ts';
import { TaskSweepStore } from '../tasks/task-sweep.store.ts';
import { TaskWaiter } from '../tasks/task-waiter.ts';
import { createClaimObserver, createQueueWaitHistogram } from '../telemetry/claim-observer.ts';
import { AlertsStore } from '../webhooks/alerts.store.ts';
import { WebhookDeliveriesStore } from '../webhooks/webhook-deliveries.store.ts';
import { WebhookSecretsService } from '../webhooks/webhook-secrets.service.ts';
import { WebhookSecretsStore } from '../webhooks/webhook-secrets.store.ts';
import type { Foundation } from './foundation.ts';

const MEDIA_TTL_MS = 24 * 3_600_000;
/** Maximum tasks of one account dispatched or running at once, per engine pool. */
const ACCOUNT_IN_FLIGHT_MAX = 100;

/** The parts for asynchronous tasks that the API and the workers both use. */
export type TaskParts = ReturnType<typeof composeTasks>;

/** Creates {@link TaskParts}. Opens nothing yet. */
export function composeTasks({ cells, ledger, storage, config, registry, models, clock }: Foundation) {
  const reads = new TaskReadsStore(cells);
  const dispatch = new TaskDispatchStore(cells, ACCOUNT_IN_FLIGHT_MAX);
  const estimates = new QueueEstimates(reads, () => dispatch.liveSlots());
  const waiter = new TaskWaiter(reads);
  const claims = new TaskClaimsStore(cells, createClaimObserver(createQueueWaitHistogram(registry), models));
  return {
    reads,
    dispatch,
    estimates,
    waiter,
    claims,
    turns: new ModelAffinityClaims(claims, new TaskAffinityStore(cells)),
    sweeps: new TaskSweepStore(cells),
    retention: new TaskRetentionStore(cells),
    alerts: new AlertsStore(cells),
    deliveries: new WebhookDeliveriesStore(cells),
    endings: new TaskEndings(ledger, { mediaTtlMs: MEDIA_TTL_MS, keepPrompts: config.keepPrompts }, clock),
    results: new TaskResultsService(reads, storage, estimates, waiter),
    secrets: new WebhookSecretsService(
      new WebhookSecretsStore(cells),
      createAnswerCipher(config.secret, config.previousSecrets),
    ),
  };
}

/**
 * Checks that webhook secrets can be opened: after a restore with the secret of another installation nothing else would say so. While a
 * previous secret is configured, also encrypts them again under the current one. Running it once per start is enough.
 */
export function checkWebhookSecrets({ config, log }: Foundation, { secrets }: TaskParts): void {
  const reportUnreadable = (accounts: number) => {
    if (accounts > 0) {
      log.error(
        { accounts },
        'webhook secrets were sealed with none of the known secrets: set the one of that time in TOLLGATE_SECRET_PREVIOUS, or let these customers rotate theirs',
      );
    }
  };
  const done =
    config.previousSecrets.length > 0
      ? secrets.resealAll().then(({ resealed, unreadable }) => {
          log.info({ accounts: resealed }, 'webhook secrets sealed under the new TOLLGATE_SECRET');
          reportUnreadable(unreadable);
        })
      : secrets.countUnreadable().then(reportUnreadable);
  done.catch((error: unknown) => log.error({ error }, 'webhook secrets were not checked or sealed'));
}
