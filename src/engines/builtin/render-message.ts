import type { FramePixels } from './render-job.ts';

/** What a rendering thread says. It is asked for each frame with the message 'next'. */
export type RenderMessage =
  | { readonly kind: 'progress'; readonly fraction: number }
  | { readonly kind: 'frame'; readonly pixels: FramePixels }
  | { readonly kind: 'end' };
