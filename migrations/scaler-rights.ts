import { escapeIdentifier } from 'pg';
import { onOurObjects } from './our-objects.ts';

/**
 * Returns grants for the service that scales workers by waiting tasks (KEDA): it counts tasks by pool and state, and reads nothing else,
 * not even the request of a task. Run after each migration; idempotent.
 */
export function rightsOfScaler(scalerRole: string, schema: string): string {
  const role = escapeIdentifier(scalerRole);
  return `
    ${onOurObjects('TABLE', schema, ['REVOKE ALL', `FROM ${role}`])}
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT (pool, state) ON tasks TO ${role};
  `;
}
