import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { z } from 'zod';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { mediaResponse } from '../media/media-response.ts';
import type { UrlSigner } from '../media/signed-url.ts';
import type { Storage } from '../media/storage.types.ts';

export interface MediaRoutesOptions {
  readonly storage: Storage;
  readonly signer: UrlSigner;
  readonly clock: Clock;
}

const linkQuery = z.object({
  exp: z.string().optional().meta({ description: 'Unix seconds at which the link expires' }),
  kid: z.string().optional().meta({ description: 'Id of the secret that signed the link' }),
  sig: z
    .string()
    .optional()
    .meta({ description: 'Signature over the key, the method and the other parameters' }),
  dl: z.string().optional().meta({ description: 'File name under which browsers save the file' }),
});

/** `/media/…`: finished files, for anyone with a media link. */
export function mediaRoutes(options: MediaRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/media/{key+}',
      operationId: 'getMedia',
      summary: 'Get a finished file with the media link of a task result; supports ranges',
      tag: 'Async',
      access: 'public',
      envelope: 'bare',
      params: z.object({
        key: z.string().min(1).max(500).meta({ description: 'Storage key of the file' }),
      }),
      query: linkQuery,
      response: {
        status: 200,
        schema: z.string(),
        mediaTypes: ['image/png', 'image/jpeg', 'video/mp4'],
        also: { 206: 'The requested part', 304: 'Not modified', 416: 'The range is not satisfiable' },
      },
      errors: ['signature_invalid', 'media_not_found', 'media_expired'],
      async handle({ params, query, headers, response, signal }) {
        const { method } = response.req;
        const link = options.signer.verify({ method, key: params.key, query });
        const object = await options.storage.stat(link.key);
        if (!object) {
          throw new AppError(
            'media_not_found',
            'The file no longer exists: media is kept for a limited time.',
          );
        }
        const secondsLeft = link.expiresAt - options.clock.now() / 1000;
        const answer = mediaResponse(
          object,
          {
            range: headers.range,
            ifRange: header(headers['if-range']),
            ifNoneMatch: headers['if-none-match'],
          },
          { downloadName: link.downloadName, secondsLeft },
        );
        writeHead(response, answer.status, answer.headers);
        if (method === 'HEAD' || answer.status === 304 || answer.status === 416) {
          response.end();
        } else {
          await sendBytes(await options.storage.read(link.key, answer.range), response, signal);
        }
        return undefined;
      },
    }),
  ];
}

/** Sends the bytes. A client that stops watching a video is not a failure. */
async function sendBytes(bytes: Readable, response: Response, signal: StopSignal): Promise<void> {
  await pipeline(bytes, response).catch((error: unknown) => {
    if (!signal.aborted) {
      throw error;
    }
  });
}

function writeHead(response: Response, status: number, headers: Readonly<Record<string, string>>): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) {
    response.setHeader(name, value);
  }
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
