// Builds the web pages: the console by esbuild with code splitting, content-hashed names, and compressed twins beside each file;
// and the viewer of the API reference.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { buildViewer } from './build-viewer.mjs';

/**
 * Builds `console/` of the repository at `root` into the folder `target`, which is replaced, and the viewer of `/docs` into
 * `docs` there. Rethrows errors of esbuild.
 */
export async function buildConsole(root, target) {
  const { build } = await import(pathToFileURL(join(root, 'node_modules', 'esbuild', 'lib', 'main.js')).href);
  const assets = join(target, 'assets');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(assets, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: join(root, 'console'),
    entryPoints: { main: 'main.tsx' },
    outdir: assets,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    metafile: true,
    logLevel: 'silent',
  });
  const written = Object.entries(metafile.outputs);
  const [script, { cssBundle, imports }] = written.find(([, { entryPoint }]) => entryPoint === 'main.tsx');
  const first = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
  writeFileSync(join(assets, 'favicon.svg'), readFileSync(join(root, 'console', 'favicon.svg')));
  const tags = [
    `<link rel="stylesheet" href="assets/${basename(cssBundle)}">`,
    ...first.map((path) => `<link rel="modulepreload" href="assets/${basename(path)}">`),
    `<script type="module" src="assets/${basename(script)}"></script>`,
  ];
  const page = readFileSync(join(root, 'console', 'index.html'), 'utf8');
  writeFileSync(join(target, 'index.html'), page.replace('<!-- files -->', tags.join('\n    ')));
  compress(assets);
  buildViewer(root, join(target, 'docs'));
}

/** Compresses text files as much as possible: they are built once and served often. */
function compress(folder) {
  for (const name of readdirSync(folder).filter((file) => /\.(js|css|svg)$/.test(file))) {
    const content = readFileSync(join(folder, name));
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content, { params: quality }));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  await buildConsole(root, process.argv[2] ?? join(root, 'dist', 'console'));
}
