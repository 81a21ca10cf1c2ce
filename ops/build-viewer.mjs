// Builds the viewer of the API reference at /docs: the browser bundle of Scalar, as its package ships it, with its license.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** Out of 11. The last two levels take ten seconds longer and save only a tenth. */
const BROTLI_QUALITY = 9;

/** Writes viewer.js and its compressed twins into the folder `target`, which is replaced. */
export function buildViewer(root, target) {
  const scalar = join(root, 'node_modules', '@scalar', 'fastify-api-reference');
  const licence = readFileSync(join(scalar, 'LICENSE'), 'utf8');
  const bundle = readFileSync(join(scalar, 'dist', 'js', 'standalone.js'), 'utf8');
  // the source map is not shipped
  const script = bundle.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
  const content = Buffer.from(`/*! Scalar API reference\n\n${licence.trim()}\n*/\n${script}`);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'viewer.js'), content);
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  writeFileSync(join(target, 'viewer.js.br'), brotliCompressSync(content, { params }));
  writeFileSync(join(target, 'viewer.js.gz'), gzipSync(content, { level: 9 }));
}
