import { createHash } from 'node:crypto';

/** A reproducible stream of numbers. The same label, prompt and seed give the same stream on every machine. */
export interface Random {
  /** Returns the next number in [0, 1). */
  unit(): number;
  /** Returns the next number in [low, high). */
  between(low: number, high: number): number;
  /** Returns the next integer in [low, high]. */
  integer(low: number, high: number): number;
  /** Returns one of the items, uniformly. */
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
  /** Creates a separate stream. It costs this stream a fixed number of draws, however many are made from the new one. */
  branch(): Random;
}

/**
 * Creates a separate stream for each concern (`label`), so one more draw in a scene does not change the palette. Generator: sfc32 of
 * PractRand (pracrand.sourceforge.net), seeded by SHA-256.
 */
export function createRandom(label: string, prompt: string, seed: bigint): Random {
  const digest = createHash('sha256')
    .update(JSON.stringify([label, prompt, seed.toString()]))
    .digest();
  return stream(
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  );
}

function stream(first: number, second: number, third: number, start: number): Random {
  let a = first | 0;
  let b = second | 0;
  let c = third | 0;
  let counter = start | 0;
  const word = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  };
  const unit = () => (word() >>> 0) / 4294967296;
  const integer = (low: number, high: number) => low + Math.floor(unit() * (high - low + 1));
  return {
    unit,
    integer,
    between: (low, high) => low + (high - low) * unit(),
    pick: (items) => items[integer(0, items.length - 1)] ?? items[0],
    branch: () => stream(word(), word(), word(), word()),
  };
}

/** Returns a well-mixed number in [0, 1) for a lattice point. Stars and grain need one per pixel, in any order. */
export function latticeHash(x: number, y: number, salt: number): number {
  let bits = (Math.imul(x, 0x27d4eb2d) ^ Math.imul(y, 0x165667b1) ^ Math.imul(salt, 0x9e3779b1)) | 0;
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return ((bits ^ (bits >>> 15)) >>> 0) / 4294967296;
}
