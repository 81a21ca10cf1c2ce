/**
 * Returns grants for the service that scales workers by waiting tasks (KEDA): it counts tasks by pool and state, and reads nothing else,
 * not even the request of a task. Run after each migration; idempotent.
 */
export function rightsOfScaler(scalerRole: string): string {
  const role = `"${scalerRole.replaceAll('"', '""')}"`;
  return `
    REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${role};
    GRANT USAGE ON SCHEMA public TO ${role};
    GRANT SELECT (pool, state) ON tasks TO ${role};
  `;
}
