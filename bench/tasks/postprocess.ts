import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Semaphore } from '../../src/lib/semaphore.ts';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import type { Size } from '../../src/media/media-limits.ts';
import { type PostprocessJob, postprocess } from '../../src/media/postprocess.ts';
import { createFileStorage } from '../../src/media/storage-fs.ts';
import { imageDirectly, makeImage, makeVideo, videoDirectly } from './direct-media.ts';
import { runBatch } from './orders.ts';

export interface MediaFigure {
  readonly name: string;
  readonly perSecond: number;
  readonly directPerSecond: number;
}

export interface MediaBench {
  readonly folder: string;
  readonly ffmpeg: string;
  readonly ffprobe: string;
  readonly quick: boolean;
}

interface Case {
  readonly name: string;
  readonly job: Pick<PostprocessJob, 'kind' | 'width' | 'height' | 'inputs'>;
  /** Number of turns that count, and of jobs in each: enough that the end of a turn, when some slots are empty, matters little. */
  readonly turns: number;
  readonly jobs: number;
  readonly direct: (folder: string) => Promise<void>;
}

const IMAGE: Size = { width: 1_024, height: 1_024 };
const VIDEO: Size = { width: 1_280, height: 720 };
const VIDEO_SECONDS = 2;
const CORES = availableParallelism();
/** The concurrency of a worker's post-processing queue. */
const JOBS_AT_ONCE = 4 * CORES;
const EXTENSIONS = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp', 'video/mp4': 'mp4' };

/**
 * Measures post-processing as a worker does it (several jobs at once, as many of them encoding as a worker allows: checks, encoding, hashes
 * and durable storage) against the same encodings by the same tools alone. The two take turns, so that the state of the machine affects
 * both equally.
 */
export async function measurePostprocess(bench: MediaBench): Promise<MediaFigure[]> {
  mkdirSync(bench.folder, { recursive: true });
  const tools = createFfmpeg({ ffmpegPath: bench.ffmpeg, ffprobePath: bench.ffprobe });
  const storage = await createFileStorage({ root: join(bench.folder, 'stored'), sign: (key) => key });
  const signal = new AbortController().signal;
  const encoders = { image: new Semaphore(CORES), video: new Semaphore(Math.max(1, CORES - 1)) };
  const ours = async (job: Case['job'], folder: string, number: number) => {
    const files = await encoders[job.kind].run(() => postprocess({ ...job, folder, signal }, tools), signal);
    await Promise.all(
      files.map(({ variant, content, mediaType }) => {
        const key = `bench/${job.kind}-${number}-${variant}.${EXTENSIONS[mediaType]}`;
        return storage.putFile(key, content, mediaType);
      }),
    );
  };
  const figures: MediaFigure[] = [];
  for (const { name, job, turns, jobs, direct } of await casesOf(bench)) {
    const ms = { ours: 0, direct: 0 };
    for (let turn = 0; turn <= turns; turn += 1) {
      const oursMs = await takeTurn(join(bench.folder, 'ours'), jobs, (folder, number) =>
        ours(job, folder, number),
      );
      const directMs = await takeTurn(join(bench.folder, 'direct'), jobs, (folder) =>
        encoders[job.kind].run(() => direct(folder), signal),
      );
      // the first turn warms up
      ms.ours += turn === 0 ? 0 : oursMs;
      ms.direct += turn === 0 ? 0 : directMs;
    }
    const counted = turns * jobs * 1_000;
    figures.push({ name, perSecond: counted / ms.ours, directPerSecond: counted / ms.direct });
  }
  return figures;
}

async function casesOf({ folder, ffmpeg, quick }: MediaBench): Promise<Case[]> {
  const image = join(folder, 'engine.png');
  const tall = join(folder, 'tall.png');
  const conforming = join(folder, 'conforming.mp4');
  const odd = join(folder, 'odd.mp4');
  await makeImage(image, IMAGE);
  await makeImage(tall, { ...IMAGE, height: 1_040 });
  await makeVideo(ffmpeg, conforming, VIDEO, VIDEO_SECONDS);
  await makeVideo(ffmpeg, odd, { ...VIDEO, height: 768 }, VIDEO_SECONDS);
  const videoTurns = quick ? 1 : 2;
  const pictures = `${IMAGE.width} × ${IMAGE.height} images`;
  const clip = `${VIDEO.width} × ${VIDEO.height} videos of ${VIDEO_SECONDS} s`;
  return [
    {
      name: `${pictures}, copied,`,
      job: { kind: 'image', ...IMAGE, inputs: [image] },
      turns: quick ? 2 : 5,
      jobs: 64,
      direct: (to) => imageDirectly(image, IMAGE, { folder: to, encode: false }),
    },
    {
      name: `${pictures}, re-encoded,`,
      job: { kind: 'image', ...IMAGE, inputs: [tall] },
      turns: quick ? 2 : 5,
      jobs: 16,
      direct: (to) => imageDirectly(tall, IMAGE, { folder: to, encode: true }),
    },
    {
      name: `${clip}, copied,`,
      job: { kind: 'video', ...VIDEO, inputs: [conforming] },
      turns: videoTurns,
      jobs: 8,
      direct: (to) => videoDirectly(ffmpeg, conforming, VIDEO, { folder: to, encode: false }),
    },
    {
      name: `${clip}, re-encoded,`,
      job: { kind: 'video', ...VIDEO, inputs: [odd] },
      turns: videoTurns,
      jobs: 8,
      direct: (to) => videoDirectly(ffmpeg, odd, VIDEO, { folder: to, encode: true }),
    },
  ];
}

/** Runs the jobs of one turn concurrently, each in an empty folder. Returns how long they took, in ms. */
async function takeTurn(
  base: string,
  jobs: number,
  work: (folder: string, number: number) => Promise<void>,
): Promise<number> {
  const folders = Array.from({ length: jobs }, (_, number) => join(base, String(number)));
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
  }
  const startedAt = performance.now();
  await runBatch(jobs, JOBS_AT_ONCE, (number) => work(folders[number - 1]!, number));
  const tookMs = performance.now() - startedAt;
  rmSync(base, { recursive: true });
  return tookMs;
}
