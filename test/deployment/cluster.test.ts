import { on, once } from 'node:events';
import { WebSocket } from 'ws';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { parsePublicId } from '../../src/lib/ids.ts';
import { describeMainJob } from '../e2e/main-job.ts';
import { callService, type RunningService } from '../e2e/running-service.ts';
import { eventually } from '../factories/eventually.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { type BuiltApplication, buildApplication } from './built-application.ts';
import { type Installation, install, post } from './installation.ts';
import { type Nginx, startNginx } from './nginx.ts';
import { startTwoPartUpstream, type TwoPartUpstream } from './two-part-upstream.ts';

describe('three API processes and four workers behind nginx', () => {
  let built: BuiltApplication;
  let installation: Installation;
  let nginx: Nginx;
  let upstream: TwoPartUpstream;
  let url: string;
  let key: string;
  /** Stays open until the processes end. */
  let socket: WebSocket;
  /** Index of the killed worker. */
  let killed: number;

  beforeAll(async () => {
    [built, upstream] = await Promise.all([buildApplication(), startTwoPartUpstream()]);
    const port = await choosePort();
    url = `http://127.0.0.1:${port}`;
    const generate = ['--queues=generate'];
    installation = await install({
      folder: built.folder,
      redisDatabase: 12,
      apis: 3,
      workers: [generate, generate, ['--queues=postprocess,webhooks'], ['--queues=postprocess,maintenance']],
      settings: { PUBLIC_URL: url, TOLLGATE_CONFIG: await upstream.addModel(built.folder, 'slow') },
    });
    nginx = await startNginx(port, installation.urls);
    key = await installation.openAccount(url, '10.00');
  }, PACKAGES_TIMEOUT_MS);

  afterAll(async () => {
    await nginx?.stop();
    await installation?.remove();
    upstream?.close();
    await built?.remove();
  });

  const authorization = () => `Bearer ${key}`;
  const chat = {
    model: 'tollgate/small',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 60,
  };

  test('nginx accepts the configuration', () => {
    expect(nginx.check).toContain('test is successful');
  });

  const service = async (): Promise<RunningService> => ({
    url,
    key,
    // read only when needed: if the installation failed, its own error must not be hidden by another one
    get ownerUrl() {
      return installation.ownerUrl;
    },
    get redisUrl() {
      return installation.redisUrl;
    },
    call: (path, init) => callService(url, key, path, init),
    logs: async () => installation.processes.map((each) => each.output()).join('\n'),
    killWorkerOf: async (taskId) => {
      const pid = await installation.workerOf(parsePublicId('generation', taskId)!);
      killed = installation.processes.findIndex((each) => each.pid === pid);
      installation.processes[killed]!.kill();
      await installation.processes[killed]!.exited;
    },
    stop: async () => undefined,
  });

  // One of the four workers is killed meanwhile; the one that shares its queue continues.
  describeMainJob(service, () => {
    test('delivers the beginning of a stream before the rest is written', async () => {
      const response = await fetch(`${url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: authorization(), 'content-type': 'application/json' },
        body: JSON.stringify({ ...chat, model: 'slow', stream: true }),
      });
      let text = '';
      const decoder = new TextDecoder();
      for await (const piece of response.body!) {
        text += decoder.decode(piece as Uint8Array, { stream: true });
        if (text.includes('"first "')) {
          upstream.finish();
        }
      }
      expect(text).toContain('"second"');
      expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
    });

    test('a WebSocket reaches an API process', async () => {
      socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
        headers: { authorization: authorization() },
      });
      await once(socket, 'open');
      const messages = on(socket, 'message');
      socket.send(JSON.stringify({ type: 'response.create', model: 'tollgate/small', input: 'Say hello.' }));
      for await (const [data] of messages) {
        const event = JSON.parse(String(data));
        expect(event.type).toMatch(/^response\./);
        if (event.type === 'response.completed') {
          expect(event.response.usage.cost).toBeGreaterThan(0);
          break;
        }
      }
    });

    test('metrics and oversized bodies stay outside', async () => {
      expect((await fetch(`${url}/metrics`)).status).toBe(404);
      const huge = await fetch(`${url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: authorization(), 'content-type': 'application/json' },
        body: JSON.stringify({ ...chat, user: 'x'.repeat(32.5 * 2 ** 20) }),
      });
      expect(huge.status).toBe(413);
      expect(await huge.json()).toMatchObject({ error: { code: 'payload_too_large' } });
    });

    test('answers all further calls after an API process died', async () => {
      installation.processes[0]!.kill();
      await installation.processes[0]!.exited;
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          post<{ id: string }>(`${url}/api/v1/chat/completions`, authorization(), chat),
        ),
      );
      expect(new Set(answers.map(({ id }) => id)).size).toBe(12);
    });
  });

  test('all other processes end cleanly on SIGTERM', async () => {
    const codes = Array.from({ length: 7 }, (_, place) => (place === 0 || place === killed ? null : 0));
    expect(await installation.stop()).toEqual(codes);
    await eventually(async () => socket.readyState === WebSocket.CLOSED);
  });
});
