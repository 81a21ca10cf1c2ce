// A stand-in for an engine server: records what it was given, and misbehaves as the FAKE_* variables of its environment demand.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';

const { FAKE_JOURNAL: journal = '', FAKE_MODE: mode = '', FAKE_TRIGGER: trigger = '' } = process.env;
const port = Number(process.argv[2]);
const note = (event, more = {}) =>
  appendFileSync(journal, `${JSON.stringify({ event, pid: process.pid, port, ...more })}\n`);

const grandchild = mode === 'grandchild' ? spawn('sleep', ['300'], { stdio: 'ignore' }).pid : undefined;
note('start', {
  gpu: process.env.CUDA_VISIBLE_DEVICES,
  order: process.env.CUDA_DEVICE_ORDER,
  variables: Object.keys(process.env).sort(),
  argv: process.argv.slice(2),
  own: process.env.FAKE_OWN,
  at: Date.now(),
  grandchild,
});
if (mode === 'crash') {
  process.stderr.write('no model file\n');
  process.exit(3);
}
if (mode === 'talkative') {
  process.stdout.write(`${'x'.repeat(1_000)}\n`.repeat(400));
}
process.on('SIGTERM', () => {
  note('sigterm');
  if (mode !== 'stubborn') {
    process.exit(0);
  }
});
const startedAt = Date.now();
createServer((request, response) => {
  if (request.url === '/health') {
    const loading = mode === 'slow' && Date.now() - startedAt < 400;
    const sick = mode === 'never' || (trigger !== '' && existsSync(trigger));
    response.writeHead(loading || sick ? 503 : 200).end('{}');
    return;
  }
  if (request.url === '/warm') {
    note('warmed');
    response.writeHead(Date.now() - startedAt < 200 ? 500 : 200).end('{}');
    return;
  }
  response.end(JSON.stringify({ pid: process.pid, gpu: process.env.CUDA_VISIBLE_DEVICES }));
}).listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
