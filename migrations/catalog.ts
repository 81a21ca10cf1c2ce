import { accountsAndKeys } from './0001-accounts-and-keys.ts';
import { ledgerTables } from './0002-ledger-tables.ts';
import { tasksAndBilling } from './0003-tasks-and-billing.ts';
import { ledgerReserve } from './0004-ledger-reserve.ts';
import { ledgerSettle } from './0005-ledger-settle.ts';
import { ledgerMovements } from './0006-ledger-movements.ts';
import { monthClose } from './0007-month-close.ts';
import { ledgerChecks } from './0008-ledger-checks.ts';
import { usageDays } from './0009-usage-days.ts';
import { paymentReinstatements } from './0010-payment-reinstatements.ts';
import { ledgerPlans } from './0011-ledger-plans.ts';
import { schemaFunctions } from './0012-schema-functions.ts';
import { paymentStandings } from './0013-payment-standings.ts';
import { statementVersions } from './0014-statement-versions.ts';
import { generationRuns } from './0015-generation-runs.ts';
import { receivable } from './0016-receivable.ts';
import { entryOrigins } from './0017-entry-origins.ts';
import { settleAboveHold } from './0018-settle-above-hold.ts';
import { ledgerSeals } from './0019-ledger-seals.ts';
import { consoleSessions } from './0020-console-sessions.ts';
import { inputMargins } from './0021-input-margins.ts';
import { keyRetention } from './0022-key-retention.ts';
import { periodicSums } from './0023-periodic-sums.ts';
import { documents } from './0024-documents.ts';
import { rateLimits } from './0025-rate-limits.ts';
import { pricePeriods } from './0026-price-periods.ts';
import { keyLabels } from './0027-key-labels.ts';
import { engineAbsences } from './0028-engine-absences.ts';
import { keyBudgets } from './0029-key-budgets.ts';
import { upstreamWords } from './0030-upstream-words.ts';
import { servedModel } from './0031-served-model.ts';
import { leftCalls } from './0032-left-calls.ts';
import { workerDrains } from './0040-worker-drains.ts';
import { accountAlerts } from './0045-account-alerts.ts';
import { finalStatements } from './0050-final-statements.ts';
import { paymentMoves } from './0051-payment-moves.ts';
import { bookingReferences } from './0070-booking-references.ts';
import { childrenOfAccounts } from './0071-children-of-accounts.ts';
import { accountsOfChildren } from './0072-accounts-of-children.ts';
import { ledgerProofs } from './0073-ledger-proofs.ts';
import { callArchives } from './0074-call-archives.ts';
import { workerTokens } from './0080-worker-tokens.ts';
import { misconfiguredPools } from './0085-misconfigured-pools.ts';
import { members } from './0095-members.ts';
import { operatorSessions } from './0096-operator-sessions.ts';
import { runCosts } from './0097-run-costs.ts';
import { enginePositions } from './0098-engine-positions.ts';
import { backups } from './0106-backups.ts';
import { passedOverTasks } from './0112-passed-over-tasks.ts';
import { chosenRequests } from './0113-chosen-requests.ts';
import { sparseGenerations } from './0114-sparse-generations.ts';
import { plainHashChecks } from './0115-plain-hash-checks.ts';
import { unreadStatistics } from './0116-unread-statistics.ts';
import { hourTotals } from './0117-hour-totals.ts';
import { erasedAccounts } from './0118-erased-accounts.ts';
import { endedRuns } from './0119-ended-runs.ts';
import { sessionsOfKey } from './0120-sessions-of-a-key.ts';
import { provenSessions } from './0125-proven-sessions.ts';
import type { Migration } from './migration.types.ts';

/** Every migration, in the order it is applied. */
export const MIGRATIONS: readonly Migration[] = [
  accountsAndKeys,
  ledgerTables,
  tasksAndBilling,
  ledgerReserve,
  ledgerSettle,
  ledgerMovements,
  monthClose,
  ledgerChecks,
  usageDays,
  paymentReinstatements,
  ledgerPlans,
  schemaFunctions,
  paymentStandings,
  statementVersions,
  generationRuns,
  receivable,
  entryOrigins,
  settleAboveHold,
  ledgerSeals,
  consoleSessions,
  inputMargins,
  keyRetention,
  periodicSums,
  documents,
  rateLimits,
  pricePeriods,
  keyLabels,
  engineAbsences,
  keyBudgets,
  upstreamWords,
  servedModel,
  leftCalls,
  workerDrains,
  accountAlerts,
  finalStatements,
  paymentMoves,
  bookingReferences,
  childrenOfAccounts,
  accountsOfChildren,
  ledgerProofs,
  callArchives,
  workerTokens,
  misconfiguredPools,
  members,
  operatorSessions,
  runCosts,
  enginePositions,
  backups,
  passedOverTasks,
  chosenRequests,
  sparseGenerations,
  plainHashChecks,
  unreadStatistics,
  hourTotals,
  erasedAccounts,
  endedRuns,
  sessionsOfKey,
  provenSessions,
];

/** Returns the names of this build's migrations, oldest first. */
export function migrationNames(): string[] {
  return MIGRATIONS.map(({ name }) => name);
}
