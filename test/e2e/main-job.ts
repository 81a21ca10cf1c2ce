import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import pg from 'pg';
import sharp from 'sharp';
import { parsePublicId } from '../../src/lib/ids.ts';
import { nanoUsd, parseUsd } from '../../src/lib/money.ts';
import { eventuallyHolds } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import type { RunningService } from './running-service.ts';

const run = promisify(execFile);

interface TaskResult {
  readonly task: { readonly task_id: string; readonly status: string; readonly reason: string };
  readonly images: readonly { readonly image_url: string; readonly image_type: string }[];
  readonly videos: readonly { readonly video_url: string; readonly video_type: string }[];
  readonly extra: { readonly seed: string; readonly charged_amount: string };
}

/**
 * Declares the tests of what a customer does on a running service, from the first call to the last file. `start` starts the service, whose
 * `stop` is called after the tests; `also` declares more tests on it.
 */
export function describeMainJob(
  start: () => Promise<RunningService>,
  also: (service: () => RunningService) => void = () => undefined,
): void {
  describe('the main job', () => declareTests(start, also));
}

function declareTests(
  start: () => Promise<RunningService>,
  also: (service: () => RunningService) => void,
): void {
  let service: RunningService;
  let folder: string;
  /** Public id of the task whose worker is killed. */
  let orphan: string;

  beforeAll(async () => {
    folder = temporaryFolder('files');
    service = await start();
  }, 60_000);

  afterAll(async () => {
    await service?.stop();
  });

  async function usage(): Promise<bigint> {
    const { data } = await service.call<{ data: { total_usage: string } }>('/api/v1/credits');
    return parseUsd(data.total_usage)!;
  }

  async function chargeOf(id: string): Promise<bigint> {
    const { data } = await service.call<{ data: { charged_amount: string } }>(`/api/v1/generation?id=${id}`);
    return parseUsd(data.charged_amount)!;
  }

  async function finished(taskId: string): Promise<TaskResult> {
    for (;;) {
      const path = `/v3/async/task-result?task_id=${taskId}`;
      const result = await service.call<TaskResult>(path, { headers: { prefer: 'wait=20' } });
      if (!['TASK_STATUS_QUEUED', 'TASK_STATUS_PROCESSING'].includes(result.task.status)) {
        return result;
      }
    }
  }

  async function statusOf(taskId: string): Promise<string> {
    return (await service.call<TaskResult>(`/v3/async/task-result?task_id=${taskId}`)).task.status;
  }

  async function untilProcessing(taskId: string): Promise<void> {
    await eventuallyHolds(async () => expect(await statusOf(taskId)).toBe('TASK_STATUS_PROCESSING'), 60_000);
  }

  async function download(url: string, name: string): Promise<string> {
    const response = await fetch(url);
    expect(response.status).toBe(200);
    const path = join(folder, name);
    await writeFile(path, Buffer.from(await response.arrayBuffer()));
    return path;
  }

  const submitVideo = (steps: number) =>
    service.call<{ task_id: string }>('/v3/async/video-fast', {
      body: {
        model_name: 'video-fast',
        prompt: 'slow waves at night',
        width: 1280,
        height: 720,
        seed: 9_999_999_999,
        steps,
      },
    });

  test('charges chat, messages, an image and a video exactly to the nano-dollar', async () => {
    const messages = [{ role: 'user', content: 'Say hello to a newcomer.' }];
    const chat = await service.call<{ id: string }>('/api/v1/chat/completions', {
      body: { model: 'tollgate/small', messages },
    });
    const message = await service.call<{ id: string }>('/vendorx/v1/messages', {
      body: { model: 'tollgate/small', messages, max_tokens: 100 },
    });
    const image = await service.call<{ task_id: string }>('/v3/async/image-turbo', {
      body: { prompt: 'a lighthouse at dusk', seed: 7 },
    });
    const video = await submitVideo(30);

    const [imageResult, videoResult] = await Promise.all([finished(image.task_id), finished(video.task_id)]);
    expect([imageResult.task, videoResult.task].map(({ status, reason }) => ({ status, reason }))).toEqual([
      { status: 'TASK_STATUS_SUCCEED', reason: '' },
      { status: 'TASK_STATUS_SUCCEED', reason: '' },
    ]);
    expect(videoResult.extra.seed).toBe('9999999999');

    const charges = await Promise.all([chat.id, message.id, image.task_id, video.task_id].map(chargeOf));
    expect(charges.every((charge) => charge > 0n)).toBe(true);
    expect(await usage()).toBe(nanoUsd(charges.reduce((sum, charge) => sum + charge, 0n)));

    const picture = await download(imageResult.images[0]!.image_url, 'image.png');
    // read as bytes: other suites of this process may have closed sharp's file loaders, as the product does
    expect(await sharp(await readFile(picture)).metadata()).toMatchObject({ width: 1024, height: 1024 });
    const film = await download(videoResult.videos[0]!.video_url, 'video.mp4');
    const probe = [
      '-v',
      'error',
      '-show_entries',
      'stream=codec_name,width,height,nb_frames',
      '-of',
      'json',
      film,
    ];
    const { stdout } = await run(process.env.FFPROBE_PATH!, probe);
    expect(JSON.parse(stdout).streams[0]).toMatchObject({ codec_name: 'h264', width: 1280, height: 720 });
  }, 120_000);

  test('shows a task as processing after kill -9 of its worker', async () => {
    orphan = (await submitVideo(30)).task_id;
    await untilProcessing(orphan);
    await service.killWorkerOf(orphan);
    expect(await statusOf(orphan)).toBe('TASK_STATUS_PROCESSING');
  }, 60_000);

  test('stores no prompt and no answer in any table, Redis key or log', async () => {
    const canary = `canary${Math.random().toString(36).slice(2)}`;
    const messages = [{ role: 'user', content: `Say ${canary}` }];
    const chat = await service.call<{ choices: { message: { content: string } }[] }>(
      '/api/v1/chat/completions',
      {
        body: { model: 'tollgate/small', messages },
        headers: { 'idempotency-key': `once-${canary.slice(6)}` },
      },
    );
    // the builtin model repeats the prompt, so a stored answer would contain it too
    expect(chat.choices[0]!.message.content).toContain(canary);
    await service.call('/vendorx/v1/messages', {
      body: { model: 'tollgate/small', messages, max_tokens: 100 },
    });
    const image = await service.call<{ task_id: string }>('/v3/async/image-turbo', {
      body: { prompt: `a picture of ${canary}`, size: '256*256' },
    });
    expect((await finished(image.task_id)).task.status).toBe('TASK_STATUS_SUCCEED');

    expect(await service.logs()).toContain('"route":"/v3/async/image-turbo"');
    expect(await service.logs()).not.toContain(canary);
    expect(await everythingInPostgres(service.ownerUrl)).not.toContain(canary);
    expect(await everythingInRedis()).not.toContain(canary);
  }, 60_000);

  async function everythingInPostgres(url: string): Promise<string> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows: tables } = await client.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`,
    );
    const texts: string[] = [];
    for (const { relname } of tables) {
      const { rows } = await client.query(`SELECT t::text AS row FROM "${relname}" t`);
      texts.push(...rows.map((row) => row.row));
    }
    await client.end();
    expect(texts.length).toBeGreaterThan(10);
    return texts.join('\n');
  }

  async function everythingInRedis(): Promise<string> {
    const redis = new Redis(service.redisUrl);
    const keys = await redis.keys('*');
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    await redis.quit();
    expect(keys.length).toBeGreaterThan(3);
    return Buffer.concat([
      Buffer.from(keys.join('\n')),
      ...dumps.map((dump) => dump ?? Buffer.alloc(0)),
    ]).toString('latin1');
  }

  also(() => service);

  // last, because the lease of the killed worker lapses during the tests before
  test('finishes the task of the killed worker with a single charge', async () => {
    expect((await finished(orphan)).task.status).toBe('TASK_STATUS_SUCCEED');
    const client = new pg.Client({ connectionString: service.ownerUrl });
    await client.connect();
    const { rows } = await client.query('SELECT type, amount FROM ledger_entries WHERE reference = $1', [
      parsePublicId('generation', orphan),
    ]);
    await client.end();
    expect(rows).toEqual([{ type: 'usage_charge', amount: String(-(await chargeOf(orphan))) }]);
  }, 120_000);
}
