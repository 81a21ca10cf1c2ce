import { choosePort } from '../../ops/embedded/free-port.ts';
import { parseUsd } from '../../src/lib/money.ts';
import { type BuiltApplication, buildApplication } from './built-application.ts';
import { type Installation, install, post, taskEnd } from './installation.ts';
import { hasNginx, type Nginx, startNginx } from './nginx.ts';
import { startTwoPartUpstream, type TwoPartUpstream } from './two-part-upstream.ts';

const describeWithNginx = hasNginx() ? describe : describe.skip;

describeWithNginx('three API processes and four workers behind nginx', () => {
  let built: BuiltApplication;
  let installation: Installation;
  let nginx: Nginx;
  let upstream: TwoPartUpstream;
  let url: string;
  let key: string;

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
  }, 180_000);

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

  test('a call of each kind through nginx; the charges add up to what the account has used', async () => {
    const ids: string[] = [];
    const { id } = await post<{ id: string }>(`${url}/api/v1/chat/completions`, authorization(), chat);
    const message = await post<{ id: string }>(`${url}/vendorx/v1/messages`, authorization(), chat);
    const image = await post<{ task_id: string }>(`${url}/v3/async/image-turbo`, authorization(), {
      prompt: 'a lighthouse at dusk',
      size: '256*256',
    });
    const video = await post<{ task_id: string }>(`${url}/v3/async/video-fast`, authorization(), {
      model_name: 'video-fast',
      prompt: 'slow waves at night',
      width: 1280,
      height: 720,
      seed: 7,
      steps: 2,
    });
    ids.push(id, message.id, image.task_id, video.task_id);
    const pictures = await taskEnd(url, key, image.task_id);
    const films = await taskEnd(url, key, video.task_id);
    expect([pictures.task.status, films.task.status]).toEqual(['TASK_STATUS_SUCCEED', 'TASK_STATUS_SUCCEED']);
    for (const link of [pictures.images[0]!.image_url, films.videos[0]!.video_url]) {
      expect(link.startsWith(url)).toBe(true);
      expect((await fetch(link)).status).toBe(200);
    }
    const charges = await Promise.all(
      ids.map((each) => member(`/api/v1/generation?id=${each}`, 'charged_amount')),
    );
    expect(await member('/api/v1/credits', 'total_usage')).toBe(
      charges.reduce((sum, charge) => sum + charge, 0n),
    );
  }, 120_000);

  test('a stream goes through as it comes: its beginning is here while the rest is not yet written', async () => {
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

  test('metrics and oversized bodies stay outside', async () => {
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    const huge = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: authorization(), 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, user: 'x'.repeat(10.5 * 2 ** 20) }),
    });
    expect(huge.status).toBe(413);
    expect(await huge.json()).toMatchObject({ error: { code: 'payload_too_large' } });
  });

  test('a dead API process is not noticed by the next calls', async () => {
    installation.processes[0]!.kill();
    await installation.processes[0]!.exited;
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        post<{ id: string }>(`${url}/api/v1/chat/completions`, authorization(), chat),
      ),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(12);
  });

  test('all others end cleanly on SIGTERM', async () => {
    expect(await installation.stop()).toEqual([null, 0, 0, 0, 0, 0, 0]);
  }, 60_000);

  async function member(path: string, name: string): Promise<bigint> {
    const response = await fetch(url + path, { headers: { authorization: authorization() } });
    const { data } = (await response.json()) as { data: Record<string, string> };
    return parseUsd(data[name]!)!;
  }
});
