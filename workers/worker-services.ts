import type { BillingSurface } from '../src/compose/billing.ts';
import type { KeysStore } from '../src/keys/keys.store.ts';
import type { BookRoots } from '../src/ledger/book-roots.ts';
import type { LedgerVerifier } from '../src/ledger/ledger-verifier.ts';
import type { MonthClose } from '../src/ledger/month-close.ts';
import type { NightlyProof } from '../src/ledger/nightly-proof.ts';
import type { HoldReaper } from '../src/ledger/reaper.ts';
import type { WriteOffTotals } from '../src/ledger/write-off-totals.ts';
import type { OrphanSweepService } from '../src/tasks/orphan-sweep.service.ts';
import type { OverflowService } from '../src/tasks/overflow.service.ts';
import type { PostprocessService } from '../src/tasks/postprocess.service.ts';
import type { QueuedRuns } from '../src/tasks/queued-runs.ts';
import type { RetentionService } from '../src/tasks/retention.service.ts';
import type { SweepService } from '../src/tasks/sweep.service.ts';
import type { UsageDays } from '../src/usage/usage-days.store.ts';
import type { AlertsStore } from '../src/webhooks/alerts.store.ts';
import type { DeliverWebhookService } from '../src/webhooks/deliver-webhook.service.ts';

/** The services that the processors call. Each does all its work in one method. */
export interface WorkerServices {
  readonly generate: Pick<QueuedRuns, 'run'>;
  readonly postprocess: Pick<PostprocessService, 'run'>;
  readonly webhooks: Pick<DeliverWebhookService, 'deliver'>;
  readonly overflow: Pick<OverflowService, 'move'>;
  readonly sweeps: Pick<SweepService, 'sweep'>;
  readonly orphans: Pick<OrphanSweepService, 'sweep'>;
  readonly retention: Pick<RetentionService, 'expireMedia' | 'expireTasks'>;
  readonly reaper: Pick<HoldReaper, 'reap'>;
  readonly months: Pick<MonthClose, 'closeDueMonths' | 'createPartitions'>;
  readonly usageDays: Pick<UsageDays, 'rollUp'>;
  readonly writeOffs: Pick<WriteOffTotals, 'rollUp'>;
  readonly verifier: Pick<LedgerVerifier, 'verifyIncrement'>;
  readonly nightlyProof: Pick<NightlyProof, 'prove'>;
  /** Undefined when none are kept. */
  readonly bookRoots: Pick<BookRoots, 'writeDue'> | undefined;
  readonly payments: Pick<BillingSurface, 'sweep' | 'followMoves'>;
  /** Deletes idempotency keys older than a day. Returns how many. */
  readonly idempotencyKeys: { expire(): Promise<number> };
  readonly keys: Pick<KeysStore, 'forget'>;
  readonly alerts: Pick<AlertsStore, 'tell'>;
}
