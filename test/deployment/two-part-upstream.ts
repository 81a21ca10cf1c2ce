import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { eventFrame } from '../../src/http/answers/sse.ts';

/** A provider whose stream pauses after its first word until the test continues it. */
export interface TwoPartUpstream {
  /** Lets the paused stream finish. */
  finish(): void;
  /** Writes a catalog into the folder with this model in addition to the usual ones. Returns its path. */
  addModel(folder: string, id: string): Promise<string>;
  close(): void;
}

export async function startTwoPartUpstream(): Promise<TwoPartUpstream> {
  let finish: () => void = () => undefined;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(wordFrame('first '));
    finish = () => {
      response.write(wordFrame('second', 'stop'));
      response.write(eventFrame({ ...CHUNK, choices: [], usage: USAGE }));
      response.end('data: [DONE]\n\n');
      finish = () => undefined;
    };
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    finish: () => finish(),
    addModel: async (folder, id) => {
      const catalog = parse(await readFile(join(folder, 'tollgate.yaml'), 'utf8'));
      catalog.providers.push({
        id: 'slow',
        protocol: 'openai',
        base_url: `http://127.0.0.1:${port}/v1`,
        api_key: 'x',
      });
      const [small] = catalog.models;
      catalog.models.push({ ...small, id, routes: [{ provider: 'slow', model: 'slow' }] });
      const file = join(folder, 'with-slow-model.yaml');
      await writeFile(file, stringify(catalog));
      return file;
    },
    close: () => server.close(),
  };
}

const CHUNK = { id: 'upstream-1', object: 'chat.completion.chunk', created: 1, model: 'slow' };
const USAGE = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 };

function wordFrame(content: string, finishReason: string | null = null): string {
  return eventFrame({ ...CHUNK, choices: [{ index: 0, delta: { content }, finish_reason: finishReason }] });
}
