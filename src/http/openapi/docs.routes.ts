import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { builtFolder } from '../../lib/built-folder.ts';
import { AppError } from '../../lib/errors.ts';
import { type Asset, readAsset, sendAsset } from '../answers/asset.ts';
import { type HtmlPage, sendPage } from '../answers/html-page.ts';
import { defineRoute, type Route } from '../route.ts';
import { docsPage } from './docs-page.ts';
import type { JsonSchema } from './openapi-portable.ts';
import { sendViewer } from './viewer-page.ts';

interface Viewer {
  readonly asset: Asset;
  readonly digest: string;
}

const page = {
  method: 'get',
  tag: 'Service',
  access: 'public',
  envelope: 'bare',
  errors: [],
  response: { status: 200, schema: z.string(), mediaTypes: ['text/html'] },
} as const;

/**
 * The API description as pages: `/docs` with search, samples and calls, `/docs/plain` without scripts. Where the viewer was not built,
 * `/docs` is the plain page, too. `folder`: where the viewer is, else where the build puts it.
 */
export function docsRoutes(
  document: () => JsonSchema,
  folder: string = join(builtFolder('console'), 'docs'),
): Route[] {
  let plain: HtmlPage | undefined;
  const plainPage = () => {
    plain ??= docsPage(document());
    return plain;
  };
  let read: Viewer | undefined;
  const viewer = () => {
    read ??= readViewer(folder);
    return read;
  };
  return [
    defineRoute({
      ...page,
      path: '/docs',
      operationId: 'getDocs',
      summary: 'This API as a page: search, samples, calls',
      async handle({ response }) {
        const found = viewer();
        return found
          ? sendViewer(response, titleOf(document()), found.digest)
          : sendPage(response, plainPage());
      },
    }),
    defineRoute({
      ...page,
      path: '/docs/plain',
      operationId: 'getPlainDocs',
      summary: 'This API as a page without scripts',
      handle: async ({ response }) => sendPage(response, plainPage()),
    }),
    defineRoute({
      ...page,
      path: '/docs/viewer.js',
      operationId: 'getDocsViewer',
      summary: 'The script of the page at /docs',
      response: { status: 200, schema: z.string(), mediaTypes: ['text/javascript'] },
      errors: ['route_not_found'],
      async handle({ response }) {
        const found = viewer();
        if (!found) {
          throw new AppError('route_not_found', 'the viewer is not built: run "npm run build"');
        }
        sendAsset(found.asset, response.req, response, 'public, max-age=31536000, immutable');
        return undefined;
      },
    }),
  ];
}

/** Read when somebody first asks: 5 MB that most processes never need. */
function readViewer(folder: string): Viewer | undefined {
  const file = join(folder, 'viewer.js');
  if (!existsSync(file)) {
    return undefined;
  }
  const asset = readAsset(file);
  return { asset, digest: createHash('sha256').update(asset.plain).digest('hex').slice(0, 16) };
}

function titleOf(document: JsonSchema): string {
  return (document.info as { readonly title: string }).title;
}
