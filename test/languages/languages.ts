import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedFolder, installFromNpm } from '../clients/client-cache.ts';
import { programOf } from '../clients/page-program.ts';
import { runTool } from '../clients/run-program.ts';
import { ASKED_AGAIN } from './cases.ts';
import type { InstalledLanguage, Language } from './language.types.ts';
import { installLiteLlm, installNovita, installPydanticAi, installPython } from './python-clients.ts';

const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url));
const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

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
  // in separate folders: they need other versions of the SDKs
  { name: 'pydantic-ai', needs: ['python3'], install: installPydanticAi },
  { name: 'litellm', needs: ['python3'], install: installLiteLlm },
  { name: 'novita', needs: ['python3'], install: installNovita },
  { name: 'javascript', needs: [], install: installJavaScript },
  { name: 'go', needs: ['go'], install: installGo },
  { name: 'java', needs: ['java', 'javac', 'mvn'], install: installJava },
  { name: 'rust', needs: ['cargo'], install: installRust },
];

/** Installs the frameworks; `npm test` covers the official JavaScript SDKs. */
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
      {
        ...{ name: 'openai-go 3.96.0', family: 'openai', also: ['asked again with a key'] },
        ...{ program, args: ['openai-go'] },
      },
      { name: 'openai-go 3.96.0, a Claude behind it', family: 'anthropic', program, args: ['openai-go'] },
      { name: 'go-openai 1.43.0', family: 'openai', program, args: ['go-openai'] },
      {
        ...{ name: 'anthropic-sdk-go 1.84.0', family: 'anthropic', lacks: ['structured'] },
        ...{ also: ASKED_AGAIN, program, args: ['anthropic-sdk-go'] },
      },
      {
        ...{ name: 'langchaingo 0.1.14 openai', family: 'openai', lacks: ['models'] },
        ...{ also: ['too long'], program, args: ['langchaingo'] },
      },
      {
        ...{ name: 'langchaingo 0.1.14 anthropic', family: 'anthropic', lacks: ['models', 'structured'] },
        ...{ also: ['too long'], program, args: ['langchaingo'] },
      },
      { name: 'eino 0.7.13 openai', family: 'openai', lacks: ['models'], program, args: ['eino'] },
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
  const files = ['Cases.java', 'OpenAiCases.java', 'AnthropicCases.java', 'LangChainCases.java'];
  const sources = files.map((file) => join(PROGRAMS, 'java', file));
  await runTool('javac', ['-cp', path, '-d', folder, ...sources, join(folder, 'Guide.java')]);
  const runs = (...args: string[]) => ({ program: 'java', args: ['-cp', path, ...args] });
  return {
    clients: [
      {
        ...{ name: 'openai-java 4.101.0', family: 'openai', also: ASKED_AGAIN },
        ...runs('Cases', 'openai-java'),
      },
      {
        name: 'openai-java 4.101.0, a Claude behind it',
        family: 'anthropic',
        ...runs('Cases', 'openai-java'),
      },
      {
        ...{ name: 'anthropic-java 3.12.0', family: 'anthropic', lacks: ['structured'], also: ASKED_AGAIN },
        ...runs('Cases', 'anthropic-java'),
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
