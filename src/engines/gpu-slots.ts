import { execFile } from 'node:child_process';

export interface Gpu {
  /** What CUDA_VISIBLE_DEVICES calls it. */
  readonly index: number;
  readonly name: string;
  readonly memoryMiB: number;
}

/** Runs a program and returns what it printed; rejects when it is missing or fails. */
export type ReadOutput = (file: string, args: readonly string[]) => Promise<string>;

const TIMEOUT_MS = 5_000;
const QUERY = ['--query-gpu=index,name,memory.total', '--format=csv,noheader,nounits'];

/**
 * The GPUs of this host as nvidia-smi lists them; none when there is no such program or driver. `visible`: our own
 * CUDA_VISIBLE_DEVICES, which nvidia-smi does not heed; only indices in it can be told from each other.
 */
export async function discoverGpus(
  visible: string | undefined,
  readOutput: ReadOutput = runProgram,
): Promise<Gpu[]> {
  let listing: string;
  try {
    listing = await readOutput('nvidia-smi', QUERY);
  } catch {
    return [];
  }
  const gpus = listing.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s*,\s*(.+?)\s*,\s*(\d+)\s*$/.exec(line);
    return match ? [{ index: Number(match[1]), name: match[2] ?? '', memoryMiB: Number(match[3]) }] : [];
  });
  const indices = visible?.split(',').map((word) => word.trim());
  return indices?.every((word) => /^\d+$/.test(word))
    ? gpus.filter(({ index }) => indices.includes(String(index)))
    : gpus;
}

function runProgram(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
}
