import type { FramePixels } from './render-job.ts';

/** A message from a rendering thread. Each frame is requested with the message 'next'. */
export type RenderMessage =
  | { readonly kind: 'progress'; readonly fraction: number }
  | { readonly kind: 'frame'; readonly pixels: FramePixels }
  | { readonly kind: 'end' };
