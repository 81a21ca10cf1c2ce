import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';

const require = createRequire(import.meta.url);

export interface ToolPaths {
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
}

/** Returns the binaries from npm, made executable because package install scripts are off. */
export async function mediaTools(): Promise<ToolPaths> {
  const ffmpegPath = (require('@ffmpeg-installer/ffmpeg') as { path: string }).path;
  const ffprobePath = (require('@ffprobe-installer/ffprobe') as { path: string }).path;
  for (const path of [ffmpegPath, ffprobePath]) {
    await access(path, constants.X_OK).catch(() => chmod(path, 0o755));
  }
  return { ffmpegPath, ffprobePath };
}

/** Creates a folder for one test file, removed by `remove`. */
export async function testFolder(): Promise<{
  path: string;
  sub(name: string): Promise<string>;
  remove(): Promise<void>;
}> {
  const path = ownTemporaryFolder('media');
  return {
    path,
    sub: async (name) => {
      const folder = join(path, name);
      await mkdir(folder, { recursive: true });
      return folder;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Makes a test video with ffmpeg's built-in pattern source. */
export async function makeVideo(
  ffmpegPath: string,
  path: string,
  options: { source: string; output: string[] },
) {
  const input = ['-v', 'error', '-nostdin', '-y', '-f', 'lavfi', '-i', options.source];
  await promisify(execFile)(ffmpegPath, [...input, ...options.output, path]);
}

/** Writes a shell script that stands in for a tool. It stores its pid in a file next to it. */
export async function fakeTool(
  folder: string,
  name: string,
  body: string,
): Promise<{ path: string; pid(): Promise<number> }> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\necho $$ > "$0.pid"\n${body}\n`, { mode: 0o755 });
  return { path, pid: async () => Number(await readFile(`${path}.pid`, 'utf8')) };
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns the process ids of this process's children (Linux). */
export async function childPids(): Promise<number[]> {
  const threads = await readdir('/proc/self/task');
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/self/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) => list.trim().split(/\s+/).filter(Boolean).map(Number));
}
