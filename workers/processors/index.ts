import type { Producer } from '../../queues/producer.ts';
import type { Processors } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';
import {
  expireIdempotencyKeysProcessor,
  followPaymentMovesProcessor,
  followPaymentsProcessor,
  forgetKeysProcessor,
  tellAlertsProcessor,
} from './account-maintenance.processor.ts';
import { deliverWebhookProcessor } from './deliver-webhook.processor.ts';
import { generateTaskProcessor } from './generate-task.processor.ts';
import {
  closeMonthsProcessor,
  makePartitionsProcessor,
  reapHoldsProcessor,
  rollUpDaysProcessor,
} from './ledger-maintenance.processor.ts';
import { verifyLedgerProcessor, verifyNewEntriesProcessor } from './ledger-verify.processor.ts';
import { postprocessTaskProcessor } from './postprocess-task.processor.ts';
import {
  expireMediaProcessor,
  expireTasksProcessor,
  moveTasksProcessor,
  sweepOrphansProcessor,
  sweepTasksProcessor,
} from './task-maintenance.processor.ts';

/** The processor of every job. */
export function createProcessors(services: WorkerServices, producer: Producer): Processors {
  return {
    'tasks.generate': generateTaskProcessor(services, producer),
    'tasks.postprocess': postprocessTaskProcessor(services),
    'webhooks.deliver': deliverWebhookProcessor(services),
    'maintenance.sweep-tasks': sweepTasksProcessor(services),
    'maintenance.tell-alerts': tellAlertsProcessor(services),
    'maintenance.move-tasks': moveTasksProcessor(services),
    'maintenance.reap-holds': reapHoldsProcessor(services),
    'maintenance.expire-media': expireMediaProcessor(services),
    'maintenance.expire-tasks': expireTasksProcessor(services),
    'maintenance.sweep-orphans': sweepOrphansProcessor(services),
    'maintenance.make-partitions': makePartitionsProcessor(services),
    'maintenance.close-months': closeMonthsProcessor(services),
    'maintenance.roll-up-days': rollUpDaysProcessor(services),
    'maintenance.verify-new-entries': verifyNewEntriesProcessor(services),
    'maintenance.follow-payments': followPaymentsProcessor(services),
    'maintenance.follow-payment-moves': followPaymentMovesProcessor(services),
    'maintenance.expire-idempotency-keys': expireIdempotencyKeysProcessor(services),
    'maintenance.forget-keys': forgetKeysProcessor(services),
    'maintenance.verify-ledger': verifyLedgerProcessor(services),
  };
}
