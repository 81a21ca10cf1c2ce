/**
 * Grants for what scales workers by the tasks that wait (KEDA): it counts them by pool and state, and reads nothing else, not even what a
 * task asks for. Run after each migration; idempotent.
 */
export function rightsOfScaler(scalerRole: string): string {
  const role = `"${scalerRole.replaceAll('"', '""')}"`;
  return `
    REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${role};
    GRANT USAGE ON SCHEMA public TO ${role};
    GRANT SELECT (pool, state) ON tasks TO ${role};
  `;
}
