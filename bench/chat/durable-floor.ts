import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { secretHash } from '../../src/keys/secret.ts';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { createDatabase } from '../../src/store/database.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  silentLog,
  silentObserver,
} from '../../test/factories/ledger.ts';

/**
 * The floor: the lowest cost of a paid call whose hold and charge are as durable as the product's. It has node:http, a key looked up by its
 * hash in memory, the product's own ledger classes on a Postgres with the product's settings, and undici, and it answers once the charge is
 * committed. It has no rate limit, Redis, validation, log, metrics or streams.
 */
const HOLD = nanoUsd(2_500_000n);
const PROMPT_TOKEN_NANO = 150;
const COMPLETION_TOKEN_NANO = 600;
const MONEY_CONNECTIONS = 10;

const { UPSTREAM_URL, DATABASE_URL, KEY } = process.env;
const upstream = new Pool(UPSTREAM_URL!, { connections: 256 });
const database = createDatabase(
  { url: DATABASE_URL!, moneyConnections: MONEY_CONNECTIONS, connections: 1 },
  () => undefined,
);
const ledger = new PostgresLedger(new LedgerStore(database.money), silentLog, silentObserver);
const callers = new Map([[secretHash(KEY!), await fundedAccount(database, '1000')]]);

async function serve(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
  const caller = callers.get(secretHash(request.headers.authorization?.slice('Bearer '.length) ?? '') ?? '');
  if (caller === undefined) {
    response.writeHead(401).end();
    return;
  }
  const hold = await ledger.reserve(holdRequest(caller, HOLD));
  const answer = await upstream.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const text = await answer.body.text();
  const { usage } = JSON.parse(text) as { usage: { prompt_tokens: number; completion_tokens: number } };
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  const charge = nanoUsd(BigInt(prompt * PROMPT_TOKEN_NANO + completion * COMPLETION_TOKEN_NANO));
  await ledger.settle(settlement(hold, charge));
  response.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(text);
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    serve(request, Buffer.concat(parts), response).catch((error: Error) =>
      response.writeHead(500).end(error.message),
    );
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('disconnect', () => process.exit(0));
