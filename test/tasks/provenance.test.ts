import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { BuiltinEngine } from '../../src/engines/builtin/builtin-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import { encodePng } from '../../src/media/image.ts';
import { postprocess } from '../../src/media/postprocess.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { mediaTools } from '../media/media-tools.ts';

const upstream = new OpenAiImageServer();
let it: TaskTest;

beforeAll(async () => {
  const ffmpeg = createFfmpeg(await mediaTools());
  await upstream.start();
  upstream.media = await sharp({ create: { width: 256, height: 256, channels: 3, background: '#357' } })
    .png()
    .toBuffer();
  it = await TaskTest.open({
    redisDatabase: 11,
    engine: new BuiltinEngine({ id: 'gpu', encoders: { encodePng, encodeFrames: ffmpeg.encodeFrames } }),
    moreEngines: [
      openAiKind.create({ id: 'model', kind: 'openai', kinds: ['image'], base_url: `${upstream.url}/v1` }),
    ],
    postprocess: (job) => postprocess(job, ffmpeg),
  });
});

afterAll(async () => {
  await it?.close();
  await upstream.close();
});

test.each([
  ['drawn by the built-in engine', 'gpu', 'algorithmicMedia'],
  ['made by a model', 'model', 'trainedAlgorithmicMedia'],
])('marks an image as %s', async (_, pool, source) => {
  const id = await submitImage(it.stack, it.who, 'calm sea', { width: 256, height: 256 });
  await it.pool.query('UPDATE tasks SET pool = $1 WHERE id = $2', [pool, id]);
  const running = it.stack.start();
  expect((await it.ended(id)).task.state).toBe('succeeded');
  await running.close();
  const outputs = (await it.stack.reads.listOutputs([id])).get(id) ?? [];
  expect(outputs.map((output) => output.variant).toSorted()).toEqual(['original', 'thumbnail']);
  for (const { storageKey } of outputs) {
    const file = await buffer(await it.stack.storage.read(storageKey));
    const { xmp } = await sharp(file).metadata();
    expect(String(xmp)).toContain(`/digitalsourcetype/${source}<`);
  }
});
