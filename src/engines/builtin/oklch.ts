/** A color as lightness 0–1, chroma (about 0–0.3) and hue in degrees. */
export interface Oklch {
  readonly lightness: number;
  readonly chroma: number;
  readonly hue: number;
}

/** Red, green and blue in linear light, 0–1 inside the sRGB gamut. */
export type LinearRgb = readonly [number, number, number];

/**
 * Converts OKLCH to linear sRGB (Björn Ottosson, bottosson.github.io/posts/oklab). For colors outside sRGB a bisection reduces chroma and
 * keeps the hue, so a palette stays harmonious where the screen cannot show it.
 */
export function oklchToLinear(color: Oklch): LinearRgb {
  let low = 0;
  let high = color.chroma;
  const wanted = convert(color.lightness, color.chroma, color.hue);
  if (inGamut(wanted)) {
    return wanted;
  }
  for (let step = 0; step < 12; step += 1) {
    const middle = (low + high) / 2;
    if (inGamut(convert(color.lightness, middle, color.hue))) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const [red, green, blue] = convert(color.lightness, low, color.hue);
  return [clamp(red), clamp(green), clamp(blue)];
}

function convert(lightness: number, chroma: number, hue: number): LinearRgb {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function inGamut(rgb: LinearRgb): boolean {
  return rgb.every((channel) => channel >= -0.0005 && channel <= 1.0005);
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
