/** Opens accounts with credits through the operator API. Returns one key of each. */
export async function openAccounts(url: string, adminToken: string, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const answer = await fetch(`${url}/admin/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `bench ${number}`, credits: '1000' }),
    });
    const body = (await answer.json()) as { key?: string };
    if (!body.key) {
      throw new Error(`no account: ${answer.status} ${JSON.stringify(body)}`);
    }
    keys.push(body.key);
  }
  return keys;
}
