import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startAnthropicUpstream } from '../../test/factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../../test/factories/upstream-openai.ts';
import type { Fault, UpstreamServer } from '../../test/factories/upstream-server.ts';

/** The providers of the soak and a webhook receiver, in their own process: their memory must not be part of what is measured. */
const FAULTS = [
  'server_error',
  'bad_request',
  'reset_mid_stream',
  'cut_stream',
  'garbage',
] as const satisfies Fault[];
const FORGET_MS = 1_000;
/** Share of webhooks answered with 500, and share answered only after the sender has timed out. */
const REFUSED = 0.15;
const HANGING = 0.04;
const HANG_MS = 20_000;

const openai = await startOpenAiUpstream();
const anthropic = await startAnthropicUpstream();
const slow = await startOpenAiUpstream();
slow.reset({ tokenDelayMs: 500 });
const servers: Record<string, UpstreamServer> = { openai, anthropic, slow };
for (const fault of FAULTS) {
  const server = await startOpenAiUpstream();
  server.reset({ fault });
  servers[fault] = server;
}
setInterval(() => {
  for (const server of Object.values(servers)) {
    server.requests.length = 0;
  }
}, FORGET_MS);

const webhooks = createServer((request, response) => {
  request.resume();
  const share = Math.random();
  response.statusCode = share < REFUSED ? 500 : 200;
  setTimeout(() => response.end(), share > 1 - HANGING ? HANG_MS : 0);
}).listen(0, '127.0.0.1');
webhooks.on('listening', () => {
  const urls = Object.fromEntries(Object.entries(servers).map(([name, { url }]) => [name, url]));
  const webhook = `http://127.0.0.1:${(webhooks.address() as AddressInfo).port}/`;
  process.send?.({ address: JSON.stringify({ ...urls, webhook }) });
});
process.on('disconnect', () => process.exit());
