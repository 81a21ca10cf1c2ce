/** Working memory of one image: linear light per pixel and two scalar planes that scenes use as they like. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** Interleaved linear red, green and blue, 1 = white; may exceed 1 before tone mapping. */
  readonly light: Float32Array;
  readonly relief: Float32Array;
  readonly tint: Float32Array;
}

/** Allocates memory for an image of width × height pixels: 20 bytes per pixel. */
export function createCanvas(width: number, height: number): Canvas {
  const pixels = width * height;
  return {
    width,
    height,
    light: new Float32Array(pixels * 3),
    relief: new Float32Array(pixels),
    tint: new Float32Array(pixels),
  };
}
