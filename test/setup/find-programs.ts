import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';

/** Tells the test files where ffmpeg and ffprobe are. */
export default async function findPrograms(): Promise<void> {
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  process.env.FFMPEG_PATH = ffmpeg;
  process.env.FFPROBE_PATH = ffprobe;
}
