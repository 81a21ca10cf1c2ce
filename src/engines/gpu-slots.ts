import { execFile } from 'node:child_process';
import { z } from 'zod';

export interface Gpu {
  /** Its index in CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES. */
  readonly index: number;
  readonly name: string;
  readonly memoryMiB: number;
}

/** The memory usage of a GPU. */
export interface GpuMemory {
  readonly index: number;
  readonly usedMiB: number;
  readonly totalMiB: number;
}

/** Runs a program and returns what it printed; rejects when it is missing or fails. */
export type ReadOutput = (file: string, args: readonly string[]) => Promise<string>;

interface Card extends Gpu, GpuMemory {
  /** The id that CUDA_VISIBLE_DEVICES may name it by instead. */
  readonly uuid: string;
}

const TIMEOUT_MS = 5_000;
const MIB = 1_048_576;
const NVIDIA = ['--query-gpu=index,uuid,memory.total,memory.used,name', '--format=csv,noheader,nounits'];
const AMD = ['--showproductname', '--showmeminfo', 'vram', '--json'];

/** The members in the output of rocm-smi, which has spelled the series in two ways. */
const amdCard = z.looseObject({
  'VRAM Total Memory (B)': z.coerce.number().positive(),
  'VRAM Total Used Memory (B)': z.coerce.number().min(0),
  'Card Series': z.string().optional(),
  'Card series': z.string().optional(),
});
const amdCards = z.record(z.string(), z.unknown());

/**
 * Returns the GPUs of this host as listed by nvidia-smi, else by rocm-smi; none when neither is installed. `visible` names those visible to
 * this process, by index or id, because both programs ignore the environment variables. Parts of a GPU (MIG) are not listed, so a process
 * that sees only such parts gets an empty list.
 */
export async function discoverGpus(
  visible: string | undefined,
  readOutput: ReadOutput = runProgram,
): Promise<Gpu[]> {
  const cards = await readCards(readOutput);
  const words = visible?.split(',').map((word) => word.trim());
  const isVisible = ({ index, uuid }: Card): boolean =>
    !words || words.some((word) => word === String(index) || (word.length > 4 && uuid.startsWith(word)));
  return cards.filter(isVisible).map(({ index, name, totalMiB }) => ({ index, name, memoryMiB: totalMiB }));
}

/** Returns the GPUs visible to a process with this environment, as its variables name them; undefined for all. */
export function visibleGpus(variables: Readonly<Record<string, string | undefined>>): string | undefined {
  const { CUDA_VISIBLE_DEVICES: cuda, HIP_VISIBLE_DEVICES: hip, ROCR_VISIBLE_DEVICES: rocr } = variables;
  return cuda ?? hip ?? rocr;
}

/** Returns the current memory usage of all GPUs of this host; empty when neither program reports it. */
export async function readGpuMemory(readOutput: ReadOutput = runProgram): Promise<GpuMemory[]> {
  const cards = await readCards(readOutput);
  return cards.map(({ index, usedMiB, totalMiB }) => ({ index, usedMiB, totalMiB }));
}

async function readCards(readOutput: ReadOutput): Promise<Card[]> {
  const output = (file: string, args: readonly string[]) => readOutput(file, args).catch(() => '');
  const nvidia = nvidiaCards(await output('nvidia-smi', NVIDIA));
  return nvidia.length > 0 ? nvidia : readAmdCards(await output('rocm-smi', AMD));
}

function nvidiaCards(listing: string): Card[] {
  return listing.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s*,\s*(\S+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(.+?)\s*$/.exec(line);
    const [, index, uuid = '', total, used, name = ''] = match ?? [];
    const memory = { memoryMiB: Number(total), totalMiB: Number(total), usedMiB: Number(used) };
    return match ? [{ index: Number(index), uuid, name, ...memory }] : [];
  });
}

function readAmdCards(listing: string): Card[] {
  let json: unknown;
  try {
    json = JSON.parse(listing);
  } catch {
    return [];
  }
  return Object.entries(amdCards.safeParse(json).data ?? {}).flatMap(([name, value]) => {
    const [, index] = /^card(\d+)$/.exec(name) ?? [];
    const { data: card } = amdCard.safeParse(value);
    if (index === undefined || !card) {
      return [];
    }
    const totalMiB = Math.floor(card['VRAM Total Memory (B)'] / MIB);
    const usedMiB = Math.ceil(card['VRAM Total Used Memory (B)'] / MIB);
    const series = card['Card Series'] ?? card['Card series'] ?? 'AMD GPU';
    return [{ index: Number(index), uuid: '', name: series, memoryMiB: totalMiB, totalMiB, usedMiB }];
  });
}

function runProgram(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
}
