import { hasFastProperties } from '../factories/v8-objects.ts';
import { startOperatorServer } from '../operators/support/operator-server.ts';

test('the string methods of a started API are fast, whatever its libraries did to them', async () => {
  const server = await startOperatorServer({ redisDatabase: 10 });
  try {
    expect(hasFastProperties(String.prototype)).toBe(true);
  } finally {
    await server.close();
  }
});
