import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedFolder, installFromNpm } from '../clients/client-cache.ts';
import { programOf } from '../clients/page-program.ts';
import { runTool } from '../clients/run-program.ts';
import type { Family } from './simulated-models.ts';

const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url));
const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

export interface Runnable {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

/** A program that puts one client through the cases. */
export interface InstalledClient extends Runnable {
  /** The client and its version. */
  readonly name: string;
  /** Whose dialect the models behind it speak. */
  readonly family: Family;
  /** Cases that this client has no way to do. */
  readonly lacks?: readonly string[];
  /** Cases that few clients have. */
  readonly also?: readonly string[];
}

export interface InstalledLanguage {
  readonly clients: readonly InstalledClient[];
  /** Every snippet of the language's page, as one program; a framework has none. */
  readonly guide?: Runnable;
}

export interface Language {
  readonly name: string;
  /** Programs that must be on the PATH. */
  readonly needs: readonly string[];
  /** Installs packages into the cache and compiles into the folder, which is empty. Throws NotInstalled when a package is not to be had. */
  install(cache: string, folder: string): Promise<InstalledLanguage>;
}

const PYTHON_PACKAGES = [
  'openai==3.54.0',
  'anthropic==2.12.0',
  'langchain==1.4.7',
  'langchain-openai==1.7.3',
  'langchain-anthropic==1.7.7',
  'requests==2.34.2',
];

const NPM_PACKAGES = [
  '@langchain/core@1.4.0',
  '@langchain/openai@1.6.0',
  '@langchain/anthropic@1.5.11',
  'ai@7.0.173',
  '@ai-sdk/openai@4.0.118',
  '@ai-sdk/anthropic@4.0.105',
  'zod@4.6.7',
];

export const LANGUAGES: readonly Language[] = [
  { name: 'python', needs: ['python3'], install: installPython },
  // in a folder of its own: it wants other versions of the SDKs
  { name: 'pydantic-ai', needs: ['python3'], install: installPydanticAi },
  { name: 'javascript', needs: [], install: installJavaScript },
  { name: 'go', needs: ['go'], install: installGo },
  { name: 'java', needs: ['java', 'javac', 'mvn'], install: installJava },
  { name: 'rust', needs: ['cargo'], install: installRust },
];

/** A folder of the cache with these packages and what they need. */
function pythonPackages(cache: string, packages: readonly string[]): Promise<string> {
  return cachedFolder(join(cache, 'languages', `python-${packages.join('+')}`), (partial) =>
    runTool('python3', ['-m', 'pip', 'install', '-q', '-t', partial, ...packages]),
  );
}

function pythonRuns(packages: string, path: string, ...args: string[]): Runnable {
  const environment = { PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };
  return { program: 'python3', args: [path, ...args], environment };
}

async function installPython(cache: string, folder: string): Promise<InstalledLanguage> {
  const packages = await pythonPackages(cache, PYTHON_PACKAGES);
  const runs = (path: string, ...args: string[]) => pythonRuns(packages, path, ...args);
  const openai = runs(join(PROGRAMS, 'python/openai_client.py'));
  const anthropic = runs(join(PROGRAMS, 'python/anthropic_client.py'));
  const langchain = (dialect: Family) => runs(join(PROGRAMS, 'python/langchain_client.py'), dialect);
  const openaiCases = ['responses', 'responses, stream', 'embeddings', 'images', 'videos'];
  const guide = join(folder, 'guide.py');
  await writeFile(guide, programOf('python.md', 'python'));
  return {
    clients: [
      { name: 'python openai 3.54.0', family: 'openai', also: openaiCases, ...openai },
      {
        ...{ name: 'python openai 3.54.0, a Claude behind it', family: 'anthropic' },
        ...{ also: ['responses', 'responses, stream'], ...openai },
      },
      { name: 'python anthropic 2.12.0', family: 'anthropic', also: ['count tokens'], ...anthropic },
      {
        name: 'python anthropic 2.12.0, a GPT behind it',
        family: 'openai',
        also: ['count tokens'],
        ...anthropic,
      },
      { name: 'langchain-openai 1.7.3', family: 'openai', lacks: ['models'], ...langchain('openai') },
      {
        name: 'langchain-anthropic 1.7.7',
        family: 'anthropic',
        lacks: ['models'],
        ...langchain('anthropic'),
      },
    ],
    guide: runs(guide),
  };
}

async function installPydanticAi(cache: string): Promise<InstalledLanguage> {
  const packages = await pythonPackages(cache, ['pydantic-ai-slim[openai,anthropic]==2.68.0']);
  const runs = pythonRuns(packages, join(PROGRAMS, 'python/pydantic_ai_client.py'));
  return {
    clients: [
      { name: 'pydantic-ai 2.68.0', family: 'openai', lacks: ['models'], ...runs },
      // of models whose name it does not know it asks no schema
      {
        name: 'pydantic-ai 2.68.0, anthropic',
        family: 'anthropic',
        lacks: ['models', 'structured'],
        ...runs,
      },
    ],
  };
}

/** The frameworks; the official SDKs of JavaScript are in `npm test`. */
async function installJavaScript(cache: string, folder: string): Promise<InstalledLanguage> {
  await symlink(NODE_MODULES, join(folder, 'node_modules'));
  const guide = join(folder, 'guide.mjs');
  await writeFile(guide, programOf('javascript.md', 'js'));
  const name = `javascript-${createHash('sha256').update(NPM_PACKAGES.join()).digest('hex').slice(0, 16)}`;
  const packages = await cachedFolder(join(cache, 'languages', name), (partial) =>
    installFromNpm(partial, NPM_PACKAGES),
  );
  const programs = join(folder, 'programs');
  await cp(join(PROGRAMS, 'javascript'), programs, { recursive: true });
  await symlink(join(packages, 'node_modules'), join(programs, 'node_modules'));
  const runs = (file: string, kind: string) => ({
    program: process.execPath,
    args: [join(programs, file), kind],
    // neither framework lists models
    lacks: ['models'],
  });
  const langchain = (kind: string) => runs('langchain.mjs', kind);
  const aiSdk = (kind: string) => runs('ai_sdk.mjs', kind);
  const embeds = { also: ['embeddings'] };
  const draws = { also: ['embeddings', 'images'] };
  return {
    clients: [
      { name: 'langchain.js openai 1.6.0', family: 'openai', ...embeds, ...langchain('openai') },
      { name: 'langchain.js openai 1.6.0, Responses', family: 'openai', ...langchain('responses') },
      { name: 'langchain.js anthropic 1.5.11', family: 'anthropic', ...langchain('anthropic') },
      { name: 'ai 7.0.173, openai by default', family: 'openai', ...draws, ...aiSdk('openai') },
      { name: 'ai 7.0.173, a Claude behind it', family: 'anthropic', ...aiSdk('openai') },
      { name: 'ai 7.0.173, anthropic', family: 'anthropic', ...aiSdk('anthropic') },
    ],
    guide: { program: process.execPath, args: [guide] },
  };
}

async function installGo(_: string, folder: string): Promise<InstalledLanguage> {
  await cp(join(PROGRAMS, 'go'), folder, { recursive: true });
  await mkdir(join(folder, 'guide'));
  const guide = programOf('go.md', 'go', (body) => `func main() {\n${body}}\n`);
  await writeFile(join(folder, 'guide/main.go'), guide);
  await runTool('go', ['build', '-o', 'cases', '.'], { cwd: folder });
  await runTool('go', ['build', '-o', 'guide/guide', './guide'], { cwd: folder });
  const program = join(folder, 'cases');
  return {
    clients: [
      { name: 'openai-go 3.96.0', family: 'openai', program, args: ['openai-go'] },
      { name: 'openai-go 3.96.0, a Claude behind it', family: 'anthropic', program, args: ['openai-go'] },
      { name: 'go-openai 1.43.0', family: 'openai', program, args: ['go-openai'] },
      {
        ...{ name: 'anthropic-sdk-go 1.84.0', family: 'anthropic', lacks: ['structured'] },
        ...{ program, args: ['anthropic-sdk-go'] },
      },
    ],
    guide: { program: join(folder, 'guide/guide'), args: [] },
  };
}

async function installJava(cache: string, folder: string): Promise<InstalledLanguage> {
  const pom = await readFile(join(PROGRAMS, 'java/pom.xml'));
  const name = `java-${createHash('sha256').update(pom).digest('hex').slice(0, 16)}`;
  const libraries = await cachedFolder(join(cache, 'languages', name), (partial) => {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy-dependencies';
    return runTool('mvn', ['-q', '-B', copy, '-DincludeScope=runtime', `-DoutputDirectory=${partial}`], {
      cwd: join(PROGRAMS, 'java'),
    });
  });
  const guide = programOf('java.md', 'java', (body) =>
    ['class Guide {', 'public static void main(String[] arguments) throws Exception {', body, '}', '}'].join(
      '\n',
    ),
  );
  await writeFile(join(folder, 'Guide.java'), guide);
  const path = `${folder}:${libraries}/*`;
  const sources = ['Cases.java', 'OpenAiCases.java', 'LangChainCases.java'].map((file) =>
    join(PROGRAMS, 'java', file),
  );
  await runTool('javac', ['-cp', path, '-d', folder, ...sources, join(folder, 'Guide.java')]);
  const runs = (...args: string[]) => ({ program: 'java', args: ['-cp', path, ...args] });
  return {
    clients: [
      { name: 'openai-java 4.101.0', family: 'openai', ...runs('Cases', 'openai-java') },
      {
        name: 'openai-java 4.101.0, a Claude behind it',
        family: 'anthropic',
        ...runs('Cases', 'openai-java'),
      },
      {
        ...{ name: 'langchain4j-open-ai 1.19.0', family: 'openai' },
        ...{ lacks: ['structured', 'models', 'cancel'], ...runs('Cases', 'langchain4j') },
      },
    ],
    guide: runs('Guide'),
  };
}

async function installRust(cache: string, folder: string): Promise<InstalledLanguage> {
  await cp(join(PROGRAMS, 'rust'), folder, { recursive: true });
  const guide = programOf('rust.md', 'rust', (body) =>
    [
      '#[tokio::main]',
      'async fn main() -> Result<(), Box<dyn std::error::Error>> {',
      body,
      'Ok(())',
      '}',
    ].join('\n'),
  );
  await writeFile(join(folder, 'guide.rs'), guide);
  const target = join(cache, 'languages', 'rust');
  await runTool('cargo', ['build', '--locked'], { cwd: folder, env: { CARGO_TARGET_DIR: target } });
  const program = join(target, 'debug/cases');
  const rig = (dialect: string) => ({ program: join(target, 'debug/rig'), args: [dialect] });
  return {
    clients: [
      { name: 'async-openai 0.43.0', family: 'openai', program, args: [] },
      { name: 'async-openai 0.43.0, a Claude behind it', family: 'anthropic', program, args: [] },
      { name: 'rig 0.44.0', family: 'openai', ...rig('chat') },
      { name: 'rig 0.44.0, anthropic', family: 'anthropic', ...rig('messages') },
    ],
    guide: { program: join(target, 'debug/guide'), args: [] },
  };
}
