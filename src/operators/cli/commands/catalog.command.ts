import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Catalog } from '../../../catalog/catalog.types.ts';
import { CatalogError } from '../../../catalog/catalog-error.ts';
import { engineMistake } from '../../../catalog/engine-kinds.ts';
import { parseCatalog } from '../../../catalog/parse-catalog.ts';
import type { CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';

/** `tollgate catalog` */
export function addCatalogCommand(program: Command, surroundings: CliSurroundings): void {
  program
    .command('catalog')
    .description('what is sold, and who serves it')
    .command('check')
    .description('checks a tollgate.yaml as a start would, without a service')
    .argument('<file>', 'the variables that it refers to have to be set')
    .action(async (file: string) => {
      const { models, engines } = await checkCatalog(file, surroundings.environment);
      surroundings.stdout.write(`${file}: ${models.size} models, ${engines.length} engines, no mistake\n`);
    });
}

/** Throws CliError with the one line that a start would end with. */
async function checkCatalog(file: string, variables: CliSurroundings['environment']): Promise<Catalog> {
  try {
    const catalog = parseCatalog(await read(file), file, variables);
    const surroundings = { catalogFile: file, ffmpegPath: 'ffmpeg', ffprobePath: 'ffprobe' };
    const mistake = engineMistake(surroundings, catalog);
    if (mistake !== undefined) {
      throw new CatalogError(`${file}: ${mistake}`);
    }
    return catalog;
  } catch (error) {
    throw error instanceof CatalogError ? new CliError(error.message, EXIT.usage) : error;
  }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CatalogError(`${file}: cannot be read (${code})`, { cause: error });
  }
}
