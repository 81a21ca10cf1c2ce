import { accessSync, chmodSync, constants, copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findPackageFolder } from './package-folder.ts';
import { StartFailure } from './start-failure.ts';

export type FfmpegPaths = { ffmpeg: string; ffprobe: string };

/**
 * Finds ffmpeg and ffprobe: FFMPEG_PATH / FFPROBE_PATH, then PATH, then the npm packages that contain them. Throws StartFailure
 * when a configured path is not a program, or when none is found.
 */
export function findFfmpeg(environment: NodeJS.ProcessEnv): FfmpegPaths {
  return {
    ffmpeg: findProgram('ffmpeg', 'FFMPEG_PATH', environment),
    ffprobe: findProgram('ffprobe', 'FFPROBE_PATH', environment),
  };
}

function findProgram(
  name: 'ffmpeg' | 'ffprobe',
  setting: 'FFMPEG_PATH' | 'FFPROBE_PATH',
  environment: NodeJS.ProcessEnv,
): string {
  const configured = environment[setting];
  if (configured !== undefined && configured !== '') {
    if (!isExecutable(configured)) {
      throw new StartFailure(
        `${setting} is ${configured}, which is not a program. Correct it, or leave it empty.`,
      );
    }
    return configured;
  }
  const folders = (environment.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const onPath = folders.map((folder) => join(folder, name)).find(isExecutable);
  return onPath ?? findInPackage(name, setting, environment);
}

function findInPackage(name: 'ffmpeg' | 'ffprobe', setting: string, environment: NodeJS.ProcessEnv): string {
  const folder = findPackageFolder(`@${name}-installer/${process.platform}-${process.arch}`);
  const program = folder === undefined ? undefined : join(folder, name);
  if (program === undefined || !existsSync(program)) {
    throw new StartFailure(`No ${name} found. Install ffmpeg (apt-get install ffmpeg), or set ${setting}.`);
  }
  if (isExecutable(program)) {
    return program;
  }
  try {
    chmodSync(program, 0o755);
    return program;
  } catch {
    return copyToCache(program, name, environment);
  }
}

/**
 * Copies the program to a cache. Needed when the package folder is read-only and lost its execute bits, as some file sharing
 * does.
 */
function copyToCache(program: string, name: string, environment: NodeJS.ProcessEnv): string {
  const cache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const target = join(cache, 'tollgate', `${name}-${process.platform}-${process.arch}`);
  if (!isExecutable(target)) {
    const unfinished = `${target}.${process.pid}`;
    mkdirSync(join(cache, 'tollgate'), { recursive: true });
    copyFileSync(program, unfinished);
    chmodSync(unfinished, 0o755);
    renameSync(unfinished, target);
  }
  return target;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
