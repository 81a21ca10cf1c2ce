import { readFileSync } from 'node:fs';

/**
 * Checks that the colors of charts are distinguishable for everyone and contrast with their background
 * (console/styles/tokens.css).
 */

const CSS = readFileSync(new URL('tokens.css', import.meta.url), 'utf8');
/** OKLab distance × 100. */
const DISTANCE_MIN = 9;
/** Minimum for graphics (WCAG 2.2, 1.4.11). */
const CONTRAST_MIN = 3;

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

/** How the three kinds of color blindness perceive linear light: Machado, Oliveira and Fernandes 2009, severity 1. */
const SIGHTS: Readonly<Record<string, Matrix>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** Matrices from linear sRGB to cone responses, and from their cube roots to OKLab: Ottosson 2020. */
const CONES: Matrix = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const OKLAB: Matrix = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];

const times = (matrix: Matrix, [x, y, z]: Triple): Triple =>
  matrix.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Triple;

function linear(hex: string): Triple {
  const channel = (at: number) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function seen(hex: string, sight: Matrix): Triple {
  const light = times(sight, linear(hex)).map((value) => Math.min(1, Math.max(0, value)));
  const cones = times(CONES, light as unknown as Triple).map(Math.cbrt);
  return times(OKLAB, cones as unknown as Triple);
}

function contrast(one: string, other: string): number {
  const [bright, dark] = [one, other]
    .map(
      (hex) =>
        times(
          [
            [0.2126, 0.7152, 0.0722],
            [0, 0, 0],
            [0, 0, 0],
          ],
          linear(hex),
        )[0],
    )
    .sort((a, b) => b - a) as [number, number];
  return (bright + 0.05) / (dark + 0.05);
}

describe.each([
  ['light', ':root {'],
  ['dark', ':root[data-theme="dark"] {'],
])('%s', (_, start) => {
  const block = CSS.slice(CSS.indexOf(start)).split('}', 1)[0] ?? '';
  const token = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(block)?.[1] ?? '';
  const series = [1, 2, 3, 4, 5, 6].map((number) => token(`series-${number}`));
  const pairs = series.flatMap((one, at) =>
    series.slice(at + 1).map((other): [string, string] => [one, other]),
  );

  test.each(Object.entries(SIGHTS))('%s: no two series look alike', (__, sight) => {
    const distances = pairs.map(([one, other]) => {
      const [a, b] = [seen(one, sight), seen(other, sight)];
      return 100 * Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)));
    });
    expect(pairs).toHaveLength(15);
    expect(Math.min(...distances)).toBeGreaterThanOrEqual(DISTANCE_MIN);
  });

  test('every series stands out from the panel', () => {
    expect(Math.min(...series.map((hex) => contrast(hex, token('panel'))))).toBeGreaterThanOrEqual(
      CONTRAST_MIN,
    );
  });
});
