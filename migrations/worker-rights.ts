import { escapeIdentifier } from 'pg';
import { onOurObjects } from './our-objects.ts';

/** What a worker's statements read besides tasks. It includes no balance, price, secret or session. */
const READ = [
  'task_outputs',
  'worker_slots',
  'workers',
  'worker_drains',
  'schema_migrations',
  'schema_functions',
  'api_keys (id, hash)',
  'ledger_checks',
];

/** Columns of a task that an attempt changes. They exclude its owner, its request and its cost. */
const ATTEMPT_COLUMNS = [
  'state',
  'attempt',
  'failures',
  'worker',
  'lease_until',
  'not_before',
  'dispatched_at',
  'engine',
  'engine_submitted_at',
  'engine_reference',
  'raw_outputs',
  'progress',
  'started_at',
  'base64_output',
  'generation_runs',
  'interruptions',
  'ended_runs',
  'last_failure',
  'avoid_host',
  'avoid_until',
  'billed_runs',
  'engine_position',
  'passed_over_at',
];

/** The functions that book the end of a task: its charge, or the release of its hold. */
const SETTLING = ['ledger_settle(jsonb)', 'ledger_settle_few(jsonb)'];

/**
 * Returns grants for workers that run engines and finish files, on hosts that are trusted with nothing else: they claim, renew,
 * release and settle tasks. The relay and the chores run elsewhere, as the application. Workers may call no other function of the
 * schema, since most of them book money; the rights that Postgres grants to PUBLIC by default are revoked. Run after each migration,
 * after the application's rights; idempotent.
 */
export function rightsOfWorker(workerRole: string, schema: string): string {
  const role = escapeIdentifier(workerRole);
  const reads = READ.map((name) => {
    const [table, columns = ''] = name.split(' (', 2);
    return `GRANT SELECT${columns && ` (${columns}`} ON ${table} TO ${role};`;
  });
  return `
    ${onOurObjects('TABLE', schema, ['REVOKE ALL', `FROM ${role}`])}
    ${onOurObjects('FUNCTION', schema, ['REVOKE ALL', `FROM ${role}, PUBLIC`])}
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    ${onOurObjects('SEQUENCE', schema, ['GRANT USAGE', `TO ${role}`])}
    GRANT SELECT, UPDATE (${ATTEMPT_COLUMNS.join(', ')}) ON tasks TO ${role};
    GRANT INSERT ON task_events TO ${role};
    GRANT INSERT, UPDATE, DELETE ON worker_slots, workers TO ${role};
    ${reads.join('\n    ')}
    GRANT EXECUTE ON FUNCTION ${SETTLING.join(', ')} TO ${role};
  `;
}
