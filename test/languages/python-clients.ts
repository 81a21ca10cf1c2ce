import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../clients/client-cache.ts';
import { programOf } from '../clients/page-program.ts';
import { runTool } from '../clients/run-program.ts';
import { ASKED_AGAIN } from './cases.ts';
import type { InstalledLanguage, Runnable } from './language.types.ts';
import type { Family } from './simulated-models.ts';

const PROGRAMS = fileURLToPath(new URL('programs/python/', import.meta.url));

const OPENAI = '3.57.0';
const ANTHROPIC = '2.14.0';
const LANGCHAIN_OPENAI = '1.7.4';
const LANGCHAIN_ANTHROPIC = '1.7.10';
const LITELLM = '1.110.2';

const PYTHON_PACKAGES = [
  `openai==${OPENAI}`,
  `anthropic==${ANTHROPIC}`,
  'langchain==1.4.7',
  `langchain-openai==${LANGCHAIN_OPENAI}`,
  `langchain-anthropic==${LANGCHAIN_ANTHROPIC}`,
  'langchain-tests==1.1.9',
  'requests==2.34.2',
];

/**
 * Returns a folder of the cache with these packages and their dependencies, and with `alone` packages without theirs. Throws NotInstalled.
 */
function pythonPackages(
  cache: string,
  packages: readonly string[],
  alone: readonly string[] = [],
): Promise<string> {
  const install = (partial: string, ...more: string[]) =>
    runTool('python3', ['-m', 'pip', 'install', '-q', '-t', partial, ...more]);
  return cachedFolder(
    join(cache, 'languages', `python-${[...packages, ...alone].join('+')}`),
    async (partial) => {
      await install(partial, ...packages);
      if (alone.length > 0) {
        await install(partial, '--no-deps', ...alone);
      }
    },
  );
}

function pythonRuns(packages: string, path: string, ...args: string[]): Runnable {
  const environment = { PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };
  return { program: 'python3', args: [path, ...args], environment };
}

export async function installPython(cache: string, folder: string): Promise<InstalledLanguage> {
  const packages = await pythonPackages(cache, PYTHON_PACKAGES);
  const runs = (path: string, ...args: string[]) => pythonRuns(packages, path, ...args);
  const openai = runs(join(PROGRAMS, 'openai_client.py'));
  const anthropic = runs(join(PROGRAMS, 'anthropic_client.py'));
  const langchain = (dialect: Family) => ({
    ...{ family: dialect, lacks: ['models'], also: ['too long'] },
    ...runs(join(PROGRAMS, 'langchain_client.py'), dialect),
  });
  const standard = (dialect: Family) => ({
    ...{ family: dialect, call: 'langchain-tests 1.1.9' },
    ...runs(join(PROGRAMS, 'langchain_standard.py'), dialect),
  });
  const openaiCases = ['responses', 'responses, stream', 'embeddings', 'images', 'videos'];
  const guide = join(folder, 'guide.py');
  await writeFile(guide, programOf('python.md', 'python'));
  return {
    clients: [
      {
        ...{ name: `python openai ${OPENAI}`, family: 'openai' },
        ...{ also: [...openaiCases, ...ASKED_AGAIN], ...openai },
      },
      {
        ...{ name: `python openai ${OPENAI}, a Claude behind it`, family: 'anthropic' },
        ...{ also: ['responses', 'responses, stream'], ...openai },
      },
      {
        ...{ name: `python anthropic ${ANTHROPIC}`, family: 'anthropic' },
        ...{ also: ['count tokens', ...ASKED_AGAIN], ...anthropic },
      },
      {
        ...{ name: `python anthropic ${ANTHROPIC}, a GPT behind it`, family: 'openai' },
        ...{ also: ['count tokens'], ...anthropic },
      },
      { name: `langchain-openai ${LANGCHAIN_OPENAI}`, ...langchain('openai') },
      { name: `langchain-anthropic ${LANGCHAIN_ANTHROPIC}`, ...langchain('anthropic') },
    ],
    ownTests: [
      { name: `langchain-openai ${LANGCHAIN_OPENAI}`, ...standard('openai') },
      { name: `langchain-anthropic ${LANGCHAIN_ANTHROPIC}`, ...standard('anthropic') },
      {
        ...{
          name: `openai ${OPENAI}, anthropic ${ANTHROPIC}`,
          call: 'what they report is charged',
          family: 'openai',
        },
        ...runs(join(PROGRAMS, 'reported_costs.py')),
      },
    ],
    guide: runs(guide),
  };
}

export async function installPydanticAi(cache: string): Promise<InstalledLanguage> {
  const packages = await pythonPackages(cache, ['pydantic-ai-slim[openai,anthropic]==2.68.0']);
  const runs = pythonRuns(packages, join(PROGRAMS, 'pydantic_ai_client.py'));
  return {
    clients: [
      { name: 'pydantic-ai 2.68.0', family: 'openai', lacks: ['models'], also: ['too long'], ...runs },
      // it requests no schema from models whose names it does not know
      {
        name: 'pydantic-ai 2.68.0, anthropic',
        family: 'anthropic',
        lacks: ['models', 'structured'],
        also: ['too long'],
        ...runs,
      },
    ],
  };
}

/** Installs the current litellm, and the version that aider pins, together with aider's error handling. */
export async function installLiteLlm(cache: string): Promise<InstalledLanguage> {
  const program = join(PROGRAMS, 'litellm_client.py');
  // it needs mcp for calls with tools, without declaring it
  const runs = pythonRuns(await pythonPackages(cache, [`litellm==${LITELLM}`, 'mcp==2.3.0']), program);
  const pinned = await pythonPackages(cache, ['litellm==1.81.10', 'openai==2.20.0'], ['aider-chat==0.86.2']);
  return {
    clients: [
      { name: `litellm ${LITELLM}, openai/…`, family: 'openai', also: ['too long'], ...runs },
      { name: `litellm ${LITELLM}, anthropic/…`, family: 'anthropic', also: ['too long'], ...runs },
      {
        ...{ name: 'litellm 1.81.10 of aider 0.86.2', family: 'openai', lacks: ['cancel'] },
        ...{ also: ['too long', 'gives up'], ...pythonRuns(pinned, program) },
      },
    ],
  };
}

export async function installNovita(cache: string): Promise<InstalledLanguage> {
  const packages = await pythonPackages(cache, ['novita-client==0.7.1']);
  const name = 'novita-client 0.7.1';
  const runs = pythonRuns(packages, join(PROGRAMS, 'novita_tasks.py'));
  return { clients: [], ownTests: [{ name, call: 'tasks', family: 'openai', ...runs }] };
}
