import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A simulated OpenAI-compatible provider in its own process: constant delay, fixed answer, exact usage. A prompt that contains "instantly"
 * is answered without the delay.
 */

const DELAY_MS = 10;
const STREAM_CHUNKS = 20;
const CHUNK_EVERY_MS = 5;
/** Pause between chunks for a prompt that contains "slowly": an answer takes 20 s. */
const SLOW_CHUNK_EVERY_MS = 1_000;
const USAGE = { prompt_tokens: 20, completion_tokens: 20, total_tokens: 40 };
const HEAD = { id: 'chatcmpl-1', created: 1, model: 'simulated' };

const ANSWER = JSON.stringify({
  ...HEAD,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(20) }, finish_reason: 'stop' }],
  usage: USAGE,
});

function chunk(delta: object, finishReason: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices })}\n\n`;
}

function stream(response: ServerResponse, chunkEveryMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    if (sent <= STREAM_CHUNKS) {
      response.write(
        chunk(sent === 1 ? { role: 'assistant', content: 'word ' } : { content: 'word ' }, null),
      );
      return;
    }
    clearInterval(timer);
    const usage = { ...HEAD, object: 'chat.completion.chunk', choices: [], usage: USAGE };
    response.end(`${chunk({}, 'stop')}data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`);
  }, chunkEveryMs);
  response.on('close', () => clearInterval(timer));
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts);
    const streamed = body.includes('"stream":true');
    const chunkEveryMs = body.includes('slowly') ? SLOW_CHUNK_EVERY_MS : CHUNK_EVERY_MS;
    const answer = () => {
      if (streamed) {
        stream(response, chunkEveryMs);
      } else {
        response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
      }
    };
    if (body.includes('instantly')) {
      answer();
    } else {
      setTimeout(answer, DELAY_MS);
    }
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('disconnect', () => process.exit(0));
