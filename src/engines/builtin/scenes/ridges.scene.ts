import type { Canvas } from '../canvas.ts';
import { createNoiseField, sampleLinear, sampleSmooth } from '../noise-field.ts';
import { rampOffset } from '../palette.ts';
import type { Report, Scene, SceneInput } from '../scene.types.ts';
import { type Crest, hiddenFrom, skyRows } from './silhouettes.ts';
import { addStars, createRipples, reflect } from './sky.ts';

/** Mountain ridges one behind the other in haze, under a low sun or moon, sometimes above a lake. */
export function createRidgesScene(input: SceneInput): Scene {
  const layout = drawLayout(input);
  return { paint: (canvas, phase, report) => paint(layout, canvas, phase, report) };
}

type Layout = ReturnType<typeof drawLayout>;

function drawLayout(input: SceneInput) {
  const { random, palette, detail, fieldSize } = input;
  const layersMost = random.integer(6, 9);
  const layers = Math.round(3 + (layersMost - 3) * detail);
  const sunX = random.between(-0.34, 0.34);
  const sunY = random.between(0.2, 0.42);
  const sunRadius = random.between(0.045, 0.1);
  const horizon = random.between(0.4, 0.52);
  const roughness = random.between(0.4, 0.5);
  const tall = random.between(0.16, 0.26);
  const lake = random.unit() < 0.4;
  const waterline = lake ? random.between(0.7, 0.78) : 1;
  const salt = random.integer(1, 100_000);
  const ripples = createRipples(random);
  const clouds = createNoiseField(random, { size: 512, cells: 4, octaves: 2 + 4 * detail, gain: 0.52 });
  const profiles = createNoiseField(random, {
    size: fieldSize,
    cells: 4,
    octaves: 2.2 + 4.3 * detail,
    gain: roughness,
  });
  const faces = createNoiseField(random, {
    size: 512,
    cells: 8,
    octaves: 1 + 4 * detail,
    gain: 0.6,
    ridged: true,
  });
  return {
    palette,
    detail,
    layers,
    sunX,
    sunY,
    sunRadius,
    horizon,
    roughness,
    tall,
    lake,
    waterline,
    salt,
    ripples,
    clouds,
    profiles,
    faces,
  };
}

function paint(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { palette, layers, lake, waterline, ripples } = layout;
  const bottom = lake ? Math.ceil(canvas.height * waterline) : canvas.height;
  const crests = Array.from({ length: layers }, (_, layer) => crestOf(layout, canvas, layer, phase));
  const limits = hiddenFrom(crests, bottom);
  paintSky(layout, canvas, phase, skyRows(crests[0], bottom));
  report(0.4);
  for (const [layer, crest] of crests.entries()) {
    paintLayer(layout, canvas, { layer, crest, limit: limits[layer] ?? new Int32Array(), phase });
    report(0.4 + (0.5 * (layer + 1)) / layers);
  }
  if (lake) {
    reflect(canvas, waterline, palette.secondAccent, ripples, phase);
  }
  report(1);
}

/** Nearness of a layer, 0 at the horizon to 1 in front, and what follows from it. */
function placeOf(layout: Layout, layer: number, phase: number) {
  const { layers, horizon, tall } = layout;
  const near = layer / (layers - 1);
  return {
    near,
    sway: 0.012 * near * Math.sin(phase * 2 * Math.PI),
    baseline: horizon + (1.02 - horizon) * near ** 1.25 * 0.86,
    rise: tall * (0.45 + 0.75 * (1 - near)),
    row: layer * 0.137 + 0.05,
    stretch: 0.26 - 0.07 * near,
  };
}

function crestOf(layout: Layout, canvas: Canvas, layer: number, phase: number): Crest {
  const { profiles } = layout;
  const { width, height } = canvas;
  const unit = 1 / Math.min(width, height);
  const { sway, baseline, rise, row, stretch } = placeOf(layout, layer, phase);
  return Float32Array.from({ length: width }, (_, x) => {
    const u = (x - width / 2) * unit * stretch + layer * 0.391 + sway;
    const folded = Math.abs(sampleSmooth(profiles, u, row));
    const peak = 0.6 * folded + 0.4 * sampleSmooth(profiles, u * 0.5, row + 0.5);
    return (baseline - rise * (0.25 + 1.2 * peak)) * height;
  });
}

function paintSky(layout: Layout, canvas: Canvas, phase: number, rows: number): void {
  const { palette, detail, sunX, sunY, sunRadius, horizon, salt, clouds } = layout;
  const { width, height, light } = canvas;
  const unit = 1 / Math.min(width, height);
  const drift = 0.02 * Math.sin(phase * 2 * Math.PI);
  for (let y = 0; y < rows; y += 1) {
    const fall = y / height / (horizon + 0.12);
    const base = palette.dark ? 0.04 + 0.62 * fall ** 1.5 : 0.5 + 0.46 * fall;
    for (let x = 0; x < width; x += 1) {
      const px = (x - width / 2) * unit;
      const sx = px - sunX * width * unit;
      const sy = (y - height * sunY) * unit;
      const distance = Math.sqrt(sx * sx + sy * sy);
      const cloud = sampleLinear(clouds, px * 0.16 + drift, y * unit * 0.75 + 0.02 * px);
      const streak = Math.max(0, cloud - 0.05) * 0.22;
      const offset = rampOffset(base + streak + 0.08 * Math.exp(-distance * 3));
      const disc = Math.min(1, Math.max(0, (sunRadius - distance) / (unit * 1.6) + 0.5));
      const halo = 0.55 * Math.exp(-distance * 4) + 0.4 * Math.exp(-distance * 16);
      const index = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const sky = (palette.ramp[offset + channel] as number) * (1 - disc);
        const sun = (palette.accent[channel] as number) * 0.5 + (palette.light[channel] as number) * 0.62;
        light[index + channel] =
          sky + sun * disc * 1.15 + (palette.accent[channel] as number) * halo * (1 - disc) * (0.6 + streak);
      }
    }
  }
  if (palette.dark) {
    addStars(canvas, phase, { density: 1500 * (0.3 + 0.7 * detail), salt, tint: palette.light, horizon });
  }
}

interface PaintedLayer {
  readonly layer: number;
  readonly crest: Crest;
  readonly limit: Int32Array;
  readonly phase: number;
}

function paintLayer(layout: Layout, canvas: Canvas, painted: PaintedLayer): void {
  const { palette, detail, faces } = layout;
  const { layer, crest, limit, phase } = painted;
  const { width, height, light } = canvas;
  const unit = 1 / Math.min(width, height);
  const { near, sway, rise, row, stretch } = placeOf(layout, layer, phase);
  const haze = rampOffset(palette.dark ? 0.52 - 0.5 * near : 0.82 - 0.82 * near);
  const foot = rampOffset(palette.dark ? 0.66 - 0.5 * near : 0.97 - 0.5 * near);
  const thickness = (0.85 + 0.05 * Math.sin(2 * Math.PI * (phase + layer * 0.31))) * (1.1 - 0.75 * near);
  const contrast = (0.06 + 0.3 * near) * (0.12 + 0.88 * detail);
  for (let x = 0; x < width; x += 1) {
    const px = (x - width / 2) * unit;
    const u = px * stretch + layer * 0.391 + sway;
    const top = crest[x] as number;
    const first = Math.max(0, Math.floor(top));
    const last = limit[x] as number;
    for (let y = first; y < last; y += 1) {
      const cover = Math.min(1, y + 1 - top);
      const below = Math.max(0, y - top) * unit;
      const mist = Math.min(0.92, (below / (rise * 1.5 + 0.1)) ** 1.3 * thickness);
      const face = sampleLinear(faces, px * 0.5 + row + sway, below * 0.45 + u);
      const shade = 1 + face * contrast * (1 - mist);
      const index = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const rock = (palette.ramp[haze + channel] as number) * (1 - mist);
        const veil = (palette.ramp[foot + channel] as number) * mist;
        const before = light[index + channel] as number;
        light[index + channel] = before + ((rock + veil) * shade - before) * cover;
      }
    }
  }
}
