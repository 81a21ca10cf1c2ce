import pg from 'pg';

/** Calls `fn` while the audit log takes no row of that action, e.g. `account.adjust`. */
export async function whileUnrecordable<Result>(
  ownerUrl: string,
  action: string,
  fn: () => Promise<Result>,
): Promise<Result> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(`ALTER TABLE audit_log ADD CONSTRAINT broken CHECK (action <> '${action}') NOT VALID`);
    return await fn();
  } finally {
    await owner.query('ALTER TABLE audit_log DROP CONSTRAINT broken');
    await owner.end();
  }
}
