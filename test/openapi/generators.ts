import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { cachedFolder, installFromNpm } from '../clients/client-cache.ts';
import { runTool } from '../clients/run-program.ts';

const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url));

/** The npm packages that the generators need, with versions. */
export const NPM_TOOLS = [
  '@openapitools/openapi-generator-cli@2.41.0',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  '@hey-api/openapi-ts@0.99.0',
  '@stoplight/spectral-cli@6.16.3',
  'typescript@5.9.3',
];
const OPENAPI_GENERATOR = '7.25.0';

/** What a generator works with: the document, the folder for the client and the tools. */
export interface Workplace {
  readonly document: string;
  readonly folder: string;
  /** The folder that the npm tools are installed into. */
  readonly tools: string;
  readonly cache: string;
}

/** A program that makes the calls with a generated client. */
export interface CallsProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

export interface Generator {
  readonly name: string;
  /** Programs that must be on the PATH. */
  readonly needs: readonly string[];
  generate(place: Workplace): Promise<void>;
  /** Compiles the client and the program that makes calls with it. */
  compile(place: Workplace): Promise<CallsProgram>;
}

/** Installs the npm tools once, and the generator that one of them downloads. Throws NotInstalled. */
export function installTools(cache: string): Promise<string> {
  return cachedFolder(join(cache, 'openapi', `tools-${OPENAPI_GENERATOR}`), async (partial) => {
    await installFromNpm(partial, NPM_TOOLS);
    const choice = { 'generator-cli': { version: OPENAPI_GENERATOR } };
    await writeFile(join(partial, 'openapitools.json'), JSON.stringify(choice));
    // its start script looks for that file in the folder where npm was started
    await runTool(join(partial, 'node_modules/.bin/openapi-generator-cli'), ['version'], {
      cwd: partial,
      env: { INIT_CWD: partial },
    });
  });
}

export const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-generator go',
    needs: ['java', 'go'],
    generate: (place) =>
      openApiGenerator('go', place, [
        ...['--git-user-id', 'tollgate', '--git-repo-id', 'client'],
        '--additional-properties=packageName=tollgate',
      ]),
    compile: async ({ folder }) => {
      await mkdir(join(folder, 'cmd'));
      await cp(join(PROGRAMS, 'calls.go'), join(folder, 'cmd/calls.go'));
      await runTool('go', ['build', '-o', 'calls', './cmd'], { cwd: folder });
      return { program: join(folder, 'calls'), args: [] };
    },
  },
  {
    name: 'openapi-generator java',
    needs: ['java', 'javac', 'mvn'],
    generate: (place) => openApiGenerator('java', place),
    compile: compileJava,
  },
  {
    name: 'openapi-generator rust',
    needs: ['java', 'cargo'],
    generate: (place) => openApiGenerator('rust', place),
    compile: compileRust,
  },
  {
    name: 'openapi-generator python',
    needs: ['java', 'python3'],
    generate: (place) => openApiGenerator('python', place),
    compile: compilePython,
  },
  {
    name: 'openapi-generator typescript-fetch',
    needs: ['java'],
    generate: (place) => openApiGenerator('typescript-fetch', place, [], 'client'),
    compile: (place) => compileTypeScript(place, 'calls-typescript-fetch.ts.txt'),
  },
  {
    name: 'openapi-typescript',
    needs: [],
    generate: ({ tools, document, folder }) =>
      runTool(join(tools, 'node_modules/.bin/openapi-typescript'), [
        document,
        '-o',
        join(folder, 'client.ts'),
      ]),
    compile: (place) => compileTypeScript(place, 'calls-openapi-fetch.ts.txt'),
  },
  {
    name: '@hey-api/openapi-ts',
    needs: [],
    generate: ({ tools, document, folder }) =>
      runTool(join(tools, 'node_modules/.bin/openapi-ts'), ['-i', document, '-o', join(folder, 'client')], {
        cwd: tools,
      }),
    compile: (place) => compileTypeScript(place, 'calls-hey-api.ts.txt'),
  },
];

function openApiGenerator(
  language: string,
  { tools, document, folder }: Workplace,
  more: readonly string[] = [],
  below = '.',
): Promise<void> {
  const versions = 'node_modules/@openapitools/openapi-generator-cli/versions';
  const archive = join(tools, versions, `${OPENAPI_GENERATOR}.jar`);
  const output = join(folder, below);
  return runTool('java', [
    '-jar',
    archive,
    'generate',
    '-g',
    language,
    '-i',
    document,
    '-o',
    output,
    ...more,
  ]);
}

/** Compiles with the libraries and versions that the generated pom.xml names. */
async function compileJava({ folder, cache }: Workplace): Promise<CallsProgram> {
  const libraries = await cachedFolder(join(cache, 'openapi', `java-${OPENAPI_GENERATOR}`), (partial) => {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy-dependencies';
    return runTool('mvn', ['-q', '-B', copy, '-DincludeScope=compile', `-DoutputDirectory=${partial}`], {
      cwd: folder,
    });
  });
  const classes = join(folder, 'classes');
  const path = `${classes}:${libraries}/*`;
  const sources = ['-sourcepath', join(folder, 'src/main/java'), join(PROGRAMS, 'Calls.java')];
  await runTool('javac', ['-nowarn', '-proc:none', '-cp', path, '-d', classes, ...sources]);
  return { program: 'java', args: ['-cp', path, 'Calls'] };
}

/** Compiles without TLS, which would require the machine's OpenSSL: the calls stay on this machine. */
async function compileRust({ folder, cache }: Workplace): Promise<CallsProgram> {
  const manifest = join(folder, 'Cargo.toml');
  const text = await readFile(manifest, 'utf8');
  const runtime = 'tokio = { version = "1", features = ["macros", "rt-multi-thread"] }';
  await writeFile(manifest, text.replace('[dependencies]', `[dependencies]\n${runtime}`));
  await mkdir(join(folder, 'src/bin'));
  await cp(join(PROGRAMS, 'calls.rs'), join(folder, 'src/bin/calls.rs'));
  const target = join(cache, 'openapi', 'rust');
  await runTool('cargo', ['build', '--no-default-features', '--bin', 'calls'], {
    cwd: folder,
    env: { CARGO_TARGET_DIR: target },
  });
  return { program: join(target, 'debug/calls'), args: [] };
}

async function compilePython({ folder, cache }: Workplace): Promise<CallsProgram> {
  const packages = await cachedFolder(join(cache, 'openapi', `python-${OPENAPI_GENERATOR}`), (partial) =>
    runTool('python3', ['-m', 'pip', 'install', '-q', '-t', partial, '-r', join(folder, 'requirements.txt')]),
  );
  await runTool('python3', ['-m', 'compileall', '-q', join(folder, 'openapi_client')]);
  return {
    program: 'python3',
    args: [join(PROGRAMS, 'calls.py')],
    environment: { PYTHONPATH: `${folder}:${packages}` },
  };
}

async function compileTypeScript({ folder, tools }: Workplace, program: string): Promise<CallsProgram> {
  await cp(join(PROGRAMS, program), join(folder, 'calls.ts'));
  const options = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, target: 'es2022', types: ['node'] },
    ...{ lib: ['es2022', 'dom', 'dom.iterable'], module: 'esnext', moduleResolution: 'bundler' },
    typeRoots: [fileURLToPath(new URL('../../node_modules/@types', import.meta.url))],
    paths: { '*': [join(tools, 'node_modules/*')] },
  };
  const project = join(folder, 'tsconfig.json');
  await writeFile(project, JSON.stringify({ compilerOptions: options, files: ['calls.ts'] }));
  await runTool(join(tools, 'node_modules/.bin/tsc'), ['-p', project]);
  const outfile = join(folder, 'calls.cjs');
  await build({
    entryPoints: [join(folder, 'calls.ts')],
    ...{ bundle: true, platform: 'node', format: 'cjs', logLevel: 'silent', outfile },
    nodePaths: [join(tools, 'node_modules')],
  });
  return { program: process.execPath, args: [outfile] };
}
