import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { ReplayUpstream } from '../factories/upstream-replay.ts';
import { Gateway, model } from '../invocation/gateway.ts';
import { packetsOf, type Row } from './row.ts';

const PACKETS = [
  'data: {"choices":[{"index":0,"delta":{"content":"Grüße"},"finish_reason":null}]}\n\n',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
];

test.each([false, true])('records an answer as a row of the table (redacted: %s)', async (redact) => {
  const folder = temporaryFolder('recorder');
  const upstream = await new ReplayUpstream().start();
  const record = { folder: join(folder, 'rows'), redact, most: 3 };
  const gateway = await Gateway.start({
    providers: [{ id: 'odd', protocol: 'openai', base_url: upstream.url, record }],
    models: [model('odd', [{ provider: 'odd', model: 'odd' }])],
  });
  const ask = async (stream: boolean) => {
    const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'odd',
        max_tokens: 9,
        stream,
        messages: [{ role: 'user', content: 'x' }],
      }),
    });
    await response.text();
  };
  try {
    upstream.play('odd', { packets: PACKETS });
    await ask(true);
    const answer = '{"choices":[{"message":{"content":"Grüße"},"finish_reason":"stop"}]}';
    upstream.play('odd', { packets: [answer], type: 'application/json' });
    await ask(false);
    // a server that ignores the request to stream
    await ask(true);
    // three are enough
    await ask(false);
    await eventually(async () => upstream.calls.get('odd') === 4);
    const written = async () => (await readdir(record.folder).catch(() => [])).length;
    for (let tries = 0; tries < 500 && (await written()) < 3; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const files = await readdir(record.folder);
    expect(files).toHaveLength(3);
    const texts = await Promise.all(files.map((name) => readFile(join(record.folder, name), 'utf8')));
    const rows = texts.flatMap((text) => parse(text) as Row[]);
    const streamed = rows.find((row) => row.packets)!;
    const bytes = Buffer.concat(packetsOf(streamed));
    const expected = redact ? PACKETS.join('').replace('Grüße', 'xxxxxxx') : PACKETS.join('');
    expect(bytes.toString()).toBe(expected);
    const whole = rows.filter((row) => row.json);
    expect(whole.map(({ name }) => name.startsWith('stream: ')).sort()).toEqual([false, true]);
    for (const row of whole) {
      expect(row.json).toBe(redact ? answer.replace('Grüße', 'xxxxxxx') : answer);
      expect(row.max_tokens).toBe(9);
    }
  } finally {
    await gateway.close();
    await upstream.close();
  }
});
