import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { layOut } from './compiled.ts';
import { guardServices } from './test-services.ts';

/** Tells the test files where ffmpeg and ffprobe are, and where the compiled programs of this repository are. */
export default async function findPrograms(): Promise<void> {
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  process.env.FFMPEG_PATH = ffmpeg;
  process.env.FFPROBE_PATH = ffprobe;
  if (process.env.TEST_COMPILED_FOLDER === undefined) {
    const folder = ownTemporaryFolder('compiled');
    guardServices(folder);
    await layOut(folder, 'tsconfig.json');
    process.env.TEST_COMPILED_FOLDER = folder;
  }
}
