import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import type { Size } from '../../src/media/media-limits.ts';
import { type PostprocessJob, postprocess } from '../../src/media/postprocess.ts';
import { createFileStorage } from '../../src/media/storage-fs.ts';
import { imageDirectly, makeImage, makeVideo, videoDirectly } from './direct-media.ts';

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
  readonly rounds: number;
  readonly direct: (folder: string) => Promise<void>;
}

const IMAGE: Size = { width: 1_024, height: 1_024 };
const VIDEO: Size = { width: 1_280, height: 720 };
const VIDEO_SECONDS = 2;
const EXTENSIONS = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp', 'video/mp4': 'mp4' };

/**
 * What post-processing gets through, one file at a time: checks, encoding, hashes and durable storage, against the same encodings
 * by the same tools and nothing else. The two take turns, so that both meet the same machine.
 */
export async function measurePostprocess(bench: MediaBench): Promise<MediaFigure[]> {
  mkdirSync(bench.folder, { recursive: true });
  const tools = createFfmpeg({ ffmpegPath: bench.ffmpeg, ffprobePath: bench.ffprobe });
  const storage = await createFileStorage({ root: join(bench.folder, 'stored'), sign: (key) => key });
  const ours = async (job: Case['job'], folder: string, round: number) => {
    const signal = new AbortController().signal;
    for (const file of await postprocess({ ...job, folder, signal }, tools)) {
      const extension = EXTENSIONS[file.mediaType];
      await storage.putFile(
        `bench/${job.kind}-${round}-${file.variant}.${extension}`,
        file.content,
        file.mediaType,
      );
    }
  };
  const figures: MediaFigure[] = [];
  for (const { name, job, rounds, direct } of await casesOf(bench)) {
    const ms = { ours: 0, direct: 0 };
    for (let round = 0; round <= rounds; round += 1) {
      const oursMs = await inFolder(join(bench.folder, 'ours'), (folder) => ours(job, folder, round));
      const directMs = await inFolder(join(bench.folder, 'direct'), direct);
      // the first round warms up
      ms.ours += round === 0 ? 0 : oursMs;
      ms.direct += round === 0 ? 0 : directMs;
    }
    figures.push({
      name,
      perSecond: (rounds * 1_000) / ms.ours,
      directPerSecond: (rounds * 1_000) / ms.direct,
    });
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
  const videoRounds = quick ? 2 : 10;
  const pictures = `${IMAGE.width} × ${IMAGE.height} images`;
  const clip = `${VIDEO.width} × ${VIDEO.height} videos of ${VIDEO_SECONDS} s`;
  return [
    {
      name: `${pictures}, copied,`,
      job: { kind: 'image', ...IMAGE, inputs: [image] },
      rounds: quick ? 10 : 50,
      direct: (to) => imageDirectly(image, IMAGE, { folder: to, encode: false }),
    },
    {
      name: `${pictures}, encoded anew,`,
      job: { kind: 'image', ...IMAGE, inputs: [tall] },
      rounds: quick ? 10 : 50,
      direct: (to) => imageDirectly(tall, IMAGE, { folder: to, encode: true }),
    },
    {
      name: `${clip}, copied,`,
      job: { kind: 'video', ...VIDEO, inputs: [conforming] },
      rounds: videoRounds,
      direct: (to) => videoDirectly(ffmpeg, conforming, VIDEO, { folder: to, encode: false }),
    },
    {
      name: `${clip}, encoded anew,`,
      job: { kind: 'video', ...VIDEO, inputs: [odd] },
      rounds: videoRounds,
      direct: (to) => videoDirectly(ffmpeg, odd, VIDEO, { folder: to, encode: true }),
    },
  ];
}

/** Ms that the work took in an empty folder. */
async function inFolder(folder: string, work: (folder: string) => Promise<void>): Promise<number> {
  mkdirSync(folder, { recursive: true });
  const startedAt = performance.now();
  await work(folder);
  const tookMs = performance.now() - startedAt;
  rmSync(folder, { recursive: true });
  return tookMs;
}
